// A standard normal whose log density takes the data's number of milliseconds.
#include <chrono>
#include <thread>

#include "program.hpp"

namespace test_stan {
namespace {

class Slow final : public StandardNormal {
 public:
  explicit Slow(const nlohmann::json& data)
      : StandardNormal(data), pause_(data.at("milliseconds").get<int>()) {
    name = "slow";
  }
  double log_density(const Vector& theta, Vector& gradient) const override {
    std::this_thread::sleep_for(pause_);
    return StandardNormal::log_density(theta, gradient);
  }

 private:
  std::chrono::milliseconds pause_;
};

}  // namespace

std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned) {
  return std::make_unique<Slow>(data);
}

}  // namespace test_stan
