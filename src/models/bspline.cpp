#include "magva/regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"

namespace magva {

BSplineBasis::BSplineBasis(Index functions, Index degree, double lower, double upper)
    : functions_(functions), degree_(degree), lower_(lower), upper_(upper) {
  if (degree < 0)
    throw UsageError(fmt::format("the degree of the splines is {}, but it must not be negative", degree));
  if (functions <= degree)
    throw UsageError(fmt::format("{} B-splines of degree {} were asked for, but at least {} are needed",
                                 functions, degree, degree + 1));
  if (!(std::isfinite(lower) && std::isfinite(upper) && lower < upper))
    throw UsageError(
        fmt::format("the knots cannot cover [{}, {}]; give two finite ends, the lower first", lower, upper));
}

double BSplineBasis::knot(Index i) const {
  const double pieces = static_cast<double>(functions_ - degree_);
  return lower_ + (upper_ - lower_) * static_cast<double>(i - degree_) / pieces;
}

Vector BSplineBasis::knots() const {
  return Vector::NullaryExpr(functions_ + degree_ + 1, [this](Index i) { return knot(i); });
}

RowMatrix BSplineBasis::operator()(ConstVectorRef x) const {
  RowMatrix basis = RowMatrix::Zero(x.size(), functions_);
  const Index pieces = functions_ - degree_;
  for (Index row = 0; row < x.size(); ++row) {
    if (!(x(row) >= lower_ && x(row) <= upper_))
      throw DataError(
          fmt::format("the covariate in row {} is {}, outside the range [{}, {}] that the knots cover",
                      row + 1, x(row), lower_, upper_));
    const double position = (x(row) - lower_) / (upper_ - lower_) * static_cast<double>(pieces);
    const Index piece = std::min(static_cast<Index>(position), pieces - 1);
    // The functions piece .. piece + degree are not zero there; de Boor's recursion builds them up in place.
    double* b = &basis(row, piece);
    b[0] = 1.0;
    for (Index d = 1; d <= degree_; ++d) {
      double carried = 0.0;
      for (Index i = 0; i < d; ++i) {
        const double right = knot(degree_ + piece + 1 + i);
        const double left = knot(degree_ + piece + 1 + i - d);
        const double share = b[i] / (right - left);
        b[i] = carried + (right - x(row)) * share;
        carried = (x(row) - left) * share;
      }
      b[d] = carried;
    }
  }
  return basis;
}

}  // namespace magva
