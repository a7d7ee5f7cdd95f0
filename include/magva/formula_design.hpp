#pragma once
// A formula learnt from a table: how each row becomes a row of a design, a response, an offset, and a member
// of groups. Stored with a fit, it makes prediction treat new rows in exactly the same way.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "magva/formula.hpp"
#include "magva/table.hpp"
#include "magva/types.hpp"

namespace magva::formula {

/// Arithmetic over columns of numbers. What scale() has learnt stands in the expression as numbers.
struct NumberVariable {
  Node expression;
};

/// poly(x, degree): orthogonal polynomials over the rows of the fit, by their three-term recurrence as R
/// stores it (Chambers & Hastie 1992): P_0 = 1, P_{k+1} = (x - alpha_k) P_k - norm2_{k+1} / norm2_k P_{k-1},
/// where norm2_{k+1} is the squared norm of P_k; or the plain powers.
struct PolynomialVariable {
  Node expression;
  Index degree = 1;
  bool raw = false;
  std::vector<double> alpha;  ///< degree of them
  std::vector<double> norm2;  ///< degree + 2: 1, the number of rows, and the squared norms of P_1, P_2, ...
};

/// A column whose different values are levels: by number, or in sorted order of texts.
struct FactorVariable {
  std::string column;
  bool text = true;
  std::vector<std::string> levels;
  Index base = 0;  ///< of treatment contrasts
};

struct Variable {
  std::string name;  ///< as coefficients show it
  std::variant<NumberVariable, PolynomialVariable, FactorVariable> encoding;

  bool is_factor() const { return std::holds_alternative<FactorVariable>(encoding); }
};

/// A variable as it takes part in a term: a factor has an indicator for each level but the base, or for all
/// where its margin is absent from the model (R's rule).
struct CodedVariable {
  std::size_t variable = 0;
  bool all_levels = false;
};

/// Columns of a design: an intercept perhaps, and the products of variables.
struct ColumnSet {
  bool intercept = true;
  std::vector<std::vector<CodedVariable>> terms;
  std::vector<Index>
      left_out;  ///< columns, numbered as if all were there, in increasing order: constant or duplicate
};

/// A curve: a straight line and columns that bend it (SmoothBasis in priors.hpp).
struct SmoothSpec {
  std::string name;  ///< s(age)
  Node expression;
  Index functions = 12;         ///< B-splines
  double lower = 0, upper = 1;  ///< of the knots
  Matrix transform;             ///< B-splines -> columns
  Vector means;                 ///< of the columns, which are subtracted

  Index columns() const { return transform.cols(); }
};

struct GroupSpec {
  std::string name;                  ///< school, or class:school
  std::vector<std::string> columns;  ///< whose levels together are the groups
  std::vector<bool> text;            ///< whether each of them holds text
  std::vector<std::string> levels;   ///< in the order of their numbers
  ColumnSet effects;
  bool correlated = true;
};

enum class ResponseForm {
  values,     ///< y, or arithmetic
  successes,  ///< successes | trials(n)
  counts,     ///< cbind(successes, failures)
  survival,   ///< Surv(time, status)
};

enum class ResponseType { number, count, two_classes, classes };

struct FormulaResponse {
  ResponseForm form = ResponseForm::values;
  ResponseType type = ResponseType::number;
  std::string name;                  ///< as it stands in the formula
  Node first;                        ///< values, successes or times
  Node second;                       ///< trials, failures or status
  bool text = false;                 ///< a column of text
  std::vector<std::string> classes;  ///< in order: the texts that are 0, 1, 2, ...
};

struct FormulaSpec {
  std::string formula;
  FormulaResponse response;
  std::string weights;  ///< the column, or nothing
  std::vector<Variable> variables;
  ColumnSet fixed;
  std::vector<Node> offsets;
  std::vector<SmoothSpec> smooths;
  std::vector<GroupSpec> groups;
  std::vector<table::DroppedColumn> dropped;
  Vector centre;  ///< of each column of the design, smooth terms included; 0 for the intercept
  Vector scale;   ///< by which each is divided after that; 1 unless it is standardised

  std::vector<std::string> names()
      const;  ///< of the columns of the design that have a coefficient of their own
  std::vector<std::string> names(const ColumnSet& columns) const;
  Index smooth_columns() const;
  /// How to read new data, so that a column is text or numbers as it was in the data of the fit.
  std::map<std::string, table::ColumnKind> column_kinds() const;
};

/// What a response has to be, as the family asks for it.
struct LearnOptions {
  std::string formula;
  ResponseType type = ResponseType::number;
  std::string positive_class;         ///< of two classes: the one that is 1
  std::string weights;                ///< a column, or nothing
  std::vector<std::string> excluded;  ///< columns that '.' does not stand for
  table::MissingPolicy missing = table::MissingPolicy::refuse;
  bool centre = true;        ///< the columns of a design with an intercept, but for that
  bool standardise = false;  ///< bring the columns to standard deviation 1, but for the intercept's
  Index max_levels = 1000;   ///< of a factor: more are taken for a name or key by mistake
};

/// The groups of the rows, by number, and what their effects multiply.
struct EncodedGroup {
  std::vector<std::int32_t> group;  ///< kNewGroup for a level that the fit has not seen
  RowMatrix z;                      ///< a column for each effect; no columns: an intercept alone
};
inline constexpr std::int32_t kNewGroup = -1;

struct EncodedFormula {
  RowMatrix x;      ///< centred and scaled; fixed columns, then those of smooth terms
  Vector response;  ///< empty if new data have none: values, successes or times
  Vector trials;    ///< empty unless successes are counted
  Vector status;    ///< of survival: 1 if the event was seen; otherwise empty
  Vector offset;    ///< empty if there is none
  Vector weights;   ///< empty if there are none
  std::vector<EncodedGroup> groups;
  std::vector<Index> rows;  ///< of the table
  std::vector<std::string> notes;
};

/// What the rows of a fit say about the columns of its design.
struct ColumnMoments {
  Vector mean, sd;  ///< divisor n - 1
};

struct LearntFormula {
  FormulaSpec spec;
  EncodedFormula rows;
  ColumnMoments moments;  ///< of the columns of the design, before they were centred and scaled
};

/// What type a response is if nobody says: two classes, counts with a zero among them, or numbers; with a
/// sentence.
struct TypeChoice {
  ResponseType type;
  ResponseForm form;
  std::string reason;
};
TypeChoice choose_type(const Formula& formula, const table::Table& table);

/// Learns a formula from the table of a fit and encodes its rows. Throws FormulaError, UsageError or
/// DataError.
LearntFormula learn(const table::Table& table, const LearnOptions& options);

/// New rows. The response and weights are read if they are there. Throws DataError.
EncodedFormula encode(const FormulaSpec& spec, const table::Table& table,
                      table::MissingPolicy missing = table::MissingPolicy::refuse);

nlohmann::json to_json(const FormulaSpec& spec);
/// Throws DataError if it is none that to_json can have written.
FormulaSpec formula_spec_from_json(const nlohmann::json& json);

}  // namespace magva::formula
