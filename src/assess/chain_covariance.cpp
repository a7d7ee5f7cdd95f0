#include "assess/chain_covariance.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <array>
#include <utility>

namespace magva {

namespace {

/// Ways to part the chains into halves, each of which takes two eigenvalue decompositions.
constexpr int kPartings = 3;

Matrix root_of(const Gaussian& q) {
  const Index m = q.dimension();
  if (q.is_dense()) return q.factors().triangularView<Eigen::Lower>();
  return q.times(Matrix::Identity(m, m)).llt().matrixL();
}

/// Of both halves; a chain is in that which a bit of its number says.
std::array<Matrix, 2> covariances_of_halves(const Matrix& apart, const std::vector<Index>& chain, int bit) {
  std::array<std::vector<Index>, 2> columns;
  for (std::size_t s = 0; s < chain.size(); ++s)
    columns[static_cast<std::size_t>((chain[s] >> bit) & 1)].push_back(static_cast<Index>(s));
  std::array<Matrix, 2> out;
  for (const std::size_t half : {0U, 1U}) {
    const Matrix own = apart(Eigen::all, columns[half]);
    out[half] = own * own.transpose() / static_cast<double>(std::max<Index>(1, own.cols()));
  }
  return out;
}

/// With the axes of one covariance and the variances that another one has along them.
Matrix with_axes_of(const Matrix& one, const Matrix& other) {
  const Matrix axes = Eigen::SelfAdjointEigenSolver<Matrix>(one).eigenvectors();
  const Vector variances = axes.cwiseProduct(other * axes).colwise().sum();
  return axes * variances.asDiagonal() * axes.transpose();
}

}  // namespace

std::vector<Index> chain_of_columns(Index columns, Index chains) {
  std::vector<Index> out(static_cast<std::size_t>(columns));
  for (Index s = 0; s < columns; ++s) out[static_cast<std::size_t>(s)] = s / (columns / chains);
  return out;
}

Gaussian gaussian_of_chains(const Gaussian& near, Vector mean, const Matrix& draws,
                            const std::vector<Index>& chain) {
  const Index m = draws.rows();
  const Matrix root = root_of(near);
  const Matrix apart = root.triangularView<Eigen::Lower>().solve(Matrix(draws.colwise() - mean));
  Matrix found = Matrix::Zero(m, m);
  for (int bit = 0; bit < kPartings; ++bit) {
    const auto [one, other] = covariances_of_halves(apart, chain, bit);
    found += (with_axes_of(one, other) + with_axes_of(other, one)) / (2 * kPartings);
  }
  return Gaussian::dense(std::move(mean), (root * found * root.transpose()).llt().matrixL());
}

}  // namespace magva
