#include "source/convert_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"
#include "results/store.hpp"
#include "source/choose_model.hpp"
#include "source/design_options.hpp"
#include "source/read_options.hpp"
#include "source/recipe.hpp"
#include "source/refuse_options.hpp"
#include "table/design_file_writer.hpp"
#include "table/design_scan.hpp"
#include "table/drop_columns.hpp"
#include "table/read_table.hpp"
#include "table/response.hpp"
#include "table/table_parts.hpp"
#include "version.hpp"

namespace magva::source {

namespace {

using input::Table;

std::unique_ptr<input::TableParts> parts_of(const options::Values& values, input::ReadOptions reading) {
  const std::string& file = values.arguments.at(0);
  const bool in_memory = file == "-" || values.text("discretise") == "mdlp";
  if (!in_memory) return input::csv_file_parts(file, reading);
  Table table = input::read_table(file, reading);
  if (table.features)
    throw DataError(fmt::format("{} is a LIBSVM file: fit it as it is", input::source_name(file)));
  return input::whole_table(std::move(table));
}

class Conversion {
 public:
  explicit Conversion(const options::Values& values) : values_(values) {
    header_.made_by = fmt::format("magva {}", version());
    header_.element = element(values);
    header_.source.file = values.arguments.at(0);
  }

  /// The first time through: learns the coding, or takes that of a fit, and counts the rows.
  void learn() {
    if (!values_.given("response"))
      throw UsageError("no response is named: choose the column that is to be explained with --response");
    parts_ = parts_of(values_, read_options(values_));
    input::DesignScan scan(design_options(values_, values_.text("response")));
    parts_->for_each([&](const Table& part) {
      scan.add(part);
      header_.source.rows += part.rows;
      header_.source.columns = static_cast<Index>(part.columns.size());
    });
    std::string model = values_.text("model");
    if (model == "auto") {
      ModelChoice choice = choose_model(scan.response_column(), scan.response());
      model = choice.model;
      header_.notes.push_back(std::move(choice.reason));
    }
    input::LearntSpec learnt = scan.finish(response_kind(model));
    header_.spec = std::move(learnt.spec);
    header_.rows = learnt.rows;
    notes_ = std::move(learnt.notes);
    count_again_ = learnt.rows < header_.source.rows;
  }

  void take_from_fit() {
    refuse_options(values_,
                   {"response", "model", "weights", "column", "exclude", "positive", "standardise",
                    "discretise", "text"},
                   "with --like: the fit says how rows are coded");
    const Recipe recipe = recipe_from_json(results::load_fit(values_.text("like")).model, "model.json");
    if (recipe.spline || recipe.design.sparse())
      throw UsageError("--like needs a fit to a dense design of columns");
    header_.spec = recipe.design;
    input::ReadOptions reading = read_options(values_);
    reading.column_kinds = header_.spec.column_kinds();
    parts_ = parts_of(values_, std::move(reading));
    count_again_ = true;
  }

  /// The second time, and a third where columns turn out to be equal.
  Converted write() {
    header_.weighted = !header_.spec.weights.empty();
    for (;;) {
      if (count_again_) count_rows();
      header_.source.sha256 = parts_->sha256();
      design_file::Header header = header_;
      header.notes.insert(header.notes.end(), notes_.begin(), notes_.end());
      input::note_dropped(header.spec, header.notes);
      Converted done{header.notes, header.rows, header.columns()};
      design_file::Writer writer(values_.text("out"), std::move(header));
      fill(writer);
      const auto duplicates = values_.given("like") ? std::vector<input::Duplicate>() : writer.duplicates();
      if (duplicates.empty()) {
        writer.commit();
        return done;
      }
      input::drop_duplicates(header_.spec, duplicates);
    }
  }

 private:
  /// The rows that are complete in what is left of the columns: a cell that is missing in a dropped one does
  /// not matter.
  void count_rows() {
    input::MissingCells missing;
    std::string source;
    header_.source.rows = 0;
    parts_->for_each([&](const Table& part) {
      missing.add(part, input::used_columns(part, header_.spec).all());
      source = part.source;
      header_.source.rows += part.rows;
      header_.source.columns = static_cast<Index>(part.columns.size());
    });
    std::vector<std::string> ignored;
    missing.settle(source, missing_policy(values_), ignored);
    header_.rows = missing.complete();
  }

  void fill(design_file::Writer& writer) {
    double largest_weight = 0;
    std::string source;
    parts_->for_each([&](const Table& part) {
      source = part.source;
      const input::UsedColumns used = input::used_columns(part, header_.spec);
      const input::Design rows = input::code_rows(
          header_.spec, part, input::MissingCells().add(part, used.all()), used.response, used.weights);
      if (rows.weights.size() > 0) largest_weight = std::max(largest_weight, rows.weights.maxCoeff());
      writer.append(rows);
    });
    if (header_.weighted) input::refuse_zero_weights(source, header_.spec.weights, largest_weight);
  }

  const options::Values& values_;
  std::unique_ptr<input::TableParts> parts_;
  design_file::Header header_;
  std::vector<std::string> notes_;
  bool count_again_ = false;  ///< the rows, whenever the columns change
};

}  // namespace

Converted convert_table(const options::Values& values) {
  Conversion conversion(values);
  if (values.given("like"))
    conversion.take_from_fit();
  else
    conversion.learn();
  return conversion.write();
}

}  // namespace magva::source
