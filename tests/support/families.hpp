#pragma once
// All response families with one linear predictor, and data for each.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "magva/family_regression.hpp"

namespace magva::test {

struct Family {
  Distribution distribution;
  Link link;
};

inline const std::vector<Family> kFamilies = {
    {Distribution::gaussian, Link::identity}, {Distribution::student_t, Link::identity},
    {Distribution::bernoulli, Link::logit},   {Distribution::bernoulli, Link::probit},
    {Distribution::bernoulli, Link::cloglog}, {Distribution::binomial, Link::logit},
    {Distribution::binomial, Link::probit},   {Distribution::binomial, Link::cloglog},
    {Distribution::poisson, Link::log},       {Distribution::negative_binomial, Link::log},
    {Distribution::gamma, Link::log},         {Distribution::weibull, Link::log},
    {Distribution::exponential, Link::log},
};

inline std::string name_of(const Family& family) {
  return to_string(family.distribution) + " " + to_string(family.link);
}

/// With weights, offsets, and what else the family can have. Counts reach beyond the short sums.
inline RegressionData family_data(const Family& family, Design design) {
  const Index rows = design.rows();
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> uniform;
  RegressionData data{std::move(design), Vector(rows), Vector(rows), {}};
  const Distribution kind = family.distribution;
  const bool counts = kind == Distribution::poisson || kind == Distribution::negative_binomial;
  if (kind == Distribution::binomial) data.trials.resize(rows);
  if (allows_censoring(kind)) data.status.resize(rows);
  for (Index i = 0; i < rows; ++i) {
    const double u = uniform(generator);
    data.response(i) = kind == Distribution::bernoulli  ? (u < .4 ? 1. : 0.)
                       : kind == Distribution::binomial ? std::floor(5 * u)
                       : counts                         ? std::floor(60 * u * u * u)
                                                        : .05 + 3 * u;
    if (data.trials.size() > 0) data.trials(i) = data.response(i) + std::floor(4 * uniform(generator)) + 1;
    if (data.status.size() > 0) data.status(i) = uniform(generator) < .3 ? 0. : 1.;
    data.weights(i) = std::floor(3 * uniform(generator));
  }
  data.weights(0) = 1;
  data.offset = Vector::LinSpaced(rows, -.5, .5);
  return data;
}

inline Regression regression_of(const Family& family, RegressionData data) {
  const Index cols = data.design.cols();
  return family_regression(std::move(data), family.distribution, family.link,
                           make_prior(NormalPriorOptions{}, cols));
}

}  // namespace magva::test
