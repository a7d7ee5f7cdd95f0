#pragma once
// What all ways to integrate group effects out have in common: the coordinates of the parameters that are
// left, their priors and their names.
#include <memory>
#include <string>
#include <vector>

#include "magva/mixed.hpp"
#include "magva/response_family.hpp"
#include "mixed/effect_scale.hpp"

namespace magva::mixed {

/// What is given: data that have been checked, priors, and a family.
struct Problem {
  MixedData data;
  MixedPriors priors;
  std::shared_ptr<const ResponseFamily> family;

  Index rows() const { return data.response.size(); }
  Index coefficients() const { return data.design.cols(); }
  double weight(Index i) const { return data.weights.size() > 0 ? data.weights(i) : 1.0; }
  double offset(Index i) const { return data.offset.size() > 0 ? data.offset(i) : 0.0; }
  bool student(Index j) const;  ///< whether the coefficient has a Student-t prior
  bool smooth(Index j) const;   ///< whether it bends a smooth term
  ResponseRows response() const;
};

/// Throws DataError or UsageError at the first thing that does not fit together.
void check_problem(const Problem& problem);

/// Rows [first, first + rows.rows()) of a design, as numbers in double precision.
void read_rows(const Design& design, Index first, RowMatrix& rows);

/// The logarithms of the family's own parameters, the covariances of the terms and the log sds of smooth
/// terms: a contiguous part of theta.
class HyperParameters {
 public:
  explicit HyperParameters(const Problem& problem);

  Index size() const { return size_; }
  Index own_count() const { return static_cast<Index>(own_.size()); }
  const EffectScale& scale(std::size_t term) const { return scales_[term]; }
  /// Where the term's coordinates begin.
  Index at(std::size_t term) const { return begin_[term]; }
  std::size_t terms() const { return scales_.size(); }
  /// Where the log sd of a smooth term is.
  Index smooth_at(std::size_t smooth) const { return size_ - static_cast<Index>(smooths_.size() - smooth); }

  /// The log prior density, whose derivatives are added to `gradient`.
  double log_prior(const double* at, double* gradient) const;
  Vector start(const Problem& problem) const;
  std::vector<std::string> coordinate_names() const;
  /// Own parameters, then sds and correlations of each term, then sds of smooth terms.
  Index quantity_count() const { return static_cast<Index>(quantity_names().size()); }
  std::vector<std::string> quantity_names() const;
  void quantities(const double* at, double* out) const;

 private:
  std::vector<OwnParameter> own_;
  std::vector<EffectScale> scales_;
  std::vector<Index> begin_;
  struct SmoothSd {
    std::string name;
    PositivePrior prior;
    double start;
  };
  std::vector<SmoothSd> smooths_;
  Index size_ = 0;
};

/// Sets the coefficients' prior sds at theta: those of smooth terms from `at`, where the hyper-parameters
/// are, and of Student-t priors from the logarithms of their factors, `log_lambda`.
Vector coefficient_sds(const Problem& problem, const HyperParameters& hyper, const double* at,
                       const double* log_lambda);

std::string coefficient_name(const Problem& problem, Index j);
/// Names of the coefficients and of the hyper-parameters' quantities.
std::vector<std::string> population_names(const Problem& problem, const HyperParameters& hyper);
std::vector<std::string> effect_names(const GroupTerm& term);

}  // namespace magva::mixed
