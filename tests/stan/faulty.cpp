// A standard normal that fails where theta[1] lies above a bound of the data: "fault" is throw, nan or
// gradient.
#include <limits>
#include <stdexcept>

#include "program.hpp"

namespace test_stan {
namespace {

class Faulty final : public StandardNormal {
 public:
  explicit Faulty(const nlohmann::json& data)
      : StandardNormal(data), fault_(data.at("fault")), above_(data.at("above")) {
    name = "faulty";
  }

  double log_density(const Vector& theta, Vector& gradient) const override {
    const double value = StandardNormal::log_density(theta, gradient);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (theta(0) <= above_) return value;
    if (fault_ == "nan") return nan;
    if (fault_ == "gradient") {
      gradient(0) = nan;
      return value;
    }
    throw std::domain_error("normal_lpdf: Scale parameter is 0, but must be positive!");
  }

  Blocks constrain(const Vector& theta, std::mt19937_64& random) const override {
    if (fault_ == "throw" && theta(0) > above_) throw std::domain_error("Sigma is not positive definite.");
    return StandardNormal::constrain(theta, random);
  }

 private:
  std::string fault_;
  double above_;
};

}  // namespace

std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned) {
  return std::make_unique<Faulty>(data);
}

}  // namespace test_stan
