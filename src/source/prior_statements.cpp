#include "source/prior_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::source {

namespace {

using formula::Node;
using formula::NodeKind;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// A distribution with its arguments.
struct PriorCall {
  std::string name;
  std::vector<double> arguments;
};

class Statement {
 public:
  explicit Statement(const std::string& text) : text_(text) {
    const auto tilde = text.find('~');
    if (tilde == std::string::npos) fail("write it as parameter ~ distribution(arguments)");
    parameter_ = trimmed(text.substr(0, tilde));
    if (parameter_.empty()) fail("there is no parameter before '~'");
    call_ = read_call(trimmed(text.substr(tilde + 1)));
  }

  const std::string& parameter() const { return parameter_; }
  const PriorCall& call() const { return call_; }

  [[noreturn]] void fail(const std::string& reason) const {
    throw UsageError(fmt::format("the prior '{}' cannot be used: {}", text_, reason));
  }

  void require_arguments(std::size_t count, const char* usage) const {
    if (call_.arguments.size() != count) fail(fmt::format("write {}", usage));
  }

 private:
  PriorCall read_call(const std::string& text) const {
    Node node;
    try {
      node = formula::parse_expression(text);
    } catch (const formula::FormulaError& error) {
      fail("after '~' there must be a distribution, such as normal(0, 1)");
    }
    if (node.kind != NodeKind::call) fail("after '~' there must be a distribution, such as normal(0, 1)");
    PriorCall call{node.name, {}};
    for (const Node& argument : node.children) call.arguments.push_back(number(argument));
    return call;
  }

  double number(const Node& node) const {
    if (node.kind == NodeKind::number) return node.value;
    if (node.kind == NodeKind::negate && node.children[0].kind == NodeKind::number)
      return -node.children[0].value;
    if (node.kind == NodeKind::name && (node.name == "inf" || node.name == "Inf")) return INFINITY;
    fail("the arguments of a distribution are numbers");
  }

  const std::string& text_;
  std::string parameter_;
  PriorCall call_;
};

/// Location, scale and degrees of freedom of a coefficient's prior.
struct CoefficientStatement {
  double location, scale, degrees;
};

CoefficientStatement coefficient_prior(const Statement& statement) {
  const PriorCall& call = statement.call();
  const auto& at = call.arguments;
  CoefficientStatement out{0, 1, INFINITY};
  if (call.name == "normal") {
    statement.require_arguments(2, "normal(mean, sd)");
    out = {at[0], at[1], INFINITY};
  } else if (call.name == "student_t") {
    statement.require_arguments(3, "student_t(degrees of freedom, location, scale)");
    out = {at[1], at[2], at[0]};
  } else if (call.name == "cauchy") {
    statement.require_arguments(2, "cauchy(location, scale)");
    out = {at[0], at[1], 1};
  } else {
    statement.fail("a coefficient's prior is normal, student_t, cauchy, horseshoe or regularised_horseshoe");
  }
  if (!(out.scale > 0) || !std::isfinite(out.scale) || !std::isfinite(out.location) || !(out.degrees > 0))
    statement.fail("the scale and the degrees of freedom must be positive");
  return out;
}

PositivePrior positive_prior_of(const Statement& statement) {
  const PriorCall& call = statement.call();
  const auto& at = call.arguments;
  for (const double value : at)
    if (!(value >= 0) || !std::isfinite(value)) statement.fail("the arguments must be positive numbers");
  const auto half_student = [&](double degrees, double location, double scale) {
    if (location != 0) statement.fail("a positive parameter's prior is cut at 0, so its location must be 0");
    return PositivePrior::half_student_t(degrees, scale);
  };
  if (call.name == "exponential" && at.size() == 1) return PositivePrior::exponential(at[0]);
  if (call.name == "gamma" && at.size() == 2) return PositivePrior::gamma(at[0], at[1]);
  if (call.name == "inv_gamma" && at.size() == 2) return PositivePrior::inverse_gamma(at[0], at[1]);
  if (call.name == "student_t" && at.size() == 3) return half_student(at[0], at[1], at[2]);
  if (call.name == "cauchy" && at.size() == 2) return half_student(1, at[0], at[1]);
  statement.fail(
      "a positive parameter's prior is exponential(rate), gamma(shape, rate), inv_gamma(shape, scale), "
      "student_t(degrees of freedom, 0, scale) or cauchy(0, scale)");
}

bool is_horseshoe(const std::string& name) {
  return name == "horseshoe" || name == "regularised_horseshoe" || name == "regularized_horseshoe";
}

/// Applies statements to one model.
class PriorEditor {
 public:
  explicit PriorEditor(FormulaModel& model) : model_(model), names_(model.design.names()) {}

