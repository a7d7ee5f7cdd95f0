#include "models/expected_likelihoods.hpp"

#include <cmath>
#include <limits>

#include "models/half_cauchy.hpp"
#include "models/logistic_normal.hpp"

namespace magva::detail {

namespace {

class ExpectedBernoulliLogit final : public ExpectedLikelihood {
 public:
  NuisanceSums expect(const PredictorBlock& block, const NormalMarginal&,
                      const PredictorDerivatives& out) const override {
    constexpr Index kRows = 8;
    NuisanceSums sums;
    double value[kRows];
    for (Index first = 0; first < block.rows; first += kRows) {
      logistic_normal(block.mean + first, block.variance + first, kRows, value, out.slope + first,
                      out.curvature + first);
      for (Index k = 0; k < kRows; ++k) {
        const Index i = first + k;
        const double w = block.weight[i];
        sums.value += w * (block.response[i] * block.mean[i] - value[k]);
        out.slope[i] = w * (block.response[i] - out.slope[i]);
        out.curvature[i] *= w;
      }
    }
    return sums;
  }
};

class ExpectedPoissonLog final : public ExpectedLikelihood {
 public:
  // E exp(eta) = exp(mean + variance / 2).
  NuisanceSums expect(const PredictorBlock& block, const NormalMarginal&,
                      const PredictorDerivatives& out) const override {
    NuisanceSums sums;
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weight[i];
      const double log_rate = block.mean[i] + .5 * block.variance[i];
      const double rate = log_rate > 700 ? std::numeric_limits<double>::infinity() : std::exp(log_rate);
      out.curvature[i] = w > 0 ? w * rate : 0;
      out.slope[i] = w * block.response[i] - out.curvature[i];
      sums.value += w * block.response[i] * block.mean[i] - out.curvature[i];
    }
    return sums;
  }
};

class ExpectedGaussianKnownNoise final : public ExpectedLikelihood {
 public:
  explicit ExpectedGaussianKnownNoise(double sigma)
      : precision_(1 / (sigma * sigma)), log_sd_(std::log(sigma)) {}

  NuisanceSums expect(const PredictorBlock& block, const NormalMarginal&,
                      const PredictorDerivatives& out) const override {
    NuisanceSums sums;
    for (Index i = 0; i < block.rows; ++i) {
      const double residual = block.response[i] - block.mean[i];
      out.curvature[i] = block.weight[i] * precision_;
      out.slope[i] = out.curvature[i] * residual;
      sums.value -=
          .5 * out.curvature[i] * (residual * residual + block.variance[i]) + block.weight[i] * log_sd_;
    }
    return sums;
  }

 private:
  double precision_;
  double log_sd_;
};

/// With the factor exp(-2 s) a Gaussian is a Gaussian again, whose mean is moved by -2 times the covariances
/// with s: E[exp(-2 s) (y - eta)^2] = exp(-2 E s + 2 Var s) ((y - E eta + 2 Cov(eta, s))^2 + Var eta).
class ExpectedGaussian : public ExpectedLikelihood {
 public:
  bool log_concave() const override { return false; }

  NuisanceSums expect(const PredictorBlock& block, const NormalMarginal& own,
                      const PredictorDerivatives& out) const override {
    const double precision = std::exp(-2 * own.mean + 2 * own.variance);
    NuisanceSums sums;
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weight[i];
      const double residual = block.response[i] - block.mean[i] + 2 * block.covariance[i];
      out.curvature[i] = w * precision;
      out.slope[i] = out.curvature[i] * residual;
      out.cross[i] = 2 * out.slope[i];
      const double square = out.curvature[i] * (residual * residual + block.variance[i]);
      sums.value -= .5 * square + w * own.mean;
      sums.slope += square - w;
      sums.curvature += 2 * square;
    }
    return sums;
  }
};

/// sigma ~ half-Cauchy: log(2 / pi) + u - log(1 + exp(2 u)) with u = log sigma - log scale.
class ExpectedGaussianHalfCauchy final : public ExpectedGaussian {
 public:
  explicit ExpectedGaussianHalfCauchy(double log_prior_scale) : log_prior_scale_(log_prior_scale) {}
  NuisanceSums nuisance_prior(const NormalMarginal& own) const override {
    const double u = own.mean - log_prior_scale_;
    const LogisticNormal twice = logistic_normal(2 * u, 4 * own.variance);
    return {kLogTwoOverPi + u - twice.value, 1 - 2 * twice.slope, 4 * twice.curvature};
  }

 private:
  double log_prior_scale_;
};

class ExpectedGaussianPositivePrior final : public ExpectedGaussian {
 public:
  explicit ExpectedGaussianPositivePrior(const PositivePrior& sigma) : sigma_(sigma) {}
  NuisanceSums nuisance_prior(const NormalMarginal& own) const override { return sigma_.expect(own); }

 private:
  PositivePrior sigma_;
};

}  // namespace

std::shared_ptr<const ExpectedLikelihood> expected_bernoulli_logit() {
  return std::make_shared<ExpectedBernoulliLogit>();
}
std::shared_ptr<const ExpectedLikelihood> expected_poisson_log() {
  return std::make_shared<ExpectedPoissonLog>();
}
std::shared_ptr<const ExpectedLikelihood> expected_gaussian_known_noise(double sigma) {
  return std::make_shared<ExpectedGaussianKnownNoise>(sigma);
}
std::shared_ptr<const ExpectedLikelihood> expected_gaussian(double log_prior_scale) {
  return std::make_shared<ExpectedGaussianHalfCauchy>(log_prior_scale);
}
std::shared_ptr<const ExpectedLikelihood> expected_gaussian(const PositivePrior& sigma) {
  return std::make_shared<ExpectedGaussianPositivePrior>(sigma);
}

}  // namespace magva::detail
