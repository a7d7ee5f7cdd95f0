#include "magva/symmetric.hpp"

#include <cmath>
#include <limits>

namespace magva {

// Golub & Van Loan, Matrix Computations, section 8.5.
void SymmetricEigen::compute(ConstMatrixRef symmetric) {
  used_ = symmetric.rows();
  const Index p = used_;
  auto a = work_.topLeftCorner(p, p);
  a = symmetric;
  vectors_.topLeftCorner(p, p).setIdentity();
  constexpr int kMaxSweeps = 50;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double off = 0;
    for (Index j = 1; j < p; ++j) off += a.col(j).head(j).squaredNorm();
    const double size = a.diagonal().squaredNorm();
    if (!(off > 1e-32 * size)) break;
    for (Index j = 1; j < p; ++j)
      for (Index i = 0; i < j; ++i) rotate(i, j);
  }
  values_.head(p) = a.diagonal();
  sort();
}

void SymmetricEigen::rotate(Index i, Index j) {
  const Index p = used_;
  auto a = work_.topLeftCorner(p, p);
  if (a(i, j) == 0) return;
  const double tau = (a(j, j) - a(i, i)) / (2 * a(i, j));
  const double t = (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::hypot(1., tau));
  const double c = 1 / std::hypot(1., t);
  const double s = t * c;
  for (Index k = 0; k < p; ++k) {
    const double x = a(k, i);
    const double y = a(k, j);
    a(k, i) = c * x - s * y;
    a(k, j) = s * x + c * y;
    const double v = vectors_(k, i);
    const double w = vectors_(k, j);
    vectors_(k, i) = c * v - s * w;
    vectors_(k, j) = s * v + c * w;
  }
  for (Index k = 0; k < p; ++k) {
    const double x = a(i, k);
    const double y = a(j, k);
    a(i, k) = c * x - s * y;
    a(j, k) = s * x + c * y;
  }
}

void SymmetricEigen::sort() {
  for (Index i = 0; i + 1 < used_; ++i) {
    Index smallest = 0;
    values_.segment(i, used_ - i).minCoeff(&smallest);
    if (smallest == 0) continue;
    std::swap(values_(i), values_(i + smallest));
    vectors_.col(i).head(used_).swap(vectors_.col(i + smallest).head(used_));
  }
}

// X <- X (3 I - G X^2) / 2 converges quadratically where |I - G| < 1, and is stable for such well-conditioned
// G.
bool inverse_root_near_identity(ConstMatrixRef g, MatrixRef out, MatrixRef work, MatrixRef work2) {
  constexpr double kNear = .5;
  constexpr int kMaxIterations = 12;
  const Index p = g.rows();
  out.setIdentity();
  work = g;
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    // Here work = G X^2.
    work *= -1;
    work.diagonal().array() += 1;
    const double residual = work.norm();
    if (!(residual < kNear)) return false;
    // One more step takes the residual to its square.
    work /= 2;
    work.diagonal().array() += 1;
    work2.noalias() = out.lazyProduct(work);
    out = work2;
    if (residual < 1e-8 * std::sqrt(static_cast<double>(p))) return true;
    work2.noalias() = out.lazyProduct(out);
    work.noalias() = g.lazyProduct(work2);
  }
  return false;
}

}  // namespace magva
