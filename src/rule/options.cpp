#include "magva/algorithm1.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "magva/error.hpp"

namespace magva {

namespace {

constexpr std::array kRules = {
    std::pair{RuleKind::kBasic, "basic"},
    std::pair{RuleKind::kMomentum, "momentum"},
    std::pair{RuleKind::kRmsprop, "rmsprop"},
    std::pair{RuleKind::kAdadelta, "adadelta"},
    std::pair{RuleKind::kRmspropGuarded, "rmsprop-guarded"},
    std::pair{RuleKind::kAdadeltaGuarded, "adadelta-guarded"},
    std::pair{RuleKind::kRmspropStable, "rmsprop-stable"},
    std::pair{RuleKind::kAdadeltaStable, "adadelta-stable"},
    std::pair{RuleKind::kAdam, "adam"},
};

}  // namespace

std::vector<std::string> RuleOptions::validate(std::string_view field) const {
  std::vector<std::string> found;
  const auto require = [&](bool fine, const char* member, double value, const char* rule) {
    if (!fine) found.push_back(fmt::format("{}.{} is {} and must be {}", field, member, value, rule));
  };
  require(step > 0 && step < 1e6, "step", step, "positive and finite");
  require(decay >= 0 && decay < 1, "decay", decay, "in [0, 1)");
  require(momentum >= 0 && momentum < 1, "momentum", momentum, "in [0, 1)");
  require(epsilon > 0 && epsilon < 1, "epsilon", epsilon, "in (0, 1)");
  require(guard >= 0 && guard <= 1, "guard", guard, "in [0, 1]");
  return found;
}

RuleOptions rule_defaults(RuleKind kind) {
  RuleOptions options;
  options.kind = kind;
  if (kind == RuleKind::kRmspropGuarded || kind == RuleKind::kAdadeltaGuarded) options.guard = 1;
  if (kind == RuleKind::kAdam) {
    options.step = .01;
    options.decay = .999;
    options.epsilon = 1e-8;
  }
  return options;
}

const char* name(RuleKind kind) {
  for (const auto& [k, text] : kRules)
    if (k == kind) return text;
  return "unknown";
}

RuleKind parse_rule(std::string_view text) {
  std::string all;
  for (const auto& [kind, known] : kRules) {
    if (text == known) return kind;
    all += all.empty() ? known : fmt::format(", {}", known);
  }
  throw UsageError(fmt::format("there is no rule '{}': choose one of {}", text, all));
}

}  // namespace magva
