#pragma once
// Regressions that formulas describe: what is fitted, and what is stored of it.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "magva/formula_design.hpp"
#include "magva/independent_prior.hpp"
#include "magva/model_source.hpp"
#include "magva/response_family.hpp"

namespace magva::source {

/// A regression by a formula.
struct FormulaOptions {
  std::string formula;
  std::optional<Distribution> family;  ///< of the response; unset: chosen by the response
  std::optional<Link> link;            ///< unset: the family's first
  /// "x1 ~ normal(0, 1)": a coefficient, all levels of a factor, "coefficients", "(Intercept)", an own
  /// parameter of the family, "sd(school: Intercept)" or "sd", or "cor"; what none names keeps its default on
  /// the scale of the data.
  std::vector<std::string> priors;
  std::optional<double> prior_variance;  ///< every coefficient ~ N(0, V) instead of these defaults
  std::string positive_class;            ///< of two classes: the one that is 1
  std::string weights;                   ///< a column, or nothing
  std::vector<std::string> excluded;     ///< columns that '.' does not stand for
  table::MissingPolicy missing = table::MissingPolicy::refuse;
  bool standardise = false;       ///< bring the columns of the design to standard deviation 1 while fitting
  bool single_precision = false;  ///< keep the design in single precision: half the bytes
  std::optional<Index> batch;     ///< rows of a minibatch; unset: all rows in every evaluation
  std::uint64_t seed = 1;         ///< of the minibatches
  std::optional<std::string> start_file;  ///< JSON: parameter names and values to start from
  /// Whether the coefficients of smooth terms are parameters of the approximation; otherwise they are
  /// integrated out, as with groups.
  bool joint_smooths = false;

  /// Throws UsageError for invalid options.
  void validate() const;
};

/// A regression without its data: stored with a fit.
struct FormulaModel {
  formula::FormulaSpec design;
  Distribution family = Distribution::gaussian;
  Link link = Link::identity;
  IndependentPriors priors;       ///< of the columns of the design as it is centred and scaled
  std::vector<OwnParameter> own;  ///< of the family
  std::vector<Vector> sd_scales;  ///< of each group term: the scale of the half-Student-t prior of each sd
  double lkj = 1;                 ///< of the correlations within groups

  /// Of coefficients that a horseshoe shrinks, instead of their priors.
  struct Horseshoe {
    Index first = 0, count = 0;  ///< columns of the design
    double global_scale = 1;
    std::optional<double> slab_scale;  ///< regularised (Piironen & Vehtari 2017)
  };
  std::vector<Horseshoe> horseshoes;
  std::vector<double>
      smooth_scales;  ///< of each smooth term: the scale of the half-Student-t prior of its sd
  std::shared_ptr<const JointDraws> draws;  ///< of a stored fit whose effects were integrated out

  bool grouped() const { return !design.groups.empty(); }
  /// Whether the response is one of several classes, ordered or not.
  bool has_classes() const { return family == Distribution::ordered || family == Distribution::categorical; }
  std::shared_ptr<const ResponseFamily> response_family() const;
  std::shared_ptr<const CoefficientPrior> coefficient_prior() const;
  std::string description() const;
};

/// A regression on the rows of a table. Throws formula::FormulaError, UsageError or DataError.
ModelSource make_formula_source(const table::Table& table, const FormulaOptions& options);

nlohmann::json to_json(const FormulaModel& model);
/// Throws DataError if it is none that to_json can have written.
FormulaModel formula_model_from_json(const nlohmann::json& json);

}  // namespace magva::source
