#include "table/design_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::table {

namespace {
struct Names {
  const std::string& column;

  std::vector<std::string> operator()(const NumberTerm&) const { return {column}; }
  std::vector<std::string> operator()(const LevelsTerm& term) const {
    std::vector<std::string> names;
    for (const Index level : term.coded)
      names.push_back(fmt::format("{}[{}]", column, term.levels[static_cast<std::size_t>(level)]));
    return names;
  }
  std::vector<std::string> operator()(const BinsTerm& term) const {
    std::vector<std::string> names;
    for (const Index bin : term.coded) names.push_back(fmt::format("{}_bin{}", column, bin + 1));
    return names;
  }
};
}  // namespace

std::vector<std::string> Term::names() const { return std::visit(Names{column}, encoding); }

std::vector<std::string> DesignSpec::names() const {
  std::vector<std::string> all = {kIntercept};
  for (const Term& term : terms)
    for (std::string& name : term.names()) all.push_back(std::move(name));
  if (features)
    for (const Index index : features->kept) all.push_back(feature_name(index));
  return all;
}

std::map<std::string, ColumnKind> DesignSpec::column_kinds() const {
  std::map<std::string, ColumnKind> kinds;
  for (const Term& term : terms)
    kinds[term.column] =
        std::holds_alternative<LevelsTerm>(term.encoding) ? ColumnKind::text : ColumnKind::number;
  kinds[response.column] = response.text ? ColumnKind::text : ColumnKind::number;
  if (!weights.empty()) kinds[weights] = ColumnKind::number;
  return kinds;
}

