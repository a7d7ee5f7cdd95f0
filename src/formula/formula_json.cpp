// A learnt formula as JSON. Expressions are stored as R text, in which numbers read back to the same numbers.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "formula/arithmetic.hpp"
#include "magva/formula_design.hpp"

namespace magva::formula {

namespace {

using nlohmann::json;

void require(bool holds, const char* fault) {
  if (!holds) throw DataError(fmt::format("the stored formula is damaged: {}", fault));
}

Node expression_from(const json& text) {
  const auto written = text.get<std::string>();
  Node node = parse_expression(written);
  check_arithmetic(node, written);
  return node;
}

Vector vector_from(const json& from) {
  const auto values = from.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

json to_json(const Variable& variable) {
  json out = {{"name", variable.name}};
  if (const auto* number = std::get_if<NumberVariable>(&variable.encoding)) {
    out["kind"] = "number";
    out["expression"] = to_string(number->expression);
  } else if (const auto* polynomial = std::get_if<PolynomialVariable>(&variable.encoding)) {
    out["kind"] = "polynomial";
    out["expression"] = to_string(polynomial->expression);
    out["degree"] = polynomial->degree;
    out["raw"] = polynomial->raw;
    out["alpha"] = polynomial->alpha;
    out["norm2"] = polynomial->norm2;
  } else {
    const auto& factor = std::get<FactorVariable>(variable.encoding);
    out["kind"] = "factor";
    out["column"] = factor.column;
    out["text"] = factor.text;
    out["levels"] = factor.levels;
    out["base"] = factor.base;
  }
  return out;
}

PolynomialVariable polynomial_from(const json& from) {
  PolynomialVariable out{expression_from(from.at("expression")), from.at("degree"), from.at("raw"),
                         from.at("alpha"), from.at("norm2")};
  require(out.degree >= 1 && out.degree <= 20, "a polynomial's degree is out of range");
  const auto degree = static_cast<std::size_t>(out.degree);
  require(out.raw || (out.alpha.size() == degree && out.norm2.size() == degree + 2),
          "a polynomial has the wrong number of coefficients");
  for (const double norm : out.norm2) require(norm > 0, "a polynomial's norm is not positive");
  return out;
}

Variable variable_from(const json& from) {
  Variable out;
  out.name = from.at("name");
  const auto kind = from.at("kind").get<std::string>();
  if (kind == "number") {
    out.encoding = NumberVariable{expression_from(from.at("expression"))};
  } else if (kind == "polynomial") {
    out.encoding = polynomial_from(from);
  } else {
    require(kind == "factor", "a variable has an unknown kind");
    FactorVariable factor{from.at("column"), from.at("text"), from.at("levels"), from.at("base")};
    require(factor.levels.size() >= 2, "a factor has fewer than two levels");
    require(factor.base >= 0 && factor.base < static_cast<Index>(factor.levels.size()),
            "a factor's base is out of range");
    out.encoding = std::move(factor);
  }
  return out;
}

json to_json(const ColumnSet& columns) {
  json terms = json::array();
  for (const auto& term : columns.terms) {
    json coded = json::array();
    for (const CodedVariable& variable : term)
      coded.push_back({{"variable", variable.variable}, {"all_levels", variable.all_levels}});
    terms.push_back(std::move(coded));
  }
  return {{"intercept", columns.intercept}, {"terms", std::move(terms)}, {"left_out", columns.left_out}};
}

constexpr Index kMostColumns = 10'000'000;

ColumnSet columns_from(const json& from, const std::vector<Variable>& variables) {
  ColumnSet out;
  out.intercept = from.at("intercept");
  out.left_out = from.at("left_out").get<std::vector<Index>>();
  double all = 0;
  for (const json& term : from.at("terms")) {
    std::vector<CodedVariable> coded;
    double columns = 1;
    for (const json& variable : term) {
      coded.push_back({variable.at("variable").get<std::size_t>(), variable.at("all_levels").get<bool>()});
      require(coded.back().variable < variables.size(), "a term has an unknown variable");
      const auto* factor = std::get_if<FactorVariable>(&variables[coded.back().variable].encoding);
      columns *= factor != nullptr ? static_cast<double>(factor->levels.size()) : 20.0;
    }
    require(!coded.empty(), "a term has no variables");
    all += columns;
    require(all < static_cast<double>(kMostColumns), "there are too many columns");
    out.terms.push_back(std::move(coded));
  }
  for (const Index column : out.left_out) require(column >= 0, "a column that is left out is out of range");
  return out;
}

const char* name(ResponseForm form) {
  switch (form) {
    case ResponseForm::successes:
      return "successes";
    case ResponseForm::counts:
      return "counts";
    case ResponseForm::survival:
      return "survival";
    case ResponseForm::values:
      break;
  }
  return "values";
}

const char* name(ResponseType type) {
  switch (type) {
    case ResponseType::count:
      return "count";
    case ResponseType::two_classes:
      return "two classes";
    case ResponseType::classes:
      return "classes";
    case ResponseType::number:
      break;
  }
  return "number";
}

template <class Enum>
Enum named(const std::string& text, std::initializer_list<Enum> values) {
  for (const Enum value : values)
    if (text == name(value)) return value;
  throw DataError("the stored formula is damaged: the response has an unknown kind");
}

FormulaResponse response_from(const json& from) {
  FormulaResponse out;
  out.form = named<ResponseForm>(from.at("form"), {ResponseForm::values, ResponseForm::successes,
                                                   ResponseForm::counts, ResponseForm::survival});
  out.type = named<ResponseType>(from.at("type"), {ResponseType::number, ResponseType::count,
                                                   ResponseType::two_classes, ResponseType::classes});
  out.name = from.at("name");
  out.first = expression_from(from.at("first"));
  out.second = expression_from(from.at("second"));
  out.text = from.at("text");
  require(!out.text || out.first.kind == NodeKind::name, "a text response is no column");
  out.classes = from.at("classes").get<std::vector<std::string>>();
  const bool survival = out.form == ResponseForm::survival;
  require(!survival || out.classes.size() == 2, "a status needs two values");
  for (const std::string& text : out.classes) require(!survival || !text.empty(), "a status has no name");
  return out;
}

}  // namespace

json to_json(const FormulaSpec& spec) {
  json out = {{"formula", spec.formula},
              {"weights", spec.weights},
              {"response",
               {{"form", name(spec.response.form)},
                {"type", name(spec.response.type)},
                {"name", spec.response.name},
                {"first", to_string(spec.response.first)},
                {"second", to_string(spec.response.second)},
                {"text", spec.response.text},
                {"classes", spec.response.classes}}},
              {"fixed", to_json(spec.fixed)},
              {"variables", json::array()},
              {"offsets", json::array()},
              {"smooths", json::array()},
              {"groups", json::array()},
              {"dropped", json::array()},
              {"centre", std::vector<double>(spec.centre.begin(), spec.centre.end())},
              {"scale", std::vector<double>(spec.scale.begin(), spec.scale.end())}};
  for (const Variable& variable : spec.variables) out["variables"].push_back(to_json(variable));
  for (const Node& offset : spec.offsets) out["offsets"].push_back(to_string(offset));
  for (const SmoothSpec& smooth : spec.smooths)
    out["smooths"].push_back(
        {{"name", smooth.name},
         {"expression", to_string(smooth.expression)},
         {"functions", smooth.functions},
         {"lower", smooth.lower},
         {"upper", smooth.upper},
         {"transform",
          std::vector<double>(smooth.transform.data(), smooth.transform.data() + smooth.transform.size())},
         {"means", std::vector<double>(smooth.means.begin(), smooth.means.end())}});
  for (const GroupSpec& group : spec.groups)
    out["groups"].push_back({{"name", group.name},
                             {"columns", group.columns},
                             {"text", group.text},
                             {"levels", group.levels},
                             {"effects", to_json(group.effects)},
                             {"correlated", group.correlated}});
  for (const table::DroppedColumn& column : spec.dropped)
    out["dropped"].push_back({{"name", column.name}, {"reason", column.reason}});
  return out;
}

namespace {

void read_smooths(const json& from, FormulaSpec& spec) {
  for (const json& item : from) {
    SmoothSpec smooth{item.at("name"),
                      expression_from(item.at("expression")),
                      item.at("functions"),
                      item.at("lower"),
                      item.at("upper"),
                      {},
                      vector_from(item.at("means"))};
    const Vector transform = vector_from(item.at("transform"));
    require(smooth.functions >= 5 && smooth.functions <= 1000,
            "a smooth term has too few or too many functions");
    require(std::isfinite(smooth.upper - smooth.lower) && smooth.lower < smooth.upper,
            "a smooth term's range is empty");
    require(smooth.means.size() > 0, "a smooth term has no columns");
    require(transform.size() == smooth.functions * smooth.means.size(),
            "a smooth term's columns do not fit its functions");
    smooth.transform = Eigen::Map<const Matrix>(transform.data(), smooth.functions, smooth.means.size());
    spec.smooths.push_back(std::move(smooth));
  }
}

void read_groups(const json& from, FormulaSpec& spec) {
  for (const json& item : from) {
    GroupSpec group;
    group.name = item.at("name");
    group.columns = item.at("columns").get<std::vector<std::string>>();
    group.text = item.at("text").get<std::vector<bool>>();
    group.levels = item.at("levels").get<std::vector<std::string>>();
    group.effects = columns_from(item.at("effects"), spec.variables);
    group.correlated = item.at("correlated");
    require(!group.columns.empty() && group.text.size() == group.columns.size(), "a group has no columns");
    spec.groups.push_back(std::move(group));
  }
}

}  // namespace

FormulaSpec formula_spec_from_json(const json& from) {
  try {
    FormulaSpec spec;
    spec.formula = from.at("formula");
    spec.weights = from.at("weights");
    spec.response = response_from(from.at("response"));
    for (const json& variable : from.at("variables")) spec.variables.push_back(variable_from(variable));
    spec.fixed = columns_from(from.at("fixed"), spec.variables);
    for (const json& offset : from.at("offsets")) spec.offsets.push_back(expression_from(offset));
    read_smooths(from.at("smooths"), spec);
    read_groups(from.at("groups"), spec);
    for (const json& column : from.at("dropped"))
      spec.dropped.push_back({column.at("name").get<std::string>(), column.at("reason").get<std::string>()});
    spec.centre = vector_from(from.at("centre"));
    spec.scale = vector_from(from.at("scale"));
    const Index columns = static_cast<Index>(spec.names().size()) + spec.smooth_columns();
    require(spec.centre.size() == columns && spec.scale.size() == columns,
            "the centre does not fit the columns");
    require((spec.scale.array() > 0).all(), "a scale is not positive");
    return spec;
  } catch (const json::exception& error) {
    throw DataError(fmt::format("the stored formula is damaged: {}", error.what()));
  } catch (const FormulaError& error) {
    throw DataError(fmt::format("the stored formula is damaged: {}", error.what()));
  }
}

}  // namespace magva::formula
