#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/loo_row.hpp"
#include "magva/error.hpp"

namespace magva {

namespace detail {

double log_mean_exp(ConstVectorRef values, ConstVectorRef log_weights) {
  const double top = (values + log_weights).maxCoeff();
  if (!std::isfinite(top)) return top;
  return top + std::log((values.array() + log_weights.array() - top).exp().sum());
}

Vector normalised_log_weights(ConstVectorRef log_weights, Index draws) {
  if (log_weights.size() == 0) return Vector::Constant(draws, -std::log(static_cast<double>(draws)));
  return smooth_weights(log_weights).log_weights;
}

LooRow loo_row(ConstVectorRef log_likelihood, ConstVectorRef raw_log_weights, ConstVectorRef log_weights) {
  if (!log_likelihood.allFinite())  // a response that some draw calls impossible
    return {-std::numeric_limits<double>::infinity(), 0, std::numeric_limits<double>::infinity(),
            log_weights};
  if (log_likelihood.isZero(0)) return {0, 0, 0, log_weights};  // a row of weight 0
  const bool weighted = raw_log_weights.size() > 0;
  const SmoothedWeights without =
      smooth_weights(weighted ? Vector(raw_log_weights - log_likelihood) : Vector(-log_likelihood));
  const double elpd = log_mean_exp(log_likelihood, without.log_weights);
  return {elpd, log_mean_exp(log_likelihood, log_weights) - elpd, without.khat, without.log_weights};
}

void summarise_loo(ConstVectorRef p_loo_rows, Index draws, LooResult& loo) {
  const auto n = static_cast<double>(loo.elpd_rows.size());
  const auto se = [n](ConstVectorRef rows) {
    if (n < 2) return 0.0;
    return std::sqrt(n * (rows.array() - rows.mean()).square().sum() / (n - 1));
  };
  loo.rows = loo.elpd_rows.size();
  loo.elpd = loo.elpd_rows.sum();
  loo.elpd_se = se(loo.elpd_rows);
  loo.p_loo = p_loo_rows.sum();
  loo.p_loo_se = se(p_loo_rows);
  loo.threshold = std::min(1 - 1 / std::log10(static_cast<double>(draws)), .7);
  loo.high_k = (loo.khat_rows.array() > loo.threshold).count();
}

}  // namespace detail

LooResult psis_loo(ConstMatrixRef log_likelihood, ConstVectorRef log_weights) {
  const Index n = log_likelihood.rows();
  const Index draws = log_likelihood.cols();
  if (n == 0 || draws < 2) throw UsageError("leave-one-out cross-validation needs rows and at least 2 draws");
  if (log_weights.size() != 0 && log_weights.size() != draws)
    throw UsageError(fmt::format("there are {} draws but {} importance weights", draws, log_weights.size()));
  const Vector all = detail::normalised_log_weights(log_weights, draws);
  LooResult loo;
  loo.elpd_rows.resize(n);
  loo.khat_rows.resize(n);
  Vector p_loo(n);
  for (Index i = 0; i < n; ++i) {
    const detail::LooRow row = detail::loo_row(log_likelihood.row(i).transpose(), log_weights, all);
    loo.elpd_rows(i) = row.elpd;
    loo.khat_rows(i) = row.khat;
    p_loo(i) = row.p_loo;
  }
  detail::summarise_loo(p_loo, draws, loo);
  return loo;
}

std::string LooResult::describe() const {
  std::string text = fmt::format("elpd_loo {:.1f} (se {:.1f}), p_loo {:.1f}", elpd, elpd_se, p_loo);
  if (high_k == rows && rows > 1)
    text += fmt::format(
        "; whatever row is left out, importance weights of the draws have a Pareto k above {:.2f}: the "
        "approximation's, not the rows', so that elpd is rough",
        threshold);
  else if (high_k > 0)
    text += fmt::format("; {} of {} rows have Pareto k above {:.2f}, so that elpd is too optimistic", high_k,
                        rows, threshold);
  return text;
}

LooDifference compare_loo(ConstVectorRef elpd_rows_a, ConstVectorRef elpd_rows_b) {
  if (elpd_rows_a.size() != elpd_rows_b.size())
    throw UsageError(fmt::format("models of {} and {} rows cannot be compared: they saw different data",
                                 elpd_rows_a.size(), elpd_rows_b.size()));
  const Vector difference = elpd_rows_a - elpd_rows_b;
  const auto n = static_cast<double>(difference.size());
  if (n < 2) return {difference.sum(), 0};
  return {difference.sum(), std::sqrt(n * (difference.array() - difference.mean()).square().sum() / (n - 1))};
}

}  // namespace magva
