#include "table/drop_columns.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "table/message.hpp"

namespace magva::input {

namespace {

void remove_features(FeaturesTerm& term, const std::set<std::string>& names) {
  FeaturesTerm kept;
  kept.count = term.count;
  for (std::size_t i = 0; i < term.kept.size(); ++i) {
    if (names.contains(feature_name(term.kept[i]))) continue;
    kept.kept.push_back(term.kept[i]);
    kept.scales.push_back(term.scales[i]);
  }
  term = std::move(kept);
}

/// Takes columns of the design, by name, out of the specification.
void remove(DesignSpec& spec, const std::set<std::string>& names) {
  for (Term& term : spec.terms) {
    const std::vector<std::string> own = term.names();
    const auto keep_others = [&](std::vector<Index>& coded) {
      std::vector<Index> kept;
      for (std::size_t k = 0; k < coded.size(); ++k)
        if (!names.contains(own[k])) kept.push_back(coded[k]);
      coded = std::move(kept);
    };
    if (auto* bins = std::get_if<BinsTerm>(&term.coding)) keep_others(bins->coded);
    if (auto* levels = std::get_if<LevelsTerm>(&term.coding)) keep_others(levels->coded);
  }
  std::erase_if(spec.terms, [&](const Term& term) {
    const bool number = std::holds_alternative<NumberTerm>(term.coding);
    return number ? names.contains(term.column) : term.names().empty();
  });
  if (spec.features) remove_features(*spec.features, names);
}

}  // namespace

void drop_duplicates(DesignSpec& spec, const std::vector<Duplicate>& duplicates) {
  const std::vector<std::string> names = spec.names();
  std::set<std::string> dropped;
  for (const Duplicate& duplicate : duplicates) {
    const std::string& name = names[static_cast<std::size_t>(duplicate.column)];
    const std::string& kept = names[static_cast<std::size_t>(duplicate.same_as)];
    dropped.insert(name);
    spec.dropped.push_back({name, fmt::format("equals {}", excerpt(kept))});
  }
  if (!dropped.empty()) remove(spec, dropped);
}

void note_dropped(const DesignSpec& spec, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> names_by_reason;
  for (const DroppedColumn& column : spec.dropped) names_by_reason[column.reason].push_back(column.name);
  for (const auto& [reason, dropped] : names_by_reason)
    notes.push_back(fmt::format("dropped {} ({})", name_list(dropped, 10), reason));
  if (spec.names().size() == 1) notes.emplace_back("no predictor is left: the model has an intercept alone");
}

}  // namespace magva::input
