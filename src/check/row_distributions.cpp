// The responses' distributions at draws from the posterior, by a family's functions or by the probabilities
// of classes.
#include <algorithm>
#include <cmath>

#include "magva/check.hpp"

namespace magva {

namespace {

class FamilyDistributions final : public RowDistributions {
 public:
  FamilyDistributions(const CheckInput& input, Index first, Index count)
      : input_(input), rows_(input.rows.from(first, count)), eta_(count, input.draws()) {
    input.predictor(first, eta_);
  }

  Matrix log_likelihoods() const override {
    Matrix out(rows_.rows, input_.draws());
    Vector constants(rows_.rows);
    input_.family->constants(rows_, constants.data());
    for (Index s = 0; s < input_.draws(); ++s)
      input_.family->log_density(rows_, eta_.col(s).data(), own(s), out.col(s).data());
    out.colwise() += constants;
    return out;
  }
  double cdf(Index i, Index s, double y) const override {
    return input_.family->cdf(y, eta_(i, s), own(s), trials_of(i));
  }
  double mean(Index i, Index s) const override {
    return input_.family->mean(eta_(i, s), own(s), trials_of(i));
  }
  double variance(Index i, Index s) const override {
    return input_.family->variance(eta_(i, s), own(s), trials_of(i));
  }
  double simulate(Index i, Index s, std::mt19937_64& generator) const override {
    return input_.family->simulate(eta_(i, s), own(s), trials_of(i), generator);
  }

 private:
  const double* own(Index s) const { return input_.own.col(s).data(); }
  double trials_of(Index i) const { return rows_.trials ? rows_.trials[i] : 1.0; }

  const CheckInput& input_;
  ResponseRows rows_;
  Matrix eta_;
};

class ClassDistributions final : public RowDistributions {
 public:
  ClassDistributions(const CheckInput& input, Index first, Index count)
      : input_(input), rows_(input.rows.from(first, count)), p_(count, input.draws() * input.classes) {
    input.probabilities(first, p_);
  }

  Matrix log_likelihoods() const override {
    Matrix out(rows_.rows, input_.draws());
    for (Index s = 0; s < input_.draws(); ++s)
      for (Index i = 0; i < rows_.rows; ++i)
        out(i, s) = std::log(probability(i, s, static_cast<Index>(rows_.response[i])));
    return out;
  }
  double cdf(Index i, Index s, double y) const override {
    double sum = 0;
    for (Index k = 0; k < input_.classes && static_cast<double>(k) <= y; ++k) sum += probability(i, s, k);
    return std::min(1.0, sum);
  }
  double mean(Index i, Index s) const override {
    double sum = 0;
    for (Index k = 1; k < input_.classes; ++k) sum += static_cast<double>(k) * probability(i, s, k);
    return sum;
  }
  double variance(Index i, Index s) const override {
    const double m = mean(i, s);
    double sum = 0;
    for (Index k = 0; k < input_.classes; ++k)
      sum += std::pow(static_cast<double>(k) - m, 2) * probability(i, s, k);
    return sum;
  }
  double simulate(Index i, Index s, std::mt19937_64& generator) const override {
    double left = std::uniform_real_distribution<double>()(generator);
    Index k = 0;
    while (k + 1 < input_.classes && (left -= probability(i, s, k)) >= 0) ++k;
    return static_cast<double>(k);
  }

 private:
  double probability(Index i, Index s, Index k) const { return p_(i, s * input_.classes + k); }

  const CheckInput& input_;
  ResponseRows rows_;
  Matrix p_;
};

}  // namespace

std::unique_ptr<const RowDistributions> CheckInput::distributions(Index first, Index count) const {
  if (family) return std::make_unique<const FamilyDistributions>(*this, first, count);
  return std::make_unique<const ClassDistributions>(*this, first, count);
}

}  // namespace magva
