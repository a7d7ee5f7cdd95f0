#include "sd_for/sampled_columns.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

constexpr Index kColumnPairs = 32;
/// Of a difference of gradients, in posterior sds.
constexpr double kColumnStep = 1e-3;
/// Of a solution, relative; a variance errs by its square.
constexpr double kColumnResidual = 1e-4;
constexpr int kMostColumnProducts = 400;
/// Columns of draws that are evaluated together.
constexpr Index kDrawsTogether = 32;

/// An error of C changes x = C^-1 e_i so that x_i changes by that of -x' C x. Pairs are independent.
double log_sd_error(const MeanCurvature& curvature, const Vector& x, Index i) {
  const Vector forms = curvature.products(x).transpose() * x;
  const Vector pairs = .5 * (forms.head(kColumnPairs) + forms.tail(kColumnPairs));
  const auto n = static_cast<double>(kColumnPairs);
  const double se = std::sqrt((pairs.array() - pairs.mean()).square().sum() / (n - 1) / n);
  return .5 * se / x(i);
}

}  // namespace

MeanCurvature::MeanCurvature(Evaluator& evaluator, const Gaussian& q, Index pairs, std::uint64_t seed)
    : evaluator_(evaluator), q_(q), draws_(q.antithetic_draws(pairs, seed)) {}

Matrix MeanCurvature::products(const Vector& v) const {
  const double h = kColumnStep / std::sqrt(v.dot(q_.solve(v).col(0)));
  Matrix out(v.size(), draws_.cols());
  for (Index first = 0; first < draws_.cols(); first += kDrawsTogether) {
    const Index count = std::min(kDrawsTogether, draws_.cols() - first);
    const auto at = draws_.middleCols(first, count);
    out.middleCols(first, count) =
        (gradients(at.colwise() - h * v) - gradients(at.colwise() + h * v)) / (2 * h);
  }
  return out;
}

Matrix MeanCurvature::times_unit_columns(const Matrix& v) const {
  Matrix sum = Matrix::Zero(v.rows(), v.cols());
  for (const auto draw : draws_.colwise())
    sum += gradients((-kColumnStep * v).colwise() + draw) - gradients((kColumnStep * v).colwise() + draw);
  return sum / (2 * kColumnStep * static_cast<double>(draws_.cols()));
}

Matrix MeanCurvature::gradients(const Matrix& theta) const {
  Vector log_density(theta.cols());
  Matrix gradient(theta.rows(), theta.cols());
  evaluator_.evaluate(theta, log_density, gradient);
  return gradient;
}

std::optional<Vector> MeanCurvature::solve(const Vector& tilt, double wanted) const {
  Vector x = Vector::Zero(tilt.size());
  Vector residual = tilt;
  Vector direction = q_.times(tilt);
  double size = residual.dot(direction);
  const double enough = wanted * wanted * size;
  for (int k = 0; k < kMostColumnProducts && size > enough; ++k) {
    const Vector image = *this * direction;
    const double bend = direction.dot(image);
    if (!(bend > 0)) return std::nullopt;
    const double step = size / bend;
    x += step * direction;
    residual -= step * image;
    const Vector next = q_.times(residual);
    const double now = residual.dot(next);
    direction = next + now / size * direction;
    size = now;
  }
  return size <= enough && x.dot(tilt) > 0 ? std::optional(std::move(x)) : std::nullopt;
}

SampledColumns sample_columns(Evaluator& evaluator, const Gaussian& q, const std::vector<Index>& coordinates,
                              std::uint64_t seed) {
  const MeanCurvature curvature(evaluator, q, kColumnPairs, seed);
  SampledColumns out{{}, Matrix(q.dimension(), 0), Vector()};
  for (const Index i : coordinates) {
    const auto column = curvature.solve(Vector::Unit(q.dimension(), i), kColumnResidual);
    if (!column) continue;
    out.coordinates.push_back(i);
    const auto count = static_cast<Index>(out.coordinates.size());
    out.columns.conservativeResize(Eigen::NoChange, count);
    out.columns.col(count - 1) = *column;
    out.se.conservativeResize(count);
    out.se(count - 1) = log_sd_error(curvature, *column, i);
  }
  return out;
}

}  // namespace magva
