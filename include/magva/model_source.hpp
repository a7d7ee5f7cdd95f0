#pragma once
// Where a posterior comes from: a regression on a table or a design file, or a Stan program with its data.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/fit.hpp"
#include "magva/formula_design.hpp"
#include "magva/independent_prior.hpp"
#include "magva/minibatch.hpp"
#include "magva/model.hpp"
#include "magva/regression.hpp"
#include "magva/table.hpp"

namespace magva {
class MixedModel;
}

namespace magva::source {

struct FormulaModel;

enum class RegressionKind { logistic, linear, poisson, pspline };
enum class PriorKind { normal, horseshoe };

std::string to_string(RegressionKind kind);
std::string to_string(PriorKind kind);
std::string to_string(HorseshoeForm form);
/// By the names that `to_string` gives. Throws UsageError for any other.
RegressionKind parse_regression_kind(const std::string& name);
PriorKind parse_prior_kind(const std::string& name);
HorseshoeForm parse_horseshoe_form(const std::string& name);

/// One of `size` shares of the rows, as magva::share_of cuts them.
struct RowShare {
  int rank = 0;
  int size = 1;
};

/// A regression to be fitted to the rows of a table or a design file.
struct RegressionOptions {
  std::optional<RegressionKind> model;  ///< unset: chosen by the response
  PriorKind prior = PriorKind::normal;
  /// Every coefficient ~ N(0, V), the intercept's too; unset: priors on the scale of the data.
  std::optional<double> prior_variance;
  HorseshoeForm form = HorseshoeForm::noncentred;
  std::string covariate;                   ///< of a P-spline: the column that the curve is a function of
  Index basis_functions = 25;              ///< of a P-spline
  bool single_precision = false;           ///< keep the design in single precision: half the bytes
  std::optional<Index> batch;              ///< rows of a minibatch; unset: all rows in every evaluation
  std::uint64_t seed = 1;                  ///< of the minibatches
  std::optional<std::string> start_file;   ///< JSON: parameter names and values to start from
  std::optional<std::string> save_design;  ///< a design file to write the encoded rows to
  RowShare share;  ///< of design files in parts: the rows that are kept in memory; the others are zeros

  /// Throws UsageError for invalid options.
  void validate() const;
};

/// The knots of a P-spline, fixed by the data of the fit.
struct SplineSpec {
  std::string covariate;
  Index functions = 25;
  double lower = 0, upper = 1;
};

/// A regression without its data: stored with a fit, so that prediction builds the same model on new rows.
struct ModelSpec {
  std::shared_ptr<const FormulaModel> formula;  ///< then nothing else counts; null: the members after it
  RegressionKind model = RegressionKind::linear;
  PriorKind prior = PriorKind::normal;
  HorseshoeForm form = HorseshoeForm::noncentred;
  double prior_variance = 10;
  std::optional<IndependentPriors> priors;  ///< of the coefficients, instead of N(0, prior_variance)
  std::optional<SplineSpec> spline;
  table::DesignSpec design;

  /// Whether the response is one of two classes, whose probability is predicted.
  bool two_classes() const;
  /// The texts of the response's classes; empty if it has none.
  const std::vector<std::string>& classes() const;
  std::string response_name() const;
  /// How to read new data, so that a column is text or numbers as it was in the data of the fit.
  std::map<std::string, table::ColumnKind> column_kinds() const;
  /// Whether the coefficients are coordinates of theta, or made out of several of them.
  bool coefficients_are_coordinates() const;
  std::string description() const;
};

/// Rows of a table as a model takes them.
struct ModelRows {
  Design design;
  Vector response;                 ///< empty if they have none
  std::vector<Index> row_numbers;  ///< in their file, from 0; empty: all of its rows
  // Of regressions by a formula:
  Vector offset = {};  ///< empty: none
  Vector trials = {};  ///< empty: 1 each
  Vector status = {};  ///< of survival; empty: every event was seen
  std::vector<formula::EncodedGroup> groups = {};
  Vector weights = {};  ///< of the rows of a fit; empty: every row counts once
};

/// What fit.json says about the data.
struct DataRecord {
  std::string file;
  Index rows = 0;
  Index columns = 0;
  std::string sha256;
};

/// A quantity on the user's scale. If it is a coordinate of theta itself, a linear combination of some, or
/// the exponential of one, a Gaussian's summary of it is exact; otherwise it is computed from draws.
struct Quantity {
  std::string name;
  std::optional<Index> coordinate;
  std::vector<std::pair<Index, double>> combination = {};  ///< coordinates and their factors, or nothing
  std::optional<Index> logarithm = {};                     ///< the coordinate that is its logarithm

  bool exact() const { return coordinate || logarithm || !combination.empty(); }
};

/// The prior of a parameter on the user's scale, as a summary shows it.
struct PriorRecord {
  std::string parameter;
  std::string text;  ///< "normal(0, 2.5)"
  double location = 0;
  std::optional<double>
      scale;  ///< of a normal prior; unset: the prior's spread cannot be compared with the posterior's
};

/// Draws of all quantities, one row per quantity and one column per draw.
struct JointDraws {
  std::vector<std::string> names;
  Matrix values;
};

/// What a fit is about, on the user's scale.
class Reporter {
 public:
  virtual ~Reporter() = default;

