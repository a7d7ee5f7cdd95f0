// A positive scale and a simplex, independent:
//   sigma ~ lognormal(location, spread),   p ~ Dirichlet(alpha) by stick breaking.
// On the unconstrained scale log sigma is normal, and the stick's fractions z_k are Beta(alpha_k, alpha_k+1 +
// ...).
#include <cmath>
#include <numbers>

#include "program.hpp"

namespace test_stan {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

class Constrained final : public Program {
 public:
  explicit Constrained(const nlohmann::json& data)
      : location_(data.at("location")), spread_(data.at("spread")), alpha_(vector_of(data.at("alpha"))) {
    const auto parts = static_cast<std::size_t>(alpha_.size());
    name = "constrained";
    unconstrained = indexed("p", parts - 1);
    unconstrained.insert(unconstrained.begin(), "sigma");
    parameters = indexed("p", parts);
    parameters.insert(parameters.begin(), "sigma");
    transformed = {"Sigma.1.1", "Sigma.2.1", "Sigma.1.2", "Sigma.2.2"};
  }

  double log_density(const Vector& theta, Vector& gradient) const override {
    const double standard = (theta(0) - location_) / spread_;
    gradient(0) = -standard / spread_;
    double value = -0.5 * (standard * standard + std::log(2 * std::numbers::pi)) - std::log(spread_);
    for (Eigen::Index k = 0; k + 1 < alpha_.size(); ++k) {
      const double a = alpha_(k);
      const double b = alpha_.tail(alpha_.size() - k - 1).sum();
      const double z = fraction(theta, k);
      value += a * std::log(z) + b * std::log1p(-z) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
      gradient(k + 1) = a * (1 - z) - b * z;
    }
    return value;
  }

  Blocks constrain(const Vector& theta, std::mt19937_64&) const override {
    Blocks blocks{Vector(alpha_.size() + 1), Vector(4), {}};
    blocks.parameters(0) = std::exp(theta(0));
    double rest = 1;
    for (Eigen::Index k = 0; k + 1 < alpha_.size(); ++k) {
      blocks.parameters(k + 1) = rest * fraction(theta, k);
      rest -= blocks.parameters(k + 1);
    }
    blocks.parameters(alpha_.size()) = rest;
    const double variance = blocks.parameters(0) * blocks.parameters(0);
    blocks.transformed << variance, 0.25 * variance, 0.5 * variance, variance;
    return blocks;
  }

  Vector unconstrain(const nlohmann::json& values) const override {
    const double sigma = values.at("sigma");
    if (sigma < 0)
      throw std::domain_error("sigma is " + std::to_string(sigma) + ", but must be greater than 0");
    const Vector p = vector_of(values.at("p"));
    Vector theta(alpha_.size());
    theta(0) = std::log(sigma);
    double rest = 1;
    for (Eigen::Index k = 0; k + 1 < alpha_.size(); ++k) {
      const double z = p(k) / rest;
      theta(k + 1) = std::log(z / (1 - z)) - offset(k);
      rest -= p(k);
    }
    return theta;
  }

 private:
  /// Zero in theta is the simplex's centre.
  double offset(Eigen::Index k) const { return -std::log(static_cast<double>(alpha_.size() - k - 1)); }
  double fraction(const Vector& theta, Eigen::Index k) const { return logistic(theta(k + 1) + offset(k)); }

  double location_;
  double spread_;
  Vector alpha_;
};

}  // namespace

std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned) {
  return std::make_unique<Constrained>(data);
}

}  // namespace test_stan
