#pragma once
// Weakly informative priors on the data's own scale, as rstanarm's (Goodrich, Gabry, Ali & Brilleman, "Prior
// distributions for rstanarm models"): coefficients normal(0, 2.5 sd(y) / sd(x)) where the response has a
// scale, else normal(0, 2.5 / sd(x)); the intercept normal with scale 2.5 sd(y) or 2.5 where all predictors
// are at their means.
#include <string>
#include <vector>

#include "magva/independent_prior.hpp"
#include "magva/model_source.hpp"

namespace magva::source {

/// The factor by which rstanarm multiplies the scales of the data.
inline constexpr double kPriorScale = 2.5;

/// Means and standard deviations (divisor n - 1) of the columns of a design, in one pass over its rows.
struct DesignMoments {
  Vector mean, sd;
};
DesignMoments design_moments(const Design& design);

/// The same of a design that comes in parts.
class MomentSums {
 public:
  void add(const Design& part);
  DesignMoments finish() const;

  template <class Archive>
  void transfer(Archive& archive) {
    archive(rows_, pivot_, sums_, squares_);
  }

 private:
  Index rows_ = 0;
  Vector pivot_, sums_, squares_;
};

/// What a response says about the scale of its linear predictor: where the intercept may lie, and how far.
struct PredictorScale {
  double location = 0;
  double scale = 1;
};

/// Of the response itself (identity link).
PredictorScale identity_scale(const Vector& response);
/// Of the logarithm of its mean, given what the offset explains (log link).
PredictorScale log_scale(const Vector& response, const Vector& offset = Vector());

/// Priors of the coefficients of a design whose first column is the intercept's. If its columns are not
/// centred the intercept's prior is what follows for it at zero from the prior at the means: normal with the
/// variances of all.
IndependentPriors default_priors(const DesignMoments& moments, const PredictorScale& response, bool centred);

/// Of a design without an intercept: the coefficients have to reach the response from zero, so that both are
/// measured by their root mean squares and not by their standard deviations.
IndependentPriors default_priors_through_zero(const DesignMoments& moments, const PredictorScale& response);

/// "normal(0, 2.5)", with four digits.
std::string prior_text(const IndependentPriors& priors, Index j);
/// One entry for each coefficient.
std::vector<PriorRecord> prior_records(const IndependentPriors& priors,
                                       const std::vector<std::string>& names);

}  // namespace magva::source
