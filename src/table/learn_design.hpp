#pragma once
// Learns how the columns of a table become a design from one look at its rows, which may come in parts.
#include <string>
#include <vector>

#include "magva/table.hpp"
#include "table/encode_rows.hpp"
#include "table/learn_terms.hpp"
#include "table/table_ranks.hpp"

namespace magva::table {

struct LearntSpec {
  DesignSpec spec;
  Index rows = 0;                  ///< that are used
  std::vector<std::string> notes;  ///< what was encoded and left out, but for the columns dropped
};

class DesignScan {
 public:
  /// `options.kind` does not matter here.
  explicit DesignScan(DesignOptions options) : options_(std::move(options)) {}

  /// The next rows. Every part has the same columns, and of text the levels of all parts so far. The last
  /// part must live until `finish`.
  void add(const Table& part);
  /// The response wherever it is not missing, over all parts so far.
  const Column& response_column() const { return *used_.response; }
  const ResponseSummary& response() const { return seen_response_; }
  /// Throws UsageError or DataError. Discretisation and LIBSVM files need all rows in one part, but they may
  /// be those of several ranks.
  LearntSpec finish(ResponseKind kind, const TableRanks& ranks = {});

  template <class Archive>
  void transfer(Archive& archive) {
    archive(missing_, seen_response_, used_response_, summaries_);
  }

 private:
  void learn_terms(const TableRanks& ranks);
  void learn_features();
  void check_names_differ() const;

  DesignOptions options_;
  const Table* part_ = nullptr;
  int parts_ = 0;
  UsedColumns used_;  ///< of the last part
  MissingCells missing_;
  std::vector<Index> complete_;  ///< rows of the last part
  ResponseSummary seen_response_, used_response_;
  std::vector<ColumnSummary> summaries_;
  LearntSpec learnt_;
};

/// learn_design() of a table whose rows are spread over ranks: the encoding of all rows, and this rank's.
LearntDesign learn_design(const Table& own, const DesignOptions& options, const TableRanks& ranks);

}  // namespace magva::table
