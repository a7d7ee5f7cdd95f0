#include "magva/check_gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "magva/error.hpp"

namespace magva {

namespace {

/// Steps 2^-4, 2^-6, ... times the size of the coordinate. One level's central difference and the next one's
/// make an extrapolated value; the spread between neighbours and the rounding of f say how good it is.
constexpr Index kLevels = 9;
constexpr double kFirstStep = 1.0 / 16.0;
constexpr double kShrink = 0.25;
/// Whatever differences can resolve, a relative error above this is an error of the model.
constexpr double kMostLeniency = 1e-3;

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double uncertainty = std::numeric_limits<double>::infinity();
};

class Differences {
 public:
  Differences(const Model& model, std::uint64_t iteration)
      : model_(model),
        iteration_(iteration),
        scratch_(model.make_scratch(2 * kLevels)),
        points_(model.dimension(), 2 * kLevels),
        gradients_(model.dimension(), 2 * kLevels),
        values_(2 * kLevels) {}

  /// Log density at theta; fills in the gradient.
  double at(ConstVectorRef theta, VectorRef gradient) {
    points_.col(0) = theta;
    evaluate(1);
    gradient = gradients_.col(0);
    return values_(0);
  }

  Estimate derivative(ConstVectorRef theta, Index i) {
    std::array<double, kLevels> widths{};
    points_.colwise() = theta;
    double step = kFirstStep * std::max(1.0, std::abs(theta(i)));
    for (Index level = 0; level < kLevels; ++level, step *= kShrink) {
      points_(i, 2 * level) += step;
      points_(i, 2 * level + 1) -= step;
      widths[static_cast<std::size_t>(level)] = points_(i, 2 * level) - points_(i, 2 * level + 1);
    }
    evaluate(2 * kLevels);
    return extrapolate(widths);
  }

 private:
  void evaluate(Index draws) {
    Evaluation evaluation{*scratch_, workers_, iteration_};
    model_.evaluate(points_.leftCols(draws), values_.head(draws), gradients_.leftCols(draws), evaluation);
  }

  Estimate extrapolate(const std::array<double, kLevels>& widths) const {
    Estimate best;
    double wider = std::numeric_limits<double>::quiet_NaN();
    for (Index level = 0; level < kLevels; ++level) {
      const double up = values_(2 * level);
      const double down = values_(2 * level + 1);
      const double width = widths[static_cast<std::size_t>(level)];
      const double difference = (up - down) / width;
      // The error of a central difference is of order step^2: remove it with the level before.
      const double value = difference + (difference - wider) * kShrink * kShrink / (1.0 - kShrink * kShrink);
      const double rounding =
          8.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(up), std::abs(down));
      const double uncertainty = std::abs(value - difference) + rounding / width;
      if (std::isfinite(value) && uncertainty < best.uncertainty) best = {value, uncertainty};
      wider = difference;
    }
    return best;
  }

  const Model& model_;
  std::uint64_t iteration_;
  Workers workers_{1};
  std::unique_ptr<Scratch> scratch_;
  Matrix points_;
  Matrix gradients_;
  Vector values_;
};

std::string sentence_for(const GradientCheck& check, double tolerance) {
  if (check.passed)
    return fmt::format(
        "the gradient agrees with differences of the log density in every coordinate (largest relative "
        "error {:.1e}, at {})",
        check.error, check.name);
  return fmt::format(
      "the gradient is wrong at coordinate {} ({}): the model says {:.8g}, differences of its log density "
      "say {:.8g}, a relative error of {:.1e} where {:.1e} is allowed",
      check.worst + 1, check.name, check.analytic, check.numerical, check.error, tolerance);
}

}  // namespace

GradientCheck check_gradient(const Model& model, ConstVectorRef theta, const GradientCheckOptions& options) {
  if (theta.size() != model.dimension())
    throw UsageError(
        fmt::format("the point has {} coordinates but the model has {}", theta.size(), model.dimension()));
  Differences differences(model, options.iteration);
  Vector gradient(theta.size());
  const double log_density = differences.at(theta, gradient);
  GradientCheck check;
  if (!std::isfinite(log_density)) {
    check.sentence =
        fmt::format("the log density is {} at this point: its gradient cannot be checked", log_density);
    return check;
  }
  double worst_excess = -1.0;
  check.passed = true;
  for (Index i = 0; i < theta.size(); ++i) {
    const Estimate estimate = differences.derivative(theta, i);
    const double size = std::max({1.0, std::abs(gradient(i)), std::abs(estimate.value)});
    const double distance = std::abs(gradient(i) - estimate.value);
    // How often what is allowed fits into what was found; a value that is not finite is worst of all.
    double excess =
        distance / (options.tolerance * size + std::min(estimate.uncertainty, kMostLeniency * size));
    if (!std::isfinite(gradient(i)) || !std::isfinite(estimate.value))
      excess = std::numeric_limits<double>::infinity();
    check.passed = check.passed && excess <= 1.0;
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    check.worst = i;
    check.analytic = gradient(i);
    check.numerical = estimate.value;
    check.error = distance / size;
  }
  check.name = model.parameter_name(check.worst);
  check.sentence = sentence_for(check, options.tolerance);
  return check;
}

}  // namespace magva
