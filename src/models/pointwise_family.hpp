#pragma once
// The loops over rows that all response families share, and special functions. A family supplies, for one
// row:
//   struct Own;                                    what it makes of its own coordinates, once for all rows
//   Own prepare(const double* own) const;
//   double constant(const Row& row) const;
//   template <int kOrder> PointDerivatives point(const Row& row, double eta, const Own& own) const;
// where kOrder is 0 for the value alone, 1 with first derivatives, 2 with all.
#include <cmath>
#include <unsupported/Eigen/SpecialFunctions>

#include "magva/response_family.hpp"

namespace magva::detail {

/// std::lgamma writes to a global variable; this does not.
inline double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
inline double digamma(double x) { return Eigen::numext::digamma(x); }
inline double trigamma(double x) { return Eigen::numext::polygamma(1.0, x); }

inline double log1p_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
inline double inverse_logit(double x) {
  const double e = std::exp(-std::abs(x));
  return (x > 0 ? 1.0 : e) / (1.0 + e);
}

struct Row {
  double y;
  double trials;
  double event;  // 1, or 0 if the row is censored
};

inline Row row_of(const ResponseRows& rows, Index i) {
  return {rows.response[i], rows.trials ? rows.trials[i] : 1.0, rows.status ? rows.status[i] : 1.0};
}

template <class F>
class PointwiseFamily : public ResponseFamily {
 public:
  using ResponseFamily::ResponseFamily;

  void constants(const ResponseRows& rows, double* value) const final {
    for (Index i = 0; i < rows.rows; ++i) value[i] = self().constant(row_of(rows, i));
  }

  void log_density(const ResponseRows& rows, const double* eta, const double* own,
                   double* value) const final {
    const auto prepared = self().prepare(own);
    for (Index i = 0; i < rows.rows; ++i)
      value[i] = self().template point<0>(row_of(rows, i), eta[i], prepared).value;
  }

  void slopes(const ResponseRows& rows, const double* eta, const double* own, double* value, double* by_eta,
              double* by_own) const final {
    const auto prepared = self().prepare(own);
    const std::size_t count = this->own().size();
    for (Index i = 0; i < rows.rows; ++i) {
      const PointDerivatives point = self().template point<1>(row_of(rows, i), eta[i], prepared);
      value[i] = point.value;
      by_eta[i] = point.by_eta;
      for (std::size_t k = 0; k < count; ++k) by_own[static_cast<Index>(k) * rows.rows + i] = point.by_own[k];
    }
  }

  void derivatives(const ResponseRows& rows, const double* eta, const double* own,
                   PointDerivatives* out) const final {
    const auto prepared = self().prepare(own);
    for (Index i = 0; i < rows.rows; ++i)
      out[i] = self().template point<2>(row_of(rows, i), eta[i], prepared);
  }

 private:
  const F& self() const { return static_cast<const F&>(*this); }
};

/// Of the responses, by weights that may be empty.
inline double weighted_response_mean(const ResponseRows& rows, ConstVectorRef weights) {
  double sum = 0;
  double total = 0;
  for (Index i = 0; i < rows.rows; ++i) {
    const double w = weights.size() == 0 ? 1.0 : weights(i);
    sum += w * rows.response[i];
    total += w * (rows.trials ? rows.trials[i] : 1.0);
  }
  return sum / total;
}

// Behind make_response_family; links and own parameters have been checked.
using OwnParameters = std::vector<OwnParameter>;
std::shared_ptr<const ResponseFamily> gaussian_family(OwnParameters own);
std::shared_ptr<const ResponseFamily> student_t_family(OwnParameters own);
std::shared_ptr<const ResponseFamily> binomial_family(Distribution family, Link link);
std::shared_ptr<const ResponseFamily> poisson_family();
std::shared_ptr<const ResponseFamily> negative_binomial_family(OwnParameters own);
std::shared_ptr<const ResponseFamily> gamma_family(OwnParameters own);
std::shared_ptr<const ResponseFamily> weibull_family(OwnParameters own);
std::shared_ptr<const ResponseFamily> exponential_family();

}  // namespace magva::detail