  virtual std::vector<Quantity> quantities() const = 0;
  /// The quantities at draws of theta, one row per quantity, one column per draw. NaN if the model cannot
  /// say.
  virtual Matrix report(ConstMatrixRef theta, std::uint64_t seed) const = 0;
  /// Draws from the posterior that a fit has found, if theta does not say everything: group effects depend on
  /// the data too. Null: `report` at draws of theta is all there is.
  virtual std::shared_ptr<const JointDraws> joint_draws(const Gaussian& /*posterior*/) const {
    return nullptr;
  }
  /// What the model has to say about how it was evaluated so far.
  virtual std::vector<std::string> warnings() const { return {}; }
};

/// A posterior, ready to be fitted, and all that is said and stored about it.
struct ModelSource {
  std::shared_ptr<const Model> model;          ///< on all rows
  std::shared_ptr<const Minibatch> minibatch;  ///< the model on samples of its rows, or null
  std::shared_ptr<const Reporter> reporter;
  std::optional<ModelSpec> spec;  ///< what prediction needs besides the posterior; unset: no rows to predict
  Vector start;                   ///< where a search may start
  Index diagnostic_draws = 4000;  ///< for ELBO and k-hat, that the model evaluates in a reasonable time
  std::string description;        ///< in a phrase: 'logistic regression with ..., 351 rows'
  DataRecord data;
  std::vector<std::string> notes;  ///< sentences for the user: what was chosen, encoded, dropped, and why
  std::vector<PriorRecord> priors;
  std::shared_ptr<const ModelRows> rows;    ///< of the fit, for checks; null if there are too many, or none
  std::shared_ptr<const MixedModel> mixed;  ///< of a regression with groups; otherwise null
  bool has_all_rows = true;                 ///< false: the model's rows are zeros but for a rank's share

  /// What is evaluated while fitting: the minibatch, if there is one.
  const Model& fitted_model() const { return minibatch ? static_cast<const Model&>(*minibatch) : *model; }
};

/// A regression on the rows of a table. Throws UsageError or DataError.
ModelSource make_table_source(const table::Table& table, table::DesignOptions design,
                              const RegressionOptions& options);

/// A regression on the rows of a design file, which stay on disk until they are read; or on those of all
/// design files with a name like `path`, "part-*.magva", in the order of their names, in memory.
ModelSource make_design_file_source(const std::string& path, const RegressionOptions& options);

struct StanOptions {
  std::string file;                       ///< a .stan program or a library that BridgeStan made of one
  std::string data;                       ///< a JSON file, or nothing
  bool generated_quantities = false;      ///< report them too
  std::uint64_t seed = 1;                 ///< of random numbers in the program's transformed data
  std::optional<std::string> start_file;  ///< JSON: values of all parameters to start from
  std::function<void(const std::string&)> progress = [](const std::string&) {};  ///< of the compilation
};

/// The posterior of a Stan program with its data.
ModelSource make_stan_source(const StanOptions& options);
/// Whether a file is a Stan program or a library made of one, by its name.
bool is_stan_file(const std::string& file);

/// Fits what the source gives: from its own start, unless the options have one, and assessed by the
/// quantities that it reports. Throws what magva::fit throws.
FitResult fit(const ModelSource& source, FitOptions options = {},
              const std::vector<Observer>& observers = {});

/// Sentences about the data that a posterior reveals, such as that two classes are separated.
std::vector<std::string> remarks(const ModelSource& source, const Gaussian& posterior);

/// What is stored of a source whose fit has found this posterior: its specification, with draws of group
/// effects.
std::optional<ModelSpec> stored_spec(const ModelSource& source, const Gaussian& posterior);

/// The reporter of a stored regression: no data are read.
std::unique_ptr<Reporter> make_reporter(const ModelSpec& spec);
/// Reports theta itself, under these names.
std::unique_ptr<Reporter> make_coordinate_reporter(std::vector<std::string> names);

/// How the rows of a table become a design file.
struct ConvertOptions {
  std::string file;  ///< the table; "-" is standard input
  table::ReadOptions reading;
  table::DesignOptions design;
  std::optional<RegressionKind> model;    ///< that the response is encoded for; unset: chosen by the response
  std::optional<table::DesignSpec> like;  ///< takes the place of `design`: the encoding of an earlier fit
  bool single_precision = false;
  std::string out;  ///< the design file
};

struct Converted {
  std::vector<std::string> notes;  ///< what was encoded and dropped
  Index rows = 0;
  Index columns = 0;
};

/// Writes a design file. The table is read in parts, twice, from a copy on disk if it comes from a pipe;
/// whole for discretisation.
Converted convert_table(const ConvertOptions& options);

}  // namespace magva::source
