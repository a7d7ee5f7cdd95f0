// N(mean, covariance), both in the data; may be evaluated concurrently. Its generated quantity is a fresh
// draw around theta.1.
#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>

#include "program.hpp"

namespace test_stan {
namespace {

class Gaussian final : public Program {
 public:
  explicit Gaussian(const nlohmann::json& data) : mean_(vector_of(data.at("mean"))) {
    const auto m = mean_.size();
    if (data.at("covariance").size() != static_cast<std::size_t>(m)) {
      throw std::invalid_argument(
          "mismatch in dimension declared and found in context; variable name=covariance");
    }
    Eigen::MatrixXd covariance(m, m);
    for (Eigen::Index i = 0; i < m; ++i)
      covariance.row(i) = vector_of(data.at("covariance").at(static_cast<std::size_t>(i)));
    factor_.compute(covariance);
    const double log_determinant = 2 * factor_.matrixLLT().diagonal().array().log().sum();
    constant_ = -0.5 * (static_cast<double>(m) * std::log(2 * std::numbers::pi) + log_determinant);
    name = "gaussian";
    threads = true;
    parameters = unconstrained = indexed("theta", static_cast<std::size_t>(m));
    generated = {"replicate"};
  }

  double log_density(const Vector& theta, Vector& gradient) const override {
    const Vector deviation = theta - mean_;
    gradient = -factor_.solve(deviation);
    return constant_ + 0.5 * deviation.dot(gradient);
  }
  Blocks constrain(const Vector& theta, std::mt19937_64& random) const override {
    return {theta, {}, Vector::Constant(1, theta(0) + std::normal_distribution<>()(random))};
  }
  Vector unconstrain(const nlohmann::json& values) const override { return vector_of(values.at("theta")); }

 private:
  Vector mean_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  double constant_ = 0;
};

}  // namespace

std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned) {
  return std::make_unique<Gaussian>(data);
}

}  // namespace test_stan
