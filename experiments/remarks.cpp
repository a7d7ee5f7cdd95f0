#include "experiments/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace magva::experiments {

namespace {

std::string side(double ours, double paper) {
  if (std::abs(ours - paper) < .5) return "same";
  return fmt::format("{} by {:.1f}", ours > paper ? "higher" : "lower", std::abs(ours - paper));
}

/// The difference of two means, 0 where it is none to speak of.
double difference(const MeanSd& ours, const MeanSd& reference) {
  const auto variance = [](const MeanSd& m) { return m.sd * m.sd / static_cast<double>(m.count); };
  const double gap = ours.mean - reference.mean;
  return std::abs(gap) > std::max(.1, 2 * std::sqrt(variance(ours) + variance(reference))) ? gap : 0;
}

}  // namespace

std::string compare_rates(double training, double paper_training, double test, double paper_test) {
  const std::string first = side(training, paper_training), second = side(test, paper_test);
  if (first == second)
    return first == "same" ? "same, within half a point" : "training and test error " + first;
  return fmt::format("training error {}, test error {}", first, second);
}

std::string compare_errors(double ours, double paper) {
  if (std::abs(ours - paper) < .5) return "same";
  const double gap = std::abs(ours - paper);
  return fmt::format("{:.{}f} {}", gap, gap == std::round(gap) ? 0 : 1, ours > paper ? "more" : "fewer");
}

std::string compare_bounds(const Ends& ours, const MeanSd& reference) {
  if (ours.kept.count == 0) return "diverges";
  const double gap = difference(ours.kept, reference);
  std::string words =
      gap == 0 ? "same" : fmt::format("{:.1f} {}", std::abs(gap), gap > 0 ? "above" : "below");
  if (ours.lost > 0) words += fmt::format("; {} of {} diverge", ours.lost, ours.lost + ours.kept.count);
  return words;
}

bool clearly_below(const Ends& ours, const MeanSd& reference) {
  return ours.lost > 0 || difference(ours.kept, reference) < 0;
}

std::vector<std::string> ionosphere_remarks() {
  return {
      "Time: ours is one processor core for all folds together, the paper's a 3.3 GHz i5 with Matlab; "
      "whether its figure is "
      "for one fold or for all is not said. The ratio takes the reading that is worse for us.",
      "AdaDelta: as printed, projection lets the accumulators change sign, and the rule divides by their "
      "signed roots, which "
      "has poles. On Stiefel the row S-RGD-AdaDelta keeps the magnitude of the denominator at or above "
      "sqrt(1 - beta)|g|; the "
      "last row is the rule exactly as printed, where steps that overflow are dropped.",
      "SLANG: the paper's error rates are not reproduced. With steps that decay (alpha .1, beta .5, times "
      "t^-.51, batches of "
      "32) it is as good as the others; with constant steps (.02 and .05) it ended at 3.4 % training and 9.4 "
      "% test error. The "
      "paper does not say which it used.",
      "Stiefel's factors die: d1 shrinks, B's gradient shrinks with it, and the lower bound ends at "
      "mean-field's. The share of "
      "the variance that the factors carry is in the table of lower bounds.",
      "Grassmann fixes the scale of every factor at 1 in the units of theta, and with the constant steps of "
      "the basic and "
      "momentum rules the last iterate jitters: its lower bounds lie below mean-field's although its error "
      "rates do not suffer."};
}

std::vector<std::string> simulation_remarks() {
  return {"Fixed rank does not converge, as the paper says.",
          "Stiefel: d1 shrinks towards 0, the factors die, and what is left is mean-field, whatever p is. "
          "The paper sees the same "
          "and calls it no benefit from factors.",
          "Grassmann: in the paper more factors give a better bound; here they give a worse one. Part of "
          "that is the family: "
          "every factor has unit variance in the units of theta, which costs wherever the posterior is "
          "narrower, and more with "
          "every factor. The row with decaying steps shows how much. The rest is the rule: with constant "
          "steps and one draw these "
          "factors never come to rest.",
          "How little there is to gain here, the row of Stiefel with decaying steps shows: it learns the "
          "scales, and its factors "
          "do not die."};
}

std::vector<std::string> leukemia_remarks() {
  return {
      "The result hangs on the coordinates of the horseshoe and on where log tau starts, and the paper says "
      "neither. Three "
      "choices are shown; the first is the one to compare with the paper.",
      "Non-centred (beta = xi lambda tau) from log tau = 2: tau falls from above and the fits classify well.",
      "Non-centred from log tau = 0: tau falls on towards 0 and the fits end in the mode where every "
      "coefficient is zero and "
      "every sample is called ALL. Its lower bound is the highest of the three: a better bound is not a "
      "better classifier.",
      "Centred from log tau = -7: thousands of nats lower, and Grassmann's unit factors are far too wide for "
      "coefficients of "
      "this size.",
      "Time: of one processor core, for one fit."};
}

}  // namespace magva::experiments
