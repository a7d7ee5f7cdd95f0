#include "core/symmetric.hpp"

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

double cholesky(MatrixRef a) {
  const Index p = a.rows();
  double log_det = 0;
  double pivots = 1;  // the logarithm of their product, as long as that is safe
  for (Index j = 0; j < p; ++j) {
    for (Index k = 0; k < j; ++k) {
      const double factor = a(j, k);
      for (Index i = j; i < p; ++i) a(i, j) -= factor * a(i, k);
    }
    if (!(a(j, j) > 0)) return std::numeric_limits<double>::quiet_NaN();
    pivots *= a(j, j);
    if (!(pivots > 1e-100 && pivots < 1e100)) {
      log_det += std::log(pivots);
      pivots = 1;
    }
    const double inverse = 1 / std::sqrt(a(j, j));
    for (Index i = j; i < p; ++i) a(i, j) *= inverse;
  }
  return log_det + std::log(pivots);
}

void invert_lower(MatrixRef l) {
  const Index p = l.rows();
  for (Index j = 0; j < p; ++j) {
    l(j, j) = 1 / l(j, j);
    for (Index i = j + 1; i < p; ++i) {
      double sum = 0;
      for (Index k = j; k < i; ++k) sum += l(i, k) * l(k, j);
      l(i, j) = -sum / l(i, i);
    }
  }
}

void lower_gram(MatrixRef x) {
  const Index p = x.rows();
  for (Index j = 0; j < p; ++j)
    for (Index i = j; i < p; ++i) {
      double sum = 0;
      for (Index k = i; k < p; ++k) sum += x(k, i) * x(k, j);
      x(i, j) = sum;
    }
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < j; ++i) x(i, j) = x(j, i);
}

// A = L L', and A^-1 = L^-T L^-1.
double invert_spd(MatrixRef a) {
  const double log_det = cholesky(a);
  if (std::isnan(log_det)) return log_det;
  invert_lower(a);
  lower_gram(a);
  return log_det;
}

namespace {

constexpr int kMaxIterations = 16;
constexpr double kWellConditioned = 100;  // above, rounding in the iteration shows

// The coupled Newton-Schulz iteration (Higham, Functions of Matrices, section 6.7): with T = (3 I - Z Y) / 2,
// Y T tends to A^(1/2) and T Z to A^(-1/2) where |I - A| < 1, quadratically at the end and, unlike the
// iteration for Z alone, without blowing up rounding errors. Matrices of a size known at compile time live in
// registers.
template <class Given, class Square>
bool newton_inverse_root(const Given& g, Square& z, Square& y, Square& t, Square& last) {
  const Index p = g.rows();
  const double mean = g.trace() / static_cast<double>(p);
  const double largest = g.cwiseAbs().rowwise().sum().maxCoeff();  // no eigenvalue is above
  if (!(mean > 0) || !(largest < kWellConditioned * mean)) return false;
  // Around their mean the eigenvalues are nearest to 1; where some are beyond twice that, below the largest.
  const double scale = largest < 1.8 * mean ? mean : largest;
  // The first step, from Z = I.
  last = g / scale;
  z = -.5 * last;
  z.diagonal().array() += 1.5;
  y.noalias() = last.lazyProduct(z);
  for (int iteration = 1; iteration < kMaxIterations; ++iteration) {
    t.noalias() = z.lazyProduct(y);
    t *= -.5;
    t.diagonal().array() += .5;
    const double residual = 4 * t.squaredNorm();
    t.diagonal().array() += 1;
    last = z;
    z.noalias() = t.lazyProduct(last);
    // One more step takes the residual to its square.
    if (residual < 1e-16 * static_cast<double>(p)) {
      z /= std::sqrt(scale);
      return true;
    }
    last = y;
    y.noalias() = last.lazyProduct(t);
  }
  return false;
}

// G filled up with ones on the diagonal has a root that is filled up likewise.
template <int P>
bool filled_up_inverse_root(ConstMatrixRef g, MatrixRef out) {
  using Square = Eigen::Matrix<double, P, P>;
  const Index p = g.rows();
  Square filled = Square::Identity();
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) filled(i, j) = g(i, j);
  Square root, y, t, last;
  if (!newton_inverse_root(filled, root, y, t, last)) return false;
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) out(i, j) = root(i, j);
  return true;
}

}  // namespace

bool NewtonRoot::compute(ConstMatrixRef g, MatrixRef out) {
  const Index p = g.rows();
  if (p <= 4) return filled_up_inverse_root<4>(g, out);
  if (p <= 8) return filled_up_inverse_root<8>(g, out);
  if (p <= 12) return filled_up_inverse_root<12>(g, out);
  MatrixRef y = y_.topLeftCorner(p, p);
  MatrixRef t = t_.topLeftCorner(p, p);
  MatrixRef last = last_.topLeftCorner(p, p);
  return newton_inverse_root(g, out, y, t, last);
}

}  // namespace magva
