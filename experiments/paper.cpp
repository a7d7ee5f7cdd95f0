#include "experiments/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace magva::experiments {

namespace {

using Figures = std::map<std::string, PaperErrors>;

std::optional<PaperErrors> look_up(const Figures& figures, const std::string& method) {
  const auto found = figures.find(method);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<PaperErrors> paper_ionosphere(const std::string& method) {
  static const Figures figures{
      {"mean-field", {.64, 7.65, 12.51}},         {"vafc", {.36, 8.22, 23.04}},
      {"slang", {7.55, 14.20, 190.93}},           {"stiefel-basic", {.36, 7.65, 25.02}},
      {"stiefel-momentum", {.43, 7.65, 24.71}},   {"stiefel-rmsprop", {.43, 7.09, 25.29}},
      {"stiefel-adadelta", {.43, 7.37, 27.27}},   {"grassmann-basic", {1.00, 7.38, 24.78}},
      {"grassmann-momentum", {.71, 7.38, 24.75}}, {"grassmann-rmsprop", {.71, 7.09, 24.43}},
      {"grassmann-adadelta", {.64, 7.09, 25.59}}};
  return look_up(figures, method);
}

std::optional<PaperErrors> paper_leukemia(const std::string& method) {
  static const Figures figures{
      {"mean-field", {0, 7, 64.08}},          {"vafc", {0, 3, 8021.71}},
      {"stiefel-basic", {0, 2, 10013.90}},    {"stiefel-momentum", {0, 2, 10031.65}},
      {"stiefel-rmsprop", {0, 2, 10011.27}},  {"stiefel-adadelta", {0, 2, 10005.28}},
      {"grassmann-basic", {0, 2, 6482.94}},   {"grassmann-momentum", {0, 2, 6438.22}},
      {"grassmann-rmsprop", {0, 3, 6590.98}}, {"grassmann-adadelta", {0, 2, 6202.85}}};
  return look_up(figures, method);
}

std::string compare_rates(const MeanSd& test, double paper_test) {
  if (test.count < 3) return "too few splits to say";
  const double gap = test.mean - paper_test;
  if (std::abs(gap) < 2 * test.sd) return "same, within two sds of splits";
  return fmt::format("{} by {:.1f} points", gap > 0 ? "higher" : "lower", std::abs(gap));
}

std::string compare_errors(double ours, double paper) {
  if (std::abs(ours - paper) < .5) return "same";
  const double gap = std::abs(ours - paper);
  return fmt::format("{:.{}f} {}", gap, gap == std::round(gap) ? 0 : 1, ours > paper ? "more" : "fewer");
}

double clear_difference(const MeanSd& ours, const MeanSd& reference) {
  const double gap = ours.mean - reference.mean;
  const double error = std::hypot(ours.standard_error(), reference.standard_error());
  return std::abs(gap) > std::max(.1, 2 * error) ? gap : 0;
}

std::string compare_bounds(const Ends& ours, const MeanSd& reference) {
  if (ours.kept.count == 0) return "diverges";
  const double gap = clear_difference(ours.kept, reference);
  const double raw = ours.kept.mean - reference.mean;
  std::string words = fmt::format("{:.1f} {}", std::abs(raw), raw > 0 ? "above" : "below");
  if (gap == 0) words = std::abs(raw) < 1 ? "same" : words + ", not clearly";
  if (ours.diverged > 0)
    words += fmt::format("; {} of {} diverge", ours.diverged, ours.diverged + ours.kept.count);
  return words;
}

}  // namespace magva::experiments
