#include <cmath>

#include "models/expected_priors.hpp"
#include "models/half_cauchy.hpp"
#include "models/priors.hpp"

namespace magva::detail {

namespace {

/// beta_j ~ N(0, v), independently.
class NormalPrior final : public CoefficientPrior {
 public:
  NormalPrior(double variance, Index coefficients) : variance_(variance), coefficients_(coefficients) {}
  Index coefficients() const override { return coefficients_; }
  Index dimension() const override { return coefficients_; }

  double add_to(const double* theta, const double*, double* gradient) const override {
    const Eigen::Map<const Vector> beta(theta, coefficients_);
    Eigen::Map<Vector>(gradient, coefficients_) -= beta / variance_;
    return -static_cast<double>(coefficients_) * (kHalfLogTwoPi + 0.5 * std::log(variance_)) -
           0.5 * beta.squaredNorm() / variance_;
  }

  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    return names[static_cast<std::size_t>(i)];
  }
  std::shared_ptr<const ExpectedPrior> expectations() const override {
    return expected_normal_prior(variance_, coefficients_);
  }
  std::optional<IndependentPriors> independent() const override {
    return IndependentPriors{Vector::Zero(coefficients_),
                             Vector::Constant(coefficients_, std::sqrt(variance_)), Vector()};
  }

 private:
  double variance_;
  Index coefficients_;
};

}  // namespace

std::shared_ptr<const CoefficientPrior> normal_prior(const NormalPriorOptions& options, Index coefficients) {
  return std::make_shared<NormalPrior>(options.variance, coefficients);
}

}  // namespace magva::detail
