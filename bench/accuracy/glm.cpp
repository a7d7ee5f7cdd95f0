#include "glm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace magva::bench {

namespace {

double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : 1 - 1 / (1 + std::exp(x)); }

struct Moments {
  double value, slope, curvature;
};

// E[-log(1 + e^eta)] and its first two derivatives for eta ~ N(mean, sd^2): the trapezoidal rule, whose error
// for these functions, with poles at distance pi from the real line, falls like exp(-2 pi^2 / spacing).
Moments logistic_moments(double mean, double sd) {
  const double spacing = std::min(.5, 1 / std::max(sd, 1e-12));
  const int half = static_cast<int>(std::ceil(8.5 / spacing));
  Moments sum{0, 0, 0};
  double total = 0;
  for (int k = -half; k <= half; ++k) {
    const double z = k * spacing;
    const double w = std::exp(-.5 * z * z);
    const double p = logistic(mean + sd * z);
    total += w;
    sum.value -= w * log1p_exp(mean + sd * z);
    sum.slope -= w * p;
    sum.curvature += w * p * (1 - p);
  }
  return {sum.value / total, sum.slope / total, sum.curvature / total};
}

}  // namespace

Glm::Glm(Likelihood likelihood, Matrix design, Vector response, Vector prior_variance)
    : likelihood_(likelihood),
      design_(std::move(design)),
      response_(std::move(response)),
      prior_variance_(std::move(prior_variance)) {
  constant_ = -.5 * (2 * std::numbers::pi * prior_variance_.array()).log().sum();
  if (likelihood_ == Likelihood::kPoisson)
    for (const double y : response_) constant_ -= std::lgamma(y + 1);
  if (likelihood_ == Likelihood::kLinear)
    constant_ -= .5 * static_cast<double>(response_.size()) * std::log(2 * std::numbers::pi);
}

void Glm::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const {
  Matrix eta = design_ * theta;
  for (Index s = 0; s < eta.cols(); ++s) {
    double sum = constant_;
    for (Index i = 0; i < eta.rows(); ++i) {
      const double x = eta(i, s);
      const double y = response_(i);
      switch (likelihood_) {
        case Likelihood::kLogistic:
          sum += y * x - log1p_exp(x);
          eta(i, s) = y - logistic(x);
          break;
        case Likelihood::kPoisson:
          sum += y * x - std::exp(x);
          eta(i, s) = y - std::exp(x);
          break;
        case Likelihood::kLinear:
          sum -= .5 * (y - x) * (y - x);
          eta(i, s) = y - x;
          break;
      }
    }
    log_density(s) = sum - .5 * theta.col(s).cwiseAbs2().cwiseQuotient(prior_variance_).sum();
  }
  gradient.noalias() = design_.transpose() * eta;
  gradient -= prior_variance_.cwiseInverse().asDiagonal() * theta;
}

Glm::Expectation Glm::expectation(ConstVectorRef mean, ConstVectorRef variance,
                                  ConstVectorRef marginal) const {
  const Vector eta = design_ * mean;
  Vector slope(eta.size());
  Expectation out{constant_, Vector(), Vector(eta.size())};
  for (Index i = 0; i < eta.size(); ++i) {
    const double y = response_(i);
    switch (likelihood_) {
      case Likelihood::kLogistic: {
        const Moments moments = logistic_moments(eta(i), std::sqrt(variance(i)));
        out.value += y * eta(i) + moments.value;
        slope(i) = y + moments.slope;
        out.weight(i) = moments.curvature;
        break;
      }
      case Likelihood::kPoisson: {
        const double rate = std::exp(eta(i) + .5 * variance(i));
        out.value += y * eta(i) - rate;
        slope(i) = y - rate;
        out.weight(i) = rate;
        break;
      }
      case Likelihood::kLinear:
        out.value -= .5 * ((y - eta(i)) * (y - eta(i)) + variance(i));
        slope(i) = y - eta(i);
        out.weight(i) = 1;
        break;
    }
  }
  out.value -= .5 * (mean.cwiseAbs2() + marginal).cwiseQuotient(prior_variance_).sum();
  out.gradient = design_.transpose() * slope - mean.cwiseQuotient(prior_variance_);
  return out;
}

Matrix Glm::expected_curvature(ConstVectorRef weight) const {
  Matrix out = design_.transpose() * weight.asDiagonal() * design_;
  out.diagonal() += prior_variance_.cwiseInverse();
  return out;
}

double Glm::elbo(const Gaussian& q) const {
  Vector variance = (design_ * q.factors()).rowwise().squaredNorm();
  if (!q.is_dense()) variance += design_.cwiseAbs2() * q.residual_sd().cwiseAbs2();
  const double entropy =
      .5 * (q.log_determinant() + static_cast<double>(dimension()) * (std::log(2 * std::numbers::pi) + 1));
  return expectation(q.mean(), variance, q.sd().cwiseAbs2()).value + entropy;
}

}  // namespace magva::bench
