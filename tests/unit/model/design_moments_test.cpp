// Sums over the rows of a design, against plain products.
#include "models/design_moments.hpp"

#include <gtest/gtest.h>

#include "unit/model/support.hpp"

namespace magva {
namespace {

using testing::normal_matrix;

TEST(DesignMoments, GramMatricesOfAnyWidthAreProducts) {
  for (const Index cols : {1, 9, 63, 64, 65, 71, 72, 100, 131}) {
    SCOPED_TRACE(cols);
    const RowMatrix x = normal_matrix(40, cols, 1);
    const Vector weight = normal_matrix(13, 1, 2).col(0).cwiseAbs2();
    Matrix gram = normal_matrix(cols, cols, 3);
    const auto used = x.middleRows(20, 13);
    const Matrix expected = gram + used.transpose() * weight.asDiagonal() * used;
    detail::add_gram(Design::own(x), {20, 13}, weight.data(), gram);
    const Matrix excess = Matrix(gram - expected).triangularView<Eigen::Lower>();
    EXPECT_LT(excess.cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff());
  }
}

}  // namespace
}  // namespace magva
