#pragma once
// Leave-one-out cross-validation of one row.
#include "magva/check.hpp"
#include "magva/diagnostics.hpp"

namespace magva::detail {

struct LooRow {
  double elpd;
  double p_loo;
  double khat;
  Vector log_weights;  ///< of the draws, as draws given all other rows; normalised
};

/// log sum_s exp(values_s + log_weights_s).
double log_mean_exp(ConstVectorRef values, ConstVectorRef log_weights);

/// Smoothed and normalised; equal where there are none.
Vector normalised_log_weights(ConstVectorRef log_weights, Index draws);

/// `raw_log_weights` may be empty; `log_weights` are the normalised ones.
LooRow loo_row(ConstVectorRef log_likelihood, ConstVectorRef raw_log_weights, ConstVectorRef log_weights);

/// Fills in the sums, from the rows' elpd and k-hat and these p_loo.
void summarise_loo(ConstVectorRef p_loo_rows, Index draws, LooResult& loo);

}  // namespace magva::detail
