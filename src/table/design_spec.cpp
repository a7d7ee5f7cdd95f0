#include "table/design_spec.hpp"

#include <fmt/format.h>

namespace magva::input {

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

std::vector<std::string> Term::names() const { return std::visit(Names{column}, coding); }

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
        std::holds_alternative<LevelsTerm>(term.coding) ? ColumnKind::text : ColumnKind::number;
  kinds[response.column] = response.text ? ColumnKind::text : ColumnKind::number;
  if (!weights.empty()) kinds[weights] = ColumnKind::number;
  return kinds;
}

}  // namespace magva::input
