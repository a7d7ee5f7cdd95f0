#include <algorithm>

#include "magva/error.hpp"
#include "table/design.hpp"
#include "table/design_scan.hpp"
#include "table/drop_columns.hpp"
#include "table/duplicate_columns.hpp"

namespace magva::input {

std::vector<std::string> DesignOptions::problems() const {
  std::vector<std::string> found;
  if (discretise == Discretise::mdlp && kind != ResponseKind::binary)
    found.emplace_back("discretise: MDLP needs a response with two classes");
  if (!positive_class.empty() && kind != ResponseKind::binary)
    found.emplace_back("positive_class: only a response with two classes has one");
  if (!weights.empty() && weights == response)
    found.emplace_back("weights: the response cannot be the weights too");
  if (std::find(excluded.begin(), excluded.end(), response) != excluded.end() && !response.empty())
    found.emplace_back("excluded: the response cannot be excluded");
  if (max_levels < 2) found.emplace_back("max_levels: must be at least 2");
  return found;
}

LearntDesign learn_design(const Table& table, const DesignOptions& options) {
  const auto problems = options.problems();
  if (!problems.empty()) throw UsageError(problems.front());
  DesignScan scan(options);
  scan.add(table);
  LearntSpec learnt = scan.finish(options.kind);
  Design design = apply(learnt.spec, table, options.missing);
  const auto duplicates =
      learnt.spec.sparse() ? duplicate_columns(design.sparse_x) : duplicate_columns(design.x);
  if (!duplicates.empty()) {
    drop_duplicates(learnt.spec, duplicates);
    design = apply(learnt.spec, table, options.missing);
  }
  note_dropped(learnt.spec, learnt.notes);
  design.notes = std::move(learnt.notes);
  return {std::move(learnt.spec), std::move(design)};
}

}  // namespace magva::input
