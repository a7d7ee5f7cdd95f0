#pragma once
// The loops over rows that all response families share, and special functions. A family supplies, for one
// row:
//   struct Own;                                    what it makes of its own coordinates, once for all rows
//   Own prepare(const double* own) const;
//   double constant(const Row& row) const;
//   template <int kOrder> PointDerivatives point(const Row& row, double eta, const Own& own) const;
// where kOrder is 0 for the value alone, 1 with first derivatives, 2 with all; and, for expectations under a
// normal eta, either a closed form
//   PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const;
// or the distance of the nearest poles of log p from the real line,
//   static constexpr double kPoles;
// A family without coordinates of its own may also supply several rows at once, and the sum of log p over
// rows of one trial each where that is faster than row by row:
//   VectorPoint points(Vec y, Vec trials, Vec eta) const;
//   double sum_of_rows(const double* y, const double* eta, Index rows) const;
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <unsupported/Eigen/SpecialFunctions>

#include "core/vector_math.hpp"
#include "magva/response_family.hpp"
#include "models/normal_rule.hpp"

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

/// out += weight * point, for all derivatives.
inline void add_derivatives(const PointDerivatives& point, double weight, PointDerivatives& out) {
  out.value += weight * point.value;
  out.by_eta += weight * point.by_eta;
  out.by_eta2 += weight * point.by_eta2;
  out.by_eta3 += weight * point.by_eta3;
  for (std::size_t k = 0; k < kMostOwnParameters; ++k) {
    out.by_own[k] += weight * point.by_own[k];
    out.by_eta_own[k] += weight * point.by_eta_own[k];
    out.by_eta2_own[k] += weight * point.by_eta2_own[k];
  }
  for (std::size_t k = 0; k < point.by_own2.size(); ++k) out.by_own2[k] += weight * point.by_own2[k];
}

/// Of as many rows as a vector has places: log p and its derivatives by eta.
struct VectorPoint {
  Vec value, by_eta, by_eta2;
};

/// Gives put(i, count, point) the points of rows i, ..., i + count - 1, vector by vector.
template <class F, class Put>
void for_vectors(const F& family, const ResponseRows& rows, const double* eta, const Put& put) {
  constexpr Index kWidth = kLanes<Vec>;
  Index i = 0;
  for (; i + kWidth <= rows.rows; i += kWidth)
    put(i, kWidth,
        family.points(load(rows.response + i), rows.trials ? load(rows.trials + i) : set(1.0),
                      load(eta + i)));
  const Index left = rows.rows - i;
  if (left == 0) return;
  double y[kWidth] = {}, trials[kWidth] = {}, at[kWidth] = {};
  std::copy_n(rows.response + i, left, y);
  if (rows.trials)
    std::copy_n(rows.trials + i, left, trials);
  else
    std::fill_n(trials, left, 1.0);
  std::copy_n(eta + i, left, at);
  put(i, left, family.points(load(y), load(trials), load(at)));
}

inline void put_first(const Vec& values, Index count, double* to) {
  std::memcpy(to, &values, static_cast<std::size_t>(count) * sizeof(double));
}

template <class F>
inline constexpr bool kHasVectors = requires(const F& family, Vec v) {
  family.points(v, v, v);
};

template <class F>
class PointwiseFamily : public ResponseFamily {
 public:
  using ResponseFamily::ResponseFamily;

  void constants(const ResponseRows& rows, double* value) const final {
    for (Index i = 0; i < rows.rows; ++i) value[i] = self().constant(row_of(rows, i));
  }

  void log_density(const ResponseRows& rows, const double* eta, const double* own,
                   double* value) const final {
    if constexpr (kHasVectors<F>) {
      for_vectors(self(), rows, eta, [&](Index i, Index count, const VectorPoint& at) {
        put_first(at.value, count, value + i);
      });
    } else {
      const auto prepared = self().prepare(own);
      for (Index i = 0; i < rows.rows; ++i)
        value[i] = self().template point<0>(row_of(rows, i), eta[i], prepared).value;
    }
  }

