#pragma once
// The linear algebra vocabulary of the whole library. Matrices are column-major; a batch of draws has one
// column per draw. Designs are row-major, so that a block of rows is contiguous.
#include <Eigen/Core>

namespace magva {

using Index = Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using MatrixRef = Eigen::Ref<Matrix>;
using VectorRef = Eigen::Ref<Vector>;
using ConstMatrixRef = const Eigen::Ref<const Matrix>&;
using ConstVectorRef = const Eigen::Ref<const Vector>&;

}  // namespace magva
