#pragma once
// The transformation from a table to a design, as learnt from the data of a fit: stored with the fit, it
// makes prediction treat new data in exactly the same way.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "magva/types.hpp"
#include "table/read_options.hpp"

namespace magva::input {

inline constexpr const char* kIntercept = "(Intercept)";

enum class ResponseKind { binary, real, count };
enum class MissingPolicy { refuse, drop };

struct ResponseSpec {
  std::string column;
  ResponseKind kind = ResponseKind::real;
  bool text = false;
  std::vector<std::string> classes;  ///< of a binary response: the texts that are 0 and 1
};

/// A column of numbers, as (x - mean) / sd; mean 0 and sd 1 leave it as it is.
struct NumberTerm {
  double mean = 0, sd = 1;
};

/// A text column: one indicator, named "column[level]", for each coded level. The baseline has none.
struct LevelsTerm {
  std::vector<std::string> levels;  ///< all that are known, sorted
  Index baseline = 0;
  std::vector<Index> coded;
};

/// A discretised column: one indicator, named "column_bink" with k from 1, for each coded bin, in this order.
struct BinsTerm {
  std::vector<double> cuts;
  Index baseline = 0;
  std::vector<Index> coded;
};

struct Term {
  std::string column;
  std::variant<NumberTerm, LevelsTerm, BinsTerm> coding;

  std::vector<std::string> names() const;  ///< of the design's columns that it makes
};

/// The features of a LIBSVM file that are in the design, by index from 1, each divided by its scale. Not
/// centred: that would fill the zeros.
struct FeaturesTerm {
  Index count = 0;  ///< the largest index in the data of the fit
  std::vector<Index> kept;
  std::vector<double> scales;
};

struct DroppedColumn {
  std::string name;
  std::string reason;  ///< "constant", "equals 'x3'", ...
};

struct DesignSpec {
  ResponseSpec response;
  std::string weights;  ///< the column, or nothing
  std::vector<Term> terms;
  std::optional<FeaturesTerm> features;
  std::vector<DroppedColumn> dropped;

  std::vector<std::string> names() const;  ///< of all coefficients, the intercept first
  bool sparse() const { return features.has_value(); }
  /// How to read new data, so that a column is text or numbers as it was in the data of the fit.
  std::map<std::string, ColumnKind> column_kinds() const;
};

nlohmann::json to_json(const DesignSpec& spec);
/// Throws DataError where the JSON is not a specification that `to_json` can have written.
DesignSpec design_spec_from_json(const nlohmann::json& json);

}  // namespace magva::input
