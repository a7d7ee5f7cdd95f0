#include "experiments/remarks.hpp"

#include <fmt/format.h>

#include <cmath>

namespace magva::experiments {

namespace {

constexpr double kSamePoints = .5;

std::string side(double ours, double paper) {
  if (std::abs(ours - paper) < kSamePoints) return "same";
  return fmt::format("{} by {:.1f}", ours > paper ? "higher" : "lower", std::abs(ours - paper));
}

}  // namespace

std::string compare_rates(double training, double paper_training, double test, double paper_test) {
  const std::string first = side(training, paper_training), second = side(test, paper_test);
  if (first == second)
    return first == "same" ? "same, within half a point" : "training and test error " + first;
  return fmt::format("training error {}, test error {}", first, second);
}

std::string compare_bounds(const MeanSd& ours, const MeanSd& reference) {
  if (ours.count == 0) return "no result";
  const double difference = ours.mean - reference.mean;
  const double error = std::sqrt(ours.sd * ours.sd / static_cast<double>(ours.count) +
                                 reference.sd * reference.sd / static_cast<double>(reference.count));
  if (std::abs(difference) <= 2 * error) return "no difference beyond chance";
  return fmt::format("{:.1f} {}", std::abs(difference), difference > 0 ? "above" : "below");
}

std::vector<std::string> ionosphere_remarks() { return {}; }
std::vector<std::string> simulation_remarks() { return {}; }
std::vector<std::string> leukemia_remarks() { return {}; }

}  // namespace magva::experiments
