// From a table to a design file, some rows at a time.
#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"
#include "magva/version.hpp"
#include "source/model_spec.hpp"
#include "table/design_file.hpp"
#include "table/duplicate_columns.hpp"
#include "table/learn_design.hpp"
#include "table/read_table.hpp"
#include "table/response.hpp"

namespace magva::source {

namespace {

using table::Table;

std::unique_ptr<table::TableParts> parts_of(const ConvertOptions& options,
                                            const table::ReadOptions& reading) {
  const bool in_memory = options.design.discretise == table::Discretise::mdlp;
  if (!in_memory) return table::csv_file_parts(options.file, reading);
  Table table = table::read_table(options.file, reading);
  if (table.features)
    throw DataError(fmt::format("{} is a LIBSVM file: fit it as it is", table::source_name(options.file)));
  return table::whole_table(std::move(table));
}

class Conversion {
 public:
  explicit Conversion(const ConvertOptions& options) : options_(options) {
    header_.made_by = fmt::format("magva {}", version());
    header_.element =
        options.single_precision ? design_file::Element::float32 : design_file::Element::float64;
    header_.source.file = options.file;
  }

  /// The first time through the table: learns the encoding and counts the rows.
  void learn() {
    if (options_.design.response.empty())
      throw UsageError("no response is named: choose the column that is to be explained with --response");
    parts_ = parts_of(options_, options_.reading);
    table::DesignScan scan(options_.design);
    parts_->for_each([&](const Table& part) {
      scan.add(part);
      count_source(part);
    });
    table::LearntSpec learnt = scan.finish(chosen_kind(scan));
    header_.spec = std::move(learnt.spec);
    notes_ = std::move(learnt.notes);
    // A cell that is missing in a column that was dropped since does not matter.
    if (learnt.rows == header_.source.rows)
      header_.rows = learnt.rows;
    else
      count_rows();
  }

  /// The same with the encoding of an earlier fit.
  void take(const table::DesignSpec& spec) {
    if (spec.sparse()) throw UsageError("only the encoding of a dense design of columns can be used again");
    header_.spec = spec;
    table::ReadOptions reading = options_.reading;
    reading.column_kinds = spec.column_kinds();
    parts_ = parts_of(options_, reading);
    count_rows();
  }

  /// The second time through.
  Converted write() {
    header_.source.sha256 = parts_->sha256();
    design_file::Writer writer(options_.out, full_header());
    encode_into(writer);
    const auto duplicates = options_.like ? std::vector<table::Duplicate>() : writer.duplicates();
    if (duplicates.empty()) return commit(writer);
    const Index rows_before = header_.rows;
    table::drop_duplicates(header_.spec, duplicates);
    if (rows_before < header_.source.rows) count_rows();
    design_file::Writer without(options_.out, full_header());
    if (header_.rows == rows_before)
      writer.for_each_part([&](table::EncodedRows part) {
        table::drop_duplicates(part, duplicates);
        without.append(part);
      });
    else
      encode_into(without);
    return commit(without);
  }

 private:
  table::ResponseKind chosen_kind(const table::DesignScan& scan) {
    if (options_.model) return response_kind(*options_.model);
    table::ResponseChoice choice = table::choose_response_kind(scan.response_column(), scan.response());
    header_.notes.push_back(std::move(choice.reason));
    return choice.kind;
  }

  void count_source(const Table& part) {
    header_.source.rows += part.rows;
    header_.source.columns = static_cast<Index>(part.columns.size());
  }

  /// The rows that are complete in the columns that are used.
  void count_rows() {
    table::MissingCells missing;
    std::string source;
    header_.source.rows = 0;
    parts_->for_each([&](const Table& part) {
      missing.add(part, table::used_columns(part, header_.spec).all());
      source = part.source;
      count_source(part);
    });
    std::vector<std::string> ignored;
    missing.finalize(source, options_.design.missing, ignored);
    header_.rows = missing.complete();
  }

  design_file::Header full_header() const {
    design_file::Header header = header_;
    header.weighted = !header.spec.weights.empty();
    header.notes.insert(header.notes.end(), notes_.begin(), notes_.end());
    table::note_dropped(header.spec, header.notes);
    return header;
  }

  void encode_into(design_file::Writer& writer) {
    double largest_weight = 0;
    std::string source;
    parts_->for_each([&](const Table& part) {
      source = part.source;
      const table::UsedColumns used = table::used_columns(part, header_.spec);
      const table::EncodedRows rows = table::encode_rows(
          header_.spec, part, table::MissingCells().add(part, used.all()), used.response, used.weights);
      if (rows.weights.size() > 0) largest_weight = std::max(largest_weight, rows.weights.maxCoeff());
      writer.append(rows);
    });
    if (!header_.spec.weights.empty())
      table::check_weights_not_all_zero(source, header_.spec.weights, largest_weight);
  }

  Converted commit(design_file::Writer& writer) const {
    writer.commit();
    const design_file::Header header = full_header();
    return {header.notes, header.rows, header.columns()};
  }

  const ConvertOptions& options_;
  std::unique_ptr<table::TableParts> parts_;
  design_file::Header header_;
  std::vector<std::string> notes_;
};

}  // namespace

Converted convert_table(const ConvertOptions& options) {
  Conversion conversion(options);
  if (options.like)
    conversion.take(*options.like);
  else
    conversion.learn();
  return conversion.write();
}

}  // namespace magva::source
