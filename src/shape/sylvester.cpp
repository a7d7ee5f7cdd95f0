#include "shape/sylvester.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

#include "core/noise.hpp"
#include "manifold/stiefel.hpp"

namespace magva {

namespace {

/// Of v: slopes are at least exp(kLeastLogSlope), which keeps inverses accurate.
constexpr double kLeastLogSlope = -5;
constexpr double kMostLogSlope = 5;
/// Of w: tanh sees between exp(-kMostLogScale) and exp(kMostLogScale) times x.
constexpr double kMostLogScale = 3;
/// Of all else but Q.
constexpr double kLargest = 100;

/// The root of x + r tanh(s x + c) = y, which increases in x: Newton steps kept within a bracket.
double solve_coordinate(double r, double s, double c, double y) {
  double low = y - std::abs(r);
  double high = y + std::abs(r);
  double x = y - r * std::tanh(s * y + c);
  for (int k = 0; k < 100; ++k) {
    const double t = std::tanh(s * x + c);
    const double excess = x + r * t - y;
    (excess > 0 ? high : low) = x;
    double next = x - excess / (1 + r * s * (1 - t * t));
    if (!(next > low && next < high)) next = .5 * (low + high);
    if (std::abs(next - x) <= 1e-15 * (1 + std::abs(x))) return next;
    x = next;
  }
  return x;
}

Matrix upper_triangle(const Matrix& full) { return full.triangularView<Eigen::Upper>(); }

}  // namespace

struct Sylvester::Inside {
  Matrix r, s;
  Matrix x;      // Q'x
  Matrix t;      // tanh
  Matrix slope;  // tanh'
};

Sylvester::Sylvester(Index dimension, Index columns, std::uint64_t seed)
    : Sylvester(Stiefel{}.random_point(dimension, columns, seed), Matrix::Zero(columns, columns),
                Matrix::Zero(columns, columns), Vector::Zero(columns)) {
  Noise(seed, NoiseStream::kRandomPoint).fill(1, 0, parameters_[3].value);
}

Sylvester::Sylvester(Matrix q, Matrix r, Matrix s, Vector b) {
  const auto add = [&](ManifoldKind manifold, Matrix value) {
    Matrix gradient = Matrix::Zero(value.rows(), value.cols());
    parameters_.push_back({manifold, std::move(value), std::move(gradient)});
  };
  add(ManifoldKind::kStiefel, std::move(q));
  add(ManifoldKind::kEuclidean, std::move(r));
  add(ManifoldKind::kEuclidean, std::move(s));
  add(ManifoldKind::kEuclidean, std::move(b));
}

Matrix Sylvester::upper_s() const {
  Matrix out = upper_triangle(s());
  out.diagonal() = s().diagonal().array().exp();
  return out;
}

Matrix Sylvester::upper_r() const {
  Matrix out = upper_triangle(r());
  out.diagonal() = r().diagonal().unaryExpr([](double v) { return std::expm1(v); }).array() *
                   (-s().diagonal().array()).exp();
  return out;
}

Sylvester::Inside Sylvester::inside(ConstMatrixRef x) const {
  Inside in{upper_r(), upper_s(), q().transpose() * x, {}, {}};
  in.t = ((in.s * in.x).colwise() + b().col(0)).array().tanh();
  in.slope = 1 - in.t.array().square();
  return in;
}

void Sylvester::forward(MatrixRef x, VectorRef log_det) const {
  const Inside in = inside(x);
  const Vector product = in.r.diagonal().cwiseProduct(in.s.diagonal());
  log_det += (product.asDiagonal() * in.slope)
                 .unaryExpr([](double p) { return std::log1p(p); })
                 .colwise()
                 .sum()
                 .transpose();
  x += q() * (in.r * in.t);
}

void Sylvester::invert(MatrixRef y) const {
  const Matrix big_r = upper_r();
  const Matrix big_s = upper_s();
  const Index size = big_r.rows();
  Matrix inner = q().transpose() * y;
  Vector t(size);
  for (Index k = 0; k < y.cols(); ++k) {
    for (Index i = size - 1; i >= 0; --i) {
      const Index after = size - 1 - i;
      const double c = b()(i) + big_s.row(i).tail(after).dot(inner.col(k).tail(after));
      const double known = inner(i, k) - big_r.row(i).tail(after).dot(t.tail(after));
      inner(i, k) = solve_coordinate(big_r(i, i), big_s(i, i), c, known);
      t(i) = std::tanh(big_s(i, i) * inner(i, k) + c);
    }
    y.col(k) -= q() * (big_r * t);
  }
}

void Sylvester::pull_back(ConstMatrixRef x, MatrixRef v) const {
  const Inside in = inside(x);
  const Matrix by_input = in.slope.cwiseProduct(in.r.transpose() * (q().transpose() * v));
  v += q() * (in.s.transpose() * by_input);
}

void Sylvester::push_forward(ConstMatrixRef x, MatrixRef v) const {
  const Inside in = inside(x);
  const Matrix before = q().transpose() * v;
  Matrix after = before;
  for (Index k = 0; k < x.cols(); ++k) {
    Matrix jacobian = in.r * in.slope.col(k).asDiagonal() * in.s;
    jacobian.diagonal().array() += 1;
    jacobian.transpose().triangularView<Eigen::Lower>().solveInPlace(after.col(k));
  }
  v += q() * (after - before);
}

// log det = sum of log(1 + r_ii s_ii tanh'(a_i)), and tanh'' = -2 tanh tanh'.
void Sylvester::add_log_det_gradient(ConstMatrixRef x, double factor, MatrixRef v) const {
  const Inside in = inside(x);
  const Vector product = in.r.diagonal().cwiseProduct(in.s.diagonal());
  const Matrix scaled = product.asDiagonal() * in.slope;
  const Matrix by_argument = -2 * factor * scaled.array() * in.t.array() / (1 + scaled.array());
  v += q() * (in.s.transpose() * by_argument);
}

void Sylvester::set_gradients(ConstMatrixRef x, ConstMatrixRef v) {
  const Inside in = inside(x);
  const Matrix inner = q().transpose() * v;
  const Matrix by_argument = in.slope.cwiseProduct(in.r.transpose() * inner);
  parameters_[0].gradient = v * (in.r * in.t).transpose() + x * (in.s.transpose() * by_argument).transpose();
  Matrix by_r = upper_triangle(inner * in.t.transpose());
  Matrix by_s = upper_triangle(by_argument * in.x.transpose());
  parameters_[3].gradient = by_argument.rowwise().sum();
  // r_ii = (exp(v) - 1) exp(-w), s_ii = exp(w).
  for (Index i = 0; i < by_r.rows(); ++i) {
    const double over_s = std::exp(-s()(i, i));
    by_s(i, i) = by_s(i, i) * in.s(i, i) - by_r(i, i) * in.r(i, i);
    by_r(i, i) *= std::exp(r()(i, i)) * over_s;
  }
  parameters_[1].gradient = std::move(by_r);
  parameters_[2].gradient = std::move(by_s);
}

void Sylvester::constrain() {
  for (std::size_t k = 1; k < parameters_.size(); ++k)
    parameters_[k].value = parameters_[k].value.cwiseMax(-kLargest).cwiseMin(kLargest);
  for (Index i = 0; i < r().rows(); ++i) {
    parameters_[1].value(i, i) = std::clamp(r()(i, i), kLeastLogSlope, kMostLogSlope);
    parameters_[2].value(i, i) = std::clamp(s()(i, i), -kMostLogScale, kMostLogScale);
  }
}

void Sylvester::write(io::ChecksummedWriter& out) const {
  out.text("sylvester");
  for (const LayerParameter& parameter : parameters_) out.matrix(parameter.value);
}

std::unique_ptr<Layer> Sylvester::read(io::ChecksummedReader& in, Index dimension) {
  constexpr double kOrthonormal = 1e-6;
  Matrix q = in.matrix();
  Matrix r = in.matrix();
  Matrix s = in.matrix();
  Matrix b = in.matrix();
  const Index size = q.cols();
  const bool fits = q.rows() == dimension && size > 0 && size <= dimension && r.rows() == size &&
                    r.cols() == size && s.rows() == size && s.cols() == size && b.rows() == size &&
                    b.cols() == 1 && q.allFinite() && r.allFinite() && s.allFinite() && b.allFinite();
  if (!fits || !((q.transpose() * q - Matrix::Identity(size, size)).norm() < kOrthonormal))
    in.fail("its parts do not fit each other");
  auto layer = std::make_unique<Sylvester>(std::move(q), std::move(r), std::move(s), Vector(b.col(0)));
  layer->constrain();
  return layer;
}

}  // namespace magva
