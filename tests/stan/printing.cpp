// A standard normal that prints while it reads its data and at every log density.
#include "program.hpp"

namespace test_stan {
namespace {

class Printing final : public StandardNormal {
 public:
  explicit Printing(const nlohmann::json& data) : StandardNormal(data) {
    name = "printing";
    print("printed by transformed data\n");
  }
  double log_density(const Vector& theta, Vector& gradient) const override {
    print("printed by the model block\n");
    return StandardNormal::log_density(theta, gradient);
  }
};

}  // namespace

std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned) {
  return std::make_unique<Printing>(data);
}

}  // namespace test_stan
