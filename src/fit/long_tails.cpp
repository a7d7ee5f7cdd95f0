#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "assess/quantity_tails.hpp"
#include "fit/runs.hpp"

namespace magva {

namespace {

/// The largest m: of more parameters a path of conditional modes takes too many gradients.
constexpr Index kMostTailParameters = 100;
/// Gradients, at most: these, or half as many as the fit has taken.
constexpr std::int64_t kTailGradients = 3000;
/// Quantities that are named.
constexpr std::size_t kNamedTails = 3;

/// The larger of two ratios where the parameter is in doubt already.
void add_tail(Doubt tail, std::vector<Doubt>& doubts) {
  const auto known = std::find_if(doubts.begin(), doubts.end(),
                                  [&](const Doubt& doubt) { return doubt.parameter == tail.parameter; });
  if (known == doubts.end())
    doubts.push_back(std::move(tail));
  else
    known->sd_ratio = std::max(known->sd_ratio, tail.sd_ratio);
}

std::string describe_tails(const std::vector<Doubt>& found) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < std::min(kNamedTails, found.size()); ++k) names.push_back(found[k].parameter);
  std::string more;
  if (found.size() > kNamedTails) more = fmt::format(" and {} more", found.size() - kNamedTails);
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

bool can_have_long_tails(const FitOptions& options, const FitResult& result) {
  return options.quantities && result.trusted && result.stopped == StopReason::kConverged &&
         result.expectations == Expectations::kDraws && result.posterior.is_dense() &&
         result.posterior.dimension() <= kMostTailParameters;
}

}  // namespace

void warn_of_long_tails(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                        FitResult& result) {
  if (!can_have_long_tails(options, result)) return;
  Control control({.seconds = options.time_limit - result.seconds}, observers, Phase::kAssessment);
  control.go_on_from({{Phase::kAssessment, 0, result.gradient_evaluations, result.seconds, result.elbo},
                      static_cast<double>(result.gradient_evaluations)});
  Evaluator evaluator(model, choose_threads(options.threads, model), &control);
  try {
    std::vector<Doubt> found =
        find_long_tails(evaluator, result.posterior, *options.quantities,
                        {options.seed + 6, std::max(kTailGradients, result.gradient_evaluations / 2)});
    if (!found.empty())
      result.warnings.push_back(
          {WarningKind::kHeavyTails,
           fmt::format(
               "sds are too small, by a factor of {:.2g} or more, for {}: they come from a long tail that "
               "the approximation has not; read quantiles, which such a tail hardly moves",
               found.back().sd_ratio, describe_tails(found))});
    for (Doubt& tail : found) add_tail(std::move(tail), result.doubts);
  } catch (const Stopped&) {  // there was no time for it
  }
  result.seconds = control.seconds();
}

}  // namespace magva
