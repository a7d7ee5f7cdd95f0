#include "experiments/slang.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "core/noise.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

double logistic(double eta) {
  return eta >= 0 ? 1 / (1 + std::exp(-eta)) : std::exp(eta) / (1 + std::exp(eta));
}

LowRankPrecision first_posterior(Index dimension, const SlangOptions& options) {
  if (const auto found = options.validate(); !found.empty())
    throw UsageError(fmt::format("SLANG's {}", fmt::join(found, "; ")));
  return {Vector::Zero(dimension), Matrix::Zero(dimension, std::min(options.rank, dimension)),
          Vector::Constant(dimension, options.initial_precision)};
}

}  // namespace

LowRankPrecision::LowRankPrecision(Vector mean, Matrix factors, ConstVectorRef diagonal)
    : mean_(std::move(mean)), precision_(std::move(factors), diagonal.cwiseSqrt()) {}

Matrix LowRankPrecision::from_noise(ConstMatrixRef noise) const {
  return precision_.draw_inverse(noise).colwise() + mean_;
}

Matrix LowRankPrecision::draws(Index count, std::uint64_t seed) const {
  Matrix noise(mean_.size(), count);
  Noise(seed, NoiseStream::kPosteriorDraws).fill(0, 0, noise);
  return from_noise(noise);
}

double LowRankPrecision::entropy() const {
  const auto m = static_cast<double>(mean_.size());
  return -.5 * precision_.log_determinant() + m / 2 * (std::log(2 * std::numbers::pi) + 1);
}

std::vector<std::string> SlangOptions::validate() const {
  std::vector<std::string> found;
  const auto require = [&](bool fine, const char* field, double value, const char* rule) {
    if (!fine) found.push_back(fmt::format("{} is {} and must be {}", field, value, rule));
  };
  require(rank >= 1, "rank", static_cast<double>(rank), "1 or more");
  require(batch >= 1, "batch", static_cast<double>(batch), "1 or more");
  require(mean_step > 0 && mean_step <= 1, "mean_step", mean_step, "in (0, 1]");
  require(precision_step > 0 && precision_step <= 1, "precision_step", precision_step, "in (0, 1]");
  require(decay >= 0 && decay <= 1, "decay", decay, "in [0, 1]");
  require(prior_variance > 0 && std::isfinite(prior_variance), "prior_variance", prior_variance, "positive");
  require(initial_precision > 0 && std::isfinite(initial_precision), "initial_precision", initial_precision,
          "positive");
  require(iterations >= 1, "iterations", static_cast<double>(iterations), "positive");
  return found;
}

Matrix leading_part(const Matrix& columns, Index rank) {
  const Index m = columns.rows(), k = columns.cols();
  Matrix out = Matrix::Zero(m, rank);
  const Index kept = std::min({rank, m, k});
  if (k <= m) {
    const Eigen::SelfAdjointEigenSolver<Matrix> gram(columns.transpose() * columns);
    out.leftCols(kept) = columns * gram.eigenvectors().rightCols(kept);
  } else {
    const Eigen::SelfAdjointEigenSolver<Matrix> gram(columns * columns.transpose());
    out.leftCols(kept) = gram.eigenvectors().rightCols(kept) *
                         gram.eigenvalues().tail(kept).cwiseMax(0).cwiseSqrt().asDiagonal();
  }
  return out;
}

Slang::Slang(RowMatrix design, Vector response, const SlangOptions& options)
    : design_(std::move(design)),
      response_(std::move(response)),
      options_(options),
      posterior_(first_posterior(design_.cols(), options)) {
  if (response_.size() != design_.rows())
    throw DataError(fmt::format("SLANG needs one response a row: there are {} rows and {} responses",
                                design_.rows(), response_.size()));
  if (((response_.array() != 0) && (response_.array() != 1)).any())
    throw DataError("SLANG needs responses that are 0 or 1");
}

// Rows in a new random order in each epoch, taken in turn.
std::vector<Index> Slang::batch(std::int64_t t) const {
  const Index n = design_.rows(), size = std::min(options_.batch, n), batches = n / size;
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  if (size == n) return rows;
  std::seed_seq words{options_.seed, options_.seed >> 32U, static_cast<std::uint64_t>(t / batches)};
  std::mt19937_64 generator(words);
  for (std::size_t i = rows.size() - 1; i > 0; --i) std::swap(rows[i], rows[generator() % (i + 1)]);
  const auto first = rows.begin() + (t % batches) * size;
  return {first, first + size};
}

Vector Slang::noise(std::int64_t t) const {
  Matrix out(design_.cols(), 1);
  Noise(options_.seed, NoiseStream::kFit).fill(static_cast<std::uint64_t>(t), 0, out);
  return out;
}

// The paper's algorithm 1: precision by (8) with the diagonal correction (9), (10), then the mean by (7).
void Slang::step() {
  const std::vector<Index> rows = batch(iteration_);
  const double shrink = std::pow(1 + static_cast<double>(iteration_), -options_.decay);
  const double alpha = options_.mean_step * shrink, beta = options_.precision_step * shrink;
  const double scale = static_cast<double>(design_.rows()) / static_cast<double>(rows.size());
  const double prior = 1 / options_.prior_variance;
  const Vector theta = posterior_.from_noise(noise(iteration_));

  const Matrix& u = posterior_.factors();
  Matrix columns(theta.size(), u.cols() + static_cast<Index>(rows.size()));
  columns.leftCols(u.cols()) = std::sqrt(1 - beta) * u;
  Vector gradient = prior * posterior_.mean();
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const auto x = design_.row(rows[j]).transpose();
    const double p = logistic(x.dot(theta)), residual = p - response_(rows[j]);
    const double curvature =
        options_.curvature == SlangCurvature::kEmpiricalFisher ? residual * residual : p * (1 - p);
    gradient += scale * residual * x;
    columns.col(u.cols() + static_cast<Index>(j)) = std::sqrt(beta * scale * curvature) * x;
  }
  Matrix factors = leading_part(columns, u.cols());
  Vector diagonal = (1 - beta) * posterior_.diagonal().array() + beta * prior +
                    (columns.rowwise().squaredNorm() - factors.rowwise().squaredNorm()).array().max(0);
  posterior_ = LowRankPrecision(posterior_.mean(), std::move(factors), diagonal);
  posterior_.set_mean(posterior_.mean() - alpha * posterior_.times_covariance(gradient));
  ++iteration_;
}

}  // namespace magva