  double log_likelihood(const ResponseRows& rows, const double* eta, const double* own,
                        const double* weight) const final {
    if constexpr (requires { self().sum_of_rows(rows.response, eta, rows.rows); })
      if (!weight && !rows.trials) return self().sum_of_rows(rows.response, eta, rows.rows);
    double sum = 0;
    if constexpr (kHasVectors<F>) {
      for_vectors(self(), rows, eta, [&](Index i, Index count, const VectorPoint& at) {
        for (Index k = 0; k < count; ++k) sum += (weight ? weight[i + k] : 1.0) * at.value[k];
      });
    } else {
      const auto prepared = self().prepare(own);
      for (Index i = 0; i < rows.rows; ++i)
        sum += (weight ? weight[i] : 1.0) * self().template point<0>(row_of(rows, i), eta[i], prepared).value;
    }
    return sum;
  }

  void slopes(const ResponseRows& rows, const double* eta, const double* own, double* value, double* by_eta,
              double* by_own) const final {
    if constexpr (kHasVectors<F>) {
      for_vectors(self(), rows, eta, [&](Index i, Index count, const VectorPoint& at) {
        put_first(at.value, count, value + i);
        put_first(at.by_eta, count, by_eta + i);
      });
    } else {
      const auto prepared = self().prepare(own);
      const Index owns = this->own_count();
      std::fill_n(by_own, owns * rows.rows, 0.0);
      for (Index i = 0; i < rows.rows; ++i) {
        const PointDerivatives point = self().template point<1>(row_of(rows, i), eta[i], prepared);
        value[i] = point.value;
        by_eta[i] = point.by_eta;
        for (std::size_t k = 0; k < kMostOwnParameters; ++k)
          if (const Index at = self().own_of_row(rows.response[i], static_cast<Index>(k)); at >= 0)
            by_own[at * rows.rows + i] = point.by_own[k];
      }
    }
  }

  void curvatures(const ResponseRows& rows, const double* eta, const double* own, double* value,
                  double* by_eta, double* by_eta2) const final {
    if constexpr (kHasVectors<F>) {
      for_vectors(self(), rows, eta, [&](Index i, Index count, const VectorPoint& at) {
        put_first(at.value, count, value + i);
        put_first(at.by_eta, count, by_eta + i);
        put_first(at.by_eta2, count, by_eta2 + i);
      });
    } else {
      const auto prepared = self().prepare(own);
      for (Index i = 0; i < rows.rows; ++i) {
        const PointDerivatives point = self().template point<2>(row_of(rows, i), eta[i], prepared);
        value[i] = point.value;
        by_eta[i] = point.by_eta;
        by_eta2[i] = point.by_eta2;
      }
    }
  }

  void derivatives(const ResponseRows& rows, const double* eta, const double* own,
                   PointDerivatives* out) const final {
    const auto prepared = self().prepare(own);
    for (Index i = 0; i < rows.rows; ++i)
      out[i] = self().template point<2>(row_of(rows, i), eta[i], prepared);
  }

  void expected_derivatives(const ResponseRows& rows, const double* mean, const double* variance,
                            const double* own, PointDerivatives* out) const final {
    const auto prepared = self().prepare(own);
    for (Index i = 0; i < rows.rows; ++i)
      out[i] = expectation(row_of(rows, i), mean[i], variance[i], prepared);
  }

 private:
  template <class Own>
  PointDerivatives expectation(const Row& row, double mean, double variance, const Own& own) const {
    if constexpr (requires { self().expected_point(row, mean, variance, own); }) {
      return self().expected_point(row, mean, variance, own);
    } else {
      const double sd = std::sqrt(variance);
      PointDerivatives out;
      const PairRule* rule = normal_rule(sd * std::numbers::pi / F::kPoles);
      if (!rule) {
        out.value = std::numeric_limits<double>::quiet_NaN();
        return out;
      }
      for (std::size_t k = 0; k < rule->node.size(); ++k)
        for (const double z : {-rule->node[k], rule->node[k]})
          add_derivatives(self().template point<2>(row, mean + sd * z, own), rule->weight[k], out);
      return out;
    }
  }

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
