#include "program.hpp"

#include <cmath>
#include <numbers>

namespace test_stan {

StandardNormal::StandardNormal(const nlohmann::json& data) {
  name = "standard_normal";
  parameters = unconstrained = indexed("theta", data.at("m").get<std::size_t>());
}

double StandardNormal::log_density(const Vector& theta, Vector& gradient) const {
  gradient = -theta;
  return -0.5 * (theta.squaredNorm() + static_cast<double>(theta.size()) * std::log(2 * std::numbers::pi));
}

Blocks StandardNormal::constrain(const Vector& theta, std::mt19937_64&) const { return {theta, {}, {}}; }

Vector StandardNormal::unconstrain(const nlohmann::json& values) const {
  return vector_of(values.at("theta"));
}

std::vector<std::string> indexed(const std::string& name, std::size_t size) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= size; ++i) names.push_back(name + "." + std::to_string(i));
  return names;
}

Vector vector_of(const nlohmann::json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

}  // namespace test_stan
