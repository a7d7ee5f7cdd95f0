#pragma once
// What all ways to integrate group effects out have in common: the coordinates of the parameters that are
// left, their priors and their names.
#include <memory>
#include <string>
#include <vector>

#include "magva/mixed.hpp"
#include "magva/response_family.hpp"
#include "mixed/coefficient_sds.hpp"
#include "mixed/effect_scale.hpp"

namespace magva::detail {
class CutPoints;
}

namespace magva::mixed {

/// What is given: data that have been checked, priors, and a family.
struct Problem {
  MixedData data;
  MixedPriors priors;
  std::shared_ptr<const ResponseFamily> family;  ///< null: unordered classes
  Index predictors = 1;                          ///< linear ones of each row, with coefficients of their own
  /// Where each row lies in the design, which stays as it is when rows are sorted; empty: in its own place.
  std::vector<Index> row_of_design = {};

  Index rows() const { return data.response.size(); }
  Index columns() const { return data.design.cols(); }
  Index coefficients() const { return predictors * columns(); }
  /// Of each predictor there are so many terms: those of the first predictor come first.
  std::size_t terms_each() const { return data.terms.size() / static_cast<std::size_t>(predictors); }
  Index predictor_of(std::size_t term) const { return static_cast<Index>(term / terms_each()); }
  double weight(Index i) const { return data.weights.size() > 0 ? data.weights(i) : 1.0; }
  double offset(Index i) const { return data.offset.size() > 0 ? data.offset(i) : 0.0; }
  bool student(Index j) const;  ///< whether the coefficient has a Student-t prior
  /// Whether its prior sd is unknown: it bends a smooth term, or a horseshoe shrinks it.
  bool unknown_sd(Index j) const { return has_unknown_sd(priors, j); }
  ResponseRows response() const;
};

/// Throws DataError or UsageError at the first thing that does not fit together.
void check_problem(const Problem& problem);

/// Rows [first, first + rows.rows()) of a design, as numbers in double precision.
void read_rows(const Design& design, Index first, RowMatrix& rows);
/// The design's rows of the problem's rows from `first` on.
void read_rows(const Problem& problem, Index first, RowMatrix& rows);

/// The coordinates of the family's own values, the covariances of the terms and the sds of coefficients: a
/// contiguous part of theta.
class HyperParameters {
 public:
  explicit HyperParameters(const Problem& problem);

  Index size() const { return size_; }
  Index own_count() const { return own_count_; }
  /// The family's own values: the coordinates themselves, or cut points.
  Vector own_values(const double* at) const;
  /// Adds to `gradient` what follows from derivatives by the own values.
  void add_own_gradient(const double* at, ConstVectorRef by_own, double* gradient) const;
  const EffectScale& scale(std::size_t term) const { return scales_[term]; }
  /// Where the term's coordinates begin.
  Index at(std::size_t term) const { return begin_[term]; }
  std::size_t terms() const { return scales_.size(); }
  /// Coordinates of coefficients' sds are the last ones.
  const CoefficientSds& sds() const { return sds_; }
  Index sds_at() const { return size_ - sds_.size(); }

  /// The log prior density, whose derivatives are added to `gradient`.
  double log_prior(const double* at, double* gradient) const;
  Vector start(const Problem& problem) const;
  std::vector<std::string> coordinate_names() const;
  /// Own parameters, then sds and correlations of each term, then sds of coefficients.
  Index quantity_count() const { return static_cast<Index>(quantity_names().size()); }
  std::vector<std::string> quantity_names() const;
  void quantities(const double* at, double* out) const;

 private:
  std::vector<OwnParameter> own_;
  std::shared_ptr<const detail::CutPoints> cuts_;  // of an ordered response; otherwise null
  Index own_count_ = 0;
  std::vector<EffectScale> scales_;
  std::vector<Index> begin_;
  CoefficientSds sds_;
  Index size_ = 0;
};

/// The coefficients' prior sds at theta: unknown ones from `at`, where the hyper-parameters are, and those of
/// Student-t priors from the logarithms of their factors, `log_lambda`.
Vector coefficient_sds(const Problem& problem, const HyperParameters& hyper, const double* at,
                       const double* log_lambda);

/// Student-t priors as normal ones whose variance is multiplied by lambda ~ inverse gamma(nu / 2, nu / 2),
/// with coordinates log lambda.
class StudentFactors {
 public:
  explicit StudentFactors(const Problem& problem);
  Index size() const { return static_cast<Index>(coefficient_.size()); }
  Index coefficient(Index k) const { return coefficient_[static_cast<std::size_t>(k)]; }
  /// The log prior density, whose derivatives are added to `gradient`.
  double log_prior(const double* at, double* gradient) const;
  /// Adds what follows from the derivatives by the logarithm of each coefficient's sd.
  void add_gradient(ConstVectorRef by_log_sd, double* gradient) const;

 private:
  std::vector<Index> coefficient_;
  std::vector<PositivePrior> prior_;
};

/// What a model that integrates coefficients, too, integrates out.
const char* integrated_effects(const Problem& problem);
/// "1 parameter is left", "5 parameters are left".
std::string parameters_left(Index count);

std::string coefficient_name(const Problem& problem, Index j);
/// Names of the coefficients and of the hyper-parameters' quantities.
std::vector<std::string> population_names(const Problem& problem, const HyperParameters& hyper);
std::vector<std::string> effect_names(const GroupTerm& term);

}  // namespace magva::mixed
