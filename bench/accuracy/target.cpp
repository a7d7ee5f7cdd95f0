#include "target.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "newton.hpp"
#include "objective.hpp"
#include "regression_of.hpp"
#include "search/quadratic_fit.hpp"

namespace magva::bench {

namespace {

constexpr Index kOwnStarts = 4;             // random factors
constexpr double kFactorSize = .5;          // of them, relative to the residual sds
constexpr Index kQuadraticDimension = 500;  // up to which the best Gaussian for the curvature is a start, too
constexpr Index kPairs = 8192;              // of the sampled expectation
constexpr Index kElboDraws = 50'000;

Matrix inverse_root(const Matrix& precision) {
  return precision.llt().matrixU().solve(Matrix::Identity(precision.rows(), precision.rows()));
}

/// Gaussians with a random W around given sds.
std::vector<Gaussian> random_starts(ConstVectorRef mean, ConstVectorRef sd, Index rank) {
  std::vector<Gaussian> out;
  for (Index k = 0; k < (rank == 0 ? 1 : kOwnStarts); ++k) {
    Matrix factors(sd.size(), rank);
    Noise(static_cast<std::uint64_t>(k), NoiseStream::kFactors).fill(0, 0, factors);
    out.push_back(Gaussian::low_rank(mean, kFactorSize * (sd.asDiagonal() * factors), sd));
  }
  return out;
}

class ExactTarget final : public Target {
 public:
  explicit ExactTarget(Glm glm)
      : glm_(std::move(glm)), regression_(regression_of(glm_)), full_rank_(best_full_rank(glm_)) {}
  const Model& model() const override { return glm_; }
  const Model* exact_model() const override { return regression_.get(); }
  double elbo(const Gaussian& q) const override { return glm_.elbo(q); }

  double best(Index rank, const std::vector<Gaussian>& found) const override {
    const Index m = glm_.dimension();
    if (rank >= m) return full_rank_.elbo;
    const Frame root = dense_frame(inverse_root(full_rank_.curvature));
    const Vector sd = full_rank_.curvature.diagonal().cwiseSqrt().cwiseInverse();
    std::vector<Gaussian> starts = random_starts(full_rank_.mean, sd, rank);
    if (m <= kQuadraticDimension) {
      QuadraticFit fit = QuadraticFitter(full_rank_.curvature).fit(rank);
      starts.push_back(Gaussian::low_rank(full_rank_.mean, fit.factors, fit.residual_sd));
    }
    starts.insert(starts.end(), found.begin(), found.end());
    const auto expected = exact_expectation(glm_);
    double highest = -std::numeric_limits<double>::infinity();
    for (const Gaussian& start : starts)
      highest = std::max(highest, glm_.elbo(ascend(*expected, start, root)));
    return highest;
  }

 private:
  Glm glm_;
  std::unique_ptr<Model> regression_;
  NewtonOptimum full_rank_;
};

/// Without the full-rank optimum. The mean-field ELBO is concave in mean and sds (Challis and Barber 2013),
/// so that one ascent finds its maximum.
class WideTarget final : public Target {
 public:
  explicit WideTarget(Glm glm) : glm_(std::move(glm)), regression_(regression_of(glm_)) {}
  const Model& model() const override { return glm_; }
  const Model* exact_model() const override { return regression_.get(); }
  double elbo(const Gaussian& q) const override { return glm_.elbo(q); }

  double best(Index rank, const std::vector<Gaussian>& found) const override {
    const auto expected = exact_expectation(glm_);
    const Gaussian maximum = ascend_from(*expected, found.front());
    double highest = glm_.elbo(maximum);
    if (rank == 0) return highest;
    std::vector<Gaussian> starts = random_starts(maximum.mean(), maximum.residual_sd(), rank);
    starts.insert(starts.end(), found.begin() + 1, found.end());
    for (const Gaussian& start : starts)
      highest = std::max(highest, glm_.elbo(ascend_from(*expected, start)));
    return highest;
  }

 private:
  static Gaussian ascend_from(const Expected& expected, const Gaussian& start) {
    return ascend(expected, start, diagonal_frame(start.residual_sd()));
  }
  Glm glm_;
  std::unique_ptr<Model> regression_;
};

class SampledTarget final : public Target {
 public:
  explicit SampledTarget(std::unique_ptr<Model> model) : model_(std::move(model)), evaluator_(*model_, 1) {}
  const Model& model() const override { return *model_; }
  double elbo(const Gaussian& q) const override { return estimate_elbo(evaluator_, q, kElboDraws, 99).elbo; }

  double best(Index rank, const std::vector<Gaussian>& found) const override {
    double highest = -std::numeric_limits<double>::infinity();
    const auto expected = sampled_expectation(*model_, std::min(rank, model_->dimension()), kPairs);
    for (const Gaussian& q : found) {
      const Vector sd = q.sd();
      // A full covariance is W W' with a little of a diagonal.
      const Gaussian start = q.is_dense() ? Gaussian::low_rank(q.mean(), q.factors(), 1e-3 * sd) : q;
      const Frame root = q.is_dense() ? dense_frame(q.factors()) : diagonal_frame(sd);
      highest = std::max({highest, elbo(ascend(*expected, start, root)), elbo(q)});
    }
    return highest;
  }

 private:
  std::unique_ptr<Model> model_;
  mutable Evaluator evaluator_;
};

}  // namespace

std::unique_ptr<Target> exact_target(Glm glm) { return std::make_unique<ExactTarget>(std::move(glm)); }
std::unique_ptr<Target> wide_target(Glm glm) { return std::make_unique<WideTarget>(std::move(glm)); }
std::unique_ptr<Target> sampled_target(std::unique_ptr<Model> model) {
  return std::make_unique<SampledTarget>(std::move(model));
}

}  // namespace magva::bench
