#include <algorithm>

#include "input/design.hpp"
#include "input/design_scan.hpp"
#include "input/drop_columns.hpp"
#include "input/duplicate_columns.hpp"
#include "input/response.hpp"
#include "magva/error.hpp"

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
  const auto code = [&] {
    const UsedColumns used = used_columns(table, options);
    return code_rows(learnt.spec, table, MissingCells().add(table, used.all()), used.response, used.weights);
  };
  Design design = code();
  if (!options.weights.empty()) refuse_zero_weights(table.source, options.weights, design.weights.maxCoeff());
  const auto duplicates =
      learnt.spec.sparse() ? duplicate_columns(design.sparse_x) : duplicate_columns(design.x);
  if (!duplicates.empty()) {
    drop_duplicates(learnt.spec, duplicates);
    design = code();
  }
  note_dropped(learnt.spec, learnt.notes);
  design.notes = std::move(learnt.notes);
  return {std::move(learnt.spec), std::move(design)};
}

}  // namespace magva::input