  void apply(const std::string& text) {
    const Statement statement(text);
    if (!set_own(statement) && !set_groups(statement) && !set_coefficients(statement))
      statement.fail(fmt::format("there is no such parameter{}; the coefficients are {}",
                                 table::suggestion(statement.parameter(), known()),
                                 table::name_list(names_, 10)));
  }

 private:
  std::vector<std::string> known() const {
    std::vector<std::string> all = names_;
    for (const OwnParameter& own : model_.own) all.push_back(own.name);
    if (model_.grouped()) all.insert(all.end(), {"sd", "cor"});
    return all;
  }

  bool set_own(const Statement& statement) {
    for (OwnParameter& own : model_.own)
      if (own.name == statement.parameter()) {
        own.prior = positive_prior_of(statement);
        return true;
      }
    return false;
  }

  bool set_groups(const Statement& statement) {
    const std::string& parameter = statement.parameter();
    if (!model_.grouped()) return false;
    if (parameter == "cor") {
      statement.require_arguments(1, "cor ~ lkj(shape)");
      if (statement.call().name != "lkj" || !(statement.call().arguments[0] > 0))
        statement.fail("the prior of correlations is lkj(shape) with a positive shape");
      model_.lkj = statement.call().arguments[0];
      return true;
    }
    bool found = false;
    for (std::size_t t = 0; t < model_.design.groups.size(); ++t) {
      const auto effects = model_.design.names(model_.design.groups[t].effects);
      for (std::size_t k = 0; k < effects.size(); ++k) {
        const std::string effect = effects[k] == table::kIntercept ? "Intercept" : effects[k];
        if (parameter != "sd" && parameter != fmt::format("sd({})", model_.design.groups[t].name) &&
            parameter != fmt::format("sd({}: {})", model_.design.groups[t].name, effect))
          continue;
        const PositivePrior prior = positive_prior_of(statement);
        if (prior.kind() != PositivePrior::Kind::half_student_t || prior.shape() != 3)
          statement.fail("the prior of a group's sd is student_t(3, 0, scale)");
        model_.sd_scales[t](static_cast<Index>(k)) = prior.scale();
        found = true;
      }
    }
    return found;
  }

  bool set_coefficients(const Statement& statement) {
    const std::vector<Index> columns = columns_named(statement.parameter());
    if (columns.empty()) return false;
    if (is_horseshoe(statement.call().name)) {
      set_horseshoe(statement, columns);
      return true;
    }
    const CoefficientStatement prior = coefficient_prior(statement);
    for (const Index j : columns) {
      model_.priors.location(j) = prior.location * model_.design.scale(j);
      model_.priors.scale(j) = prior.scale * model_.design.scale(j);
      model_.priors.degrees_of_freedom(j) = prior.degrees;
    }
    return true;
  }

  /// Its scales are those of standardised predictors.
  void set_horseshoe(const Statement& statement, const std::vector<Index>& columns) {
    const auto& at = statement.call().arguments;
    FormulaModel::Horseshoe horseshoe{columns.front(), static_cast<Index>(columns.size()), 1, std::nullopt};
    if (columns.back() - columns.front() + 1 != horseshoe.count || columns.front() == 0)
      statement.fail(
          "a horseshoe shrinks neighbouring coefficients without the intercept, such as 'coefficients'");
    for (const double value : at)
      if (!(value > 0) || !std::isfinite(value)) statement.fail("its scales must be positive");
    if (!at.empty()) horseshoe.global_scale = at[0];
    const bool regularised = statement.call().name != "horseshoe";
    if (at.size() > (regularised ? 2U : 1U))
      statement.fail("write horseshoe(global scale) or regularised_horseshoe(global scale, slab scale)");
    if (regularised) horseshoe.slab_scale = at.size() > 1 ? at[1] : 2.5;
    model_.horseshoes.push_back(horseshoe);
  }

  /// A coefficient by its name, all levels of a factor, or all but the intercept.
  std::vector<Index> columns_named(const std::string& parameter) const {
    std::vector<Index> columns;
    for (std::size_t j = 0; j < names_.size(); ++j) {
      const bool intercept = names_[j] == table::kIntercept;
      const bool named = names_[j] == parameter || (intercept && parameter == "Intercept") ||
                         (!intercept && parameter == "coefficients") ||
                         (names_[j].starts_with(parameter + "[") && names_[j].find(':') == std::string::npos);
      if (named) columns.push_back(static_cast<Index>(j));
    }
    return columns;
  }

  FormulaModel& model_;
  std::vector<std::string> names_;
};

}  // namespace

bool wants_horseshoe(const std::vector<std::string>& statements) {
  return std::any_of(statements.begin(), statements.end(),
                     [](const std::string& text) { return is_horseshoe(Statement(text).call().name); });
}

void apply_priors(const std::vector<std::string>& statements, FormulaModel& model) {
  PriorEditor editor(model);
  for (const std::string& statement : statements) editor.apply(statement);
}

}  // namespace magva::source