namespace {

using nlohmann::json;

const char* kind_name(ResponseKind kind) {
  switch (kind) {
    case ResponseKind::binary:
      return "binary";
    case ResponseKind::count:
      return "count";
    case ResponseKind::real:
      break;
  }
  return "real";
}

[[noreturn]] void fail(const std::string& fault) {
  throw DataError(fmt::format("the stored description of the design is damaged: {}", fault));
}

void require(bool holds, const std::string& fault) {
  if (!holds) fail(fault);
}

template <class T>
T get(const json& from, const char* key) {
  const auto found = from.is_object() ? from.find(key) : from.end();
  if (!from.is_object() || found == from.end()) fail(fmt::format("'{}' is missing", key));
  try {
    return found->template get<T>();
  } catch (const json::exception&) {
    fail(fmt::format("'{}' has the wrong type", key));
  }
}

std::vector<Index> get_indices(const json& from, const char* key, Index begin, Index end) {
  const json list = get<json>(from, key);
  require(list.is_array(), fmt::format("'{}' is not a list", key));
  std::vector<Index> indices;
  for (const json& item : list) {
    require(item.is_number_integer(), fmt::format("'{}' holds something that is not a whole number", key));
    require(item >= begin && item < end, fmt::format("'{}' is out of range", key));
    indices.push_back(item.get<Index>());
  }
  require(std::set<Index>(indices.begin(), indices.end()).size() == indices.size(),
          fmt::format("'{}' names something twice", key));
  return indices;
}

Index get_index(const json& from, const char* key, Index begin, Index end) {
  const json value = get<json>(from, key);
  require(value.is_number_integer() && value >= begin && value < end,
          fmt::format("'{}' is out of range", key));
  return value.get<Index>();
}

std::vector<double> get_finite(const json& from, const char* key) {
  const json list = get<json>(from, key);
  require(list.is_array(), fmt::format("'{}' is not a list", key));
  std::vector<double> values;
  for (const json& item : list) {
    require(item.is_number() && std::isfinite(item.get<double>()),
            fmt::format("'{}' holds something that is not a finite number", key));
    values.push_back(item.get<double>());
  }
  return values;
}

double get_finite_number(const json& from, const char* key) {
  const json value = get<json>(from, key);
  require(value.is_number() && std::isfinite(value.get<double>()),
          fmt::format("'{}' is not a finite number", key));
  return value.get<double>();
}

struct EncodingToJson {
  json operator()(const NumberTerm& term) const {
    return {{"kind", "number"}, {"mean", term.mean}, {"sd", term.sd}};
  }
  json operator()(const LevelsTerm& term) const {
    return {{"kind", "levels"}, {"levels", term.levels}, {"baseline", term.baseline}, {"coded", term.coded}};
  }
  json operator()(const BinsTerm& term) const {
    return {{"kind", "bins"}, {"cuts", term.cuts}, {"baseline", term.baseline}, {"coded", term.coded}};
  }
};

NumberTerm number_term(const json& from) {
  const NumberTerm term{get_finite_number(from, "mean"), get_finite_number(from, "sd")};
  require(term.sd > 0, "a standard deviation is not positive");
  return term;
}

LevelsTerm levels_term(const json& from) {
  LevelsTerm term;
  term.levels = get<std::vector<std::string>>(from, "levels");
  require(
      std::adjacent_find(term.levels.begin(), term.levels.end(), std::greater_equal<>()) == term.levels.end(),
      "levels are not sorted");
  const auto count = static_cast<Index>(term.levels.size());
  term.baseline = get_index(from, "baseline", 0, count);
  term.coded = get_indices(from, "coded", 0, count);
  return term;
}

BinsTerm bins_term(const json& from) {
  BinsTerm term;
  term.cuts = get_finite(from, "cuts");
  require(std::adjacent_find(term.cuts.begin(), term.cuts.end(), std::greater_equal<>()) == term.cuts.end(),
          "cuts do not increase");
  const auto count = static_cast<Index>(term.cuts.size()) + 1;
  term.baseline = get_index(from, "baseline", 0, count);
  term.coded = get_indices(from, "coded", 0, count);
  return term;
}

Term term_from_json(const json& from) {
  Term term;
  term.column = get<std::string>(from, "column");
  const auto kind = get<std::string>(from, "kind");
  if (kind == "number") {
    term.encoding = number_term(from);
  } else if (kind == "levels") {
    term.encoding = levels_term(from);
  } else if (kind == "bins") {
    term.encoding = bins_term(from);
  } else {
    fail(fmt::format("{} is not a kind of term", excerpt(kind)));
  }
  return term;
}

FeaturesTerm features_from_json(const json& from) {
  FeaturesTerm features;
  features.count = get_index(from, "count", 0, 2'000'000'001);
  features.kept = get_indices(from, "kept", 1, features.count + 1);
  require(std::is_sorted(features.kept.begin(), features.kept.end()), "features are not sorted");
  features.scales = get_finite(from, "scales");
  require(features.scales.size() == features.kept.size(), "not every feature has a scale");
  require(std::all_of(features.scales.begin(), features.scales.end(), [](double scale) { return scale > 0; }),
          "a scale is not positive");
  return features;
}

ResponseSpec response_from_json(const json& from) {
  ResponseSpec response;
  response.column = get<std::string>(from, "column");
  response.text = get<bool>(from, "text");
  const auto kind = get<std::string>(from, "kind");
  if (kind == "binary") {
    response.kind = ResponseKind::binary;
  } else if (kind == "count") {
    response.kind = ResponseKind::count;
  } else {
    require(kind == "real", fmt::format("{} is not a kind of response", excerpt(kind)));
  }
  response.classes = get<std::vector<std::string>>(from, "classes");
  const bool binary = response.kind == ResponseKind::binary;
  require(response.classes.size() == (binary ? 2U : 0U),
          "a binary response needs two classes, any other none");
  require(!binary || response.classes[0] != response.classes[1], "both classes have the same name");
  return response;
}

}  // namespace

json to_json(const DesignSpec& spec) {
  json terms = json::array(), dropped = json::array();
  for (const Term& term : spec.terms) {
    terms.push_back(std::visit(EncodingToJson{}, term.encoding));
    terms.back()["column"] = term.column;
  }
  for (const DroppedColumn& column : spec.dropped)
    dropped.push_back({{"name", column.name}, {"reason", column.reason}});
  const ResponseSpec& response = spec.response;
  json written = {{"response",
                   {{"column", response.column},
                    {"kind", kind_name(response.kind)},
                    {"text", response.text},
                    {"classes", response.classes}}},
                  {"weights", spec.weights},
                  {"terms", terms},
                  {"dropped", dropped}};
  if (spec.features)
    written["features"] = {
        {"count", spec.features->count}, {"kept", spec.features->kept}, {"scales", spec.features->scales}};
  return written;
}

DesignSpec design_spec_from_json(const json& from) {
  DesignSpec spec;
  spec.response = response_from_json(get<json>(from, "response"));
  spec.weights = get<std::string>(from, "weights");
  const json terms = get<json>(from, "terms");
  require(terms.is_array(), "'terms' is not a list");
  for (const json& term : terms) spec.terms.push_back(term_from_json(term));
  const json dropped = get<json>(from, "dropped");
  require(dropped.is_array(), "'dropped' is not a list");
  for (const json& column : dropped)
    spec.dropped.push_back({get<std::string>(column, "name"), get<std::string>(column, "reason")});
  if (from.contains("features")) spec.features = features_from_json(from["features"]);
  return spec;
}

}  // namespace magva::table
