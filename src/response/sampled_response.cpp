#include "response/sampled_response.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

#include "response/covariance_system.hpp"

namespace magva {

namespace {

/// Of the covariance's answer to a move of the mean, relative; the response errs by its square.
constexpr double kMoveResidual = 1e-4;
constexpr int kMostIterations = 50;
/// Iterations that are usual, for an estimate of the work.
constexpr double kUsualIterations = 4;
/// Systems that are solved together: each Hessian is read once for all of them.
constexpr Index kSystemsAtOnce = 8;

Matrix symmetric_part(const Matrix& a) { return .5 * (a + a.transpose()); }

/// Half the mean of odd e_i z', symmetric: how the mean's coordinate i and the covariance depend on each
/// other.
std::vector<Matrix> cross_derivatives(const HessianSample& sample) {
  const Index m = sample.dimension();
  std::vector<Matrix> out;
  Matrix columns(m, sample.pairs());
  for (Index i = 0; i < m; ++i) {
    for (Index s = 0; s < sample.pairs(); ++s)
      columns.col(s) = sample.odd[static_cast<std::size_t>(s)].col(i);
    out.push_back(symmetric_part(columns * sample.noise.transpose()) /
                  (2 * static_cast<double>(sample.pairs())));
  }
  return out;
}

using Matrices = std::vector<Matrix>;

/// Minus the ELBO's second derivative by the covariance: S / 2 - mean of even S z z' / 4, symmetric.
Matrices covariance_products(const HessianSample& sample, const Matrices& moves) {
  const Index m = sample.dimension();
  const Index pairs = sample.pairs();
  const std::size_t count = moves.size();
  Matrices drawn;
  for (const Matrix& move : moves) drawn.push_back(move * sample.noise);
  Matrix columns(m, static_cast<Index>(count));
  for (Index s = 0; s < pairs; ++s) {
    for (std::size_t j = 0; j < count; ++j) columns.col(static_cast<Index>(j)) = drawn[j].col(s);
    const Matrix images = sample.even[static_cast<std::size_t>(s)] * columns;
    for (std::size_t j = 0; j < count; ++j) drawn[j].col(s) = images.col(static_cast<Index>(j));
  }
  Matrices out;
  for (std::size_t j = 0; j < count; ++j)
    out.push_back(.5 * moves[j] -
                  symmetric_part(drawn[j] * sample.noise.transpose()) / (4 * static_cast<double>(pairs)));
  return out;
}

double frobenius_product(const Matrix& a, const Matrix& b) { return a.cwiseProduct(b).sum(); }

bool solve_together(const HessianSample& sample, std::vector<CovarianceSystem>& systems) {
  for (int k = 0; k < kMostIterations; ++k) {
    std::vector<CovarianceSystem*> open;
    Matrices directions;
    for (CovarianceSystem& system : systems)
      if (!system.solved()) {
        open.push_back(&system);
        directions.push_back(system.direction());
      }
    if (open.empty()) return true;
    const Matrices images = covariance_products(sample, directions);
    for (std::size_t j = 0; j < open.size(); ++j)
      if (!open[j]->advance(images[j])) return false;
  }
  return false;
}

std::optional<Matrices> covariance_moves(const HessianSample& sample, const Matrices& cross) {
  Matrices out;
  for (std::size_t first = 0; first < cross.size(); first += kSystemsAtOnce) {
    std::vector<CovarianceSystem> systems;
    for (std::size_t i = first; i < std::min(first + kSystemsAtOnce, cross.size()); ++i)
      systems.emplace_back(cross[i], kMoveResidual);
    if (!solve_together(sample, systems)) return std::nullopt;
    for (const CovarianceSystem& system : systems) out.push_back(system.solution());
  }
  return out;
}

}  // namespace

std::optional<SampledResponse> linear_response(const HessianSample& sample) {
  const Index m = sample.dimension();
  const Matrices cross = cross_derivatives(sample);
  auto moves = covariance_moves(sample, cross);
  if (!moves) return std::nullopt;
  Matrix precision = Matrix::Identity(m, m) - sample.mean;
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j)
      precision(i, j) -=
          frobenius_product(cross[static_cast<std::size_t>(i)], (*moves)[static_cast<std::size_t>(j)]);
  const Eigen::LLT<Matrix> factor(symmetric_part(precision));
  if (factor.info() != Eigen::Success) return std::nullopt;
  return SampledResponse{factor.solve(Matrix::Identity(m, m)), std::move(*moves)};
}

// By the quadratic form's own minimum, an error of D changes the response by that of w' D w at the solution.
double response_se(const HessianSample& sample, const SampledResponse& response, const Vector& tilt) {
  const Index m = sample.dimension();
  const Vector u = response.covariance * tilt;
  Matrix move = Matrix::Zero(m, m);
  for (Index i = 0; i < m; ++i) move += u(i) * response.moves[static_cast<std::size_t>(i)];
  const Matrix drawn = move * sample.noise;
  Vector forms(sample.pairs());
  for (Index s = 0; s < sample.pairs(); ++s) {
    const Matrix& even = sample.even[static_cast<std::size_t>(s)];
    const auto by_covariance = drawn.col(s);
    forms(s) = u.dot(even * u) + u.dot(sample.odd[static_cast<std::size_t>(s)] * by_covariance) +
               .25 * by_covariance.dot(even * by_covariance);
  }
  const auto n = static_cast<double>(forms.size());
  return std::sqrt((forms.array() - forms.mean()).square().sum() / (n - 1) / n);
}

double sampled_response_work(Index dimension, Index pairs) {
  const auto m = static_cast<double>(dimension);
  return (2 + 3 * kUsualIterations) * m * m * m * static_cast<double>(pairs);
}

}  // namespace magva
