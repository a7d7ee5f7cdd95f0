// Any response family as a likelihood, row by row; families with vector code of their own use that.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "magva/family_regression.hpp"
#include "models/design_moments.hpp"
#include "models/likelihood.hpp"
#include "models/normal_rule.hpp"
#include "models/regression_scratch.hpp"

namespace magva {

namespace {

constexpr Index kRowsAtOnce = 64;
using Buffer = std::array<double, kRowsAtOnce>;

/// Weighted log densities and derivatives of some rows of one draw.
struct RowSlopes {
  Index count;
  Buffer value;
  Buffer by_eta;
  std::array<double, kMostOwnParameters * kRowsAtOnce>
      by_own;  // the first coordinate's `count`, the second's

  void add_to(BlockSums& sums, Index row, std::size_t part, Index own_count) const {
    sums.log_likelihood[part] += value[static_cast<std::size_t>(row)];
    if (own_count > 0) sums.nuisance_gradient[part] += by_own[static_cast<std::size_t>(row)];
    if (own_count > 1) sums.second_gradient[part] += by_own[static_cast<std::size_t>(count + row)];
  }
};

/// E log p(y | eta, s) with s the own coordinate: a rule for s, and given s a normal eta.
class ExpectedFamily final : public ExpectedLikelihood {
 public:
  explicit ExpectedFamily(std::shared_ptr<const ResponseFamily> family) : family_(std::move(family)) {}
  bool log_concave() const override { return family_->log_concave(); }

  NuisanceSums expect(const PredictorBlock& block, const NormalMarginal& own,
                      const PredictorDerivatives& out) const override {
    NuisanceSums sums;
    for (Index first = 0; first < block.rows; first += kRowsAtOnce)
      expect_rows(block, {first, std::min(kRowsAtOnce, block.rows - first)}, own, out, sums);
    return sums;
  }
  NuisanceSums nuisance_prior(const NormalMarginal& own) const override {
    return family_->own_count() == 0 ? NuisanceSums{} : family_->own().front().prior.expect(own);
  }

 private:
  using Points = std::array<PointDerivatives, kRowsAtOnce>;

  void expect_rows(const PredictorBlock& block, detail::RowSpan span, const NormalMarginal& own,
                   const PredictorDerivatives& out, NuisanceSums& sums) const {
    Points points{};
    if (family_->own_count() == 0)
      expect_given(block, span, {0, 0, 1}, points);
    else
      integrate_own(block, span, own, points);
    for (Index k = 0; k < span.count; ++k) {
      const Index i = span.first + k;
      const double w = block.weight[i];
      // A row that counts for nothing may be one that fills up, whose response the family could not have.
      const PointDerivatives& point = w == 0 ? kNothing : points[static_cast<std::size_t>(k)];
      out.slope[i] = w * point.by_eta;
      out.curvature[i] = -w * point.by_eta2;
      sums.value += w * point.value;
      if (family_->own_count() == 0) continue;
      out.cross[i] = -w * point.by_eta_own[0];
      sums.slope += w * point.by_own[0];
      sums.curvature -= w * point.by_own2[0];
    }
  }

  void integrate_own(const PredictorBlock& block, detail::RowSpan span, const NormalMarginal& own,
                     Points& points) const {
    const double sd = std::sqrt(own.variance);
    const detail::PairRule* rule = detail::normal_rule(sd);
    if (!rule) {
      for (PointDerivatives& point : points) point.value = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    for (std::size_t k = 0; k < rule->node.size(); ++k)
      for (const double z : {-rule->node[k], rule->node[k]})
        expect_given(block, span, {own.mean + sd * z, sd > 0 ? z / sd : 0, rule->weight[k]}, points,
                     own.variance);
  }

  /// A value of the own coordinate, (value - mean) / variance there, and its weight.
  struct OwnNode {
    double value;
    double shift;
    double weight;
  };

  void expect_given(const PredictorBlock& block, detail::RowSpan span, const OwnNode& node, Points& points,
                    double own_variance = 0) const {
    Buffer mean;
    Buffer variance;
    for (Index k = 0; k < span.count; ++k) {
      const Index i = span.first + k;
      const double covariance = own_variance > 0 ? block.covariance[i] : 0;
      mean[static_cast<std::size_t>(k)] = block.mean[i] + covariance * node.shift;
      const double explained = own_variance > 0 ? covariance * covariance / own_variance : 0;
      variance[static_cast<std::size_t>(k)] = std::max(0.0, block.variance[i] - explained);
    }
    Points given;
    const ResponseRows rows{block.response + span.first, nullptr,
                            block.status ? block.status + span.first : nullptr, span.count};
    family_->expected_derivatives(rows, mean.data(), variance.data(), &node.value, given.data());
    for (std::size_t k = 0; k < static_cast<std::size_t>(span.count); ++k) {
      points[k].value += node.weight * given[k].value;
      points[k].by_eta += node.weight * given[k].by_eta;
      points[k].by_eta2 += node.weight * given[k].by_eta2;
      points[k].by_own[0] += node.weight * given[k].by_own[0];
      points[k].by_eta_own[0] += node.weight * given[k].by_eta_own[0];
      points[k].by_own2[0] += node.weight * given[k].by_own2[0];
    }
  }

  static constexpr PointDerivatives kNothing{};
  std::shared_ptr<const ResponseFamily> family_;
};

class FamilyLikelihood final : public Likelihood {
 public:
  /// `fast` may be null; else it has the same density, but for constants and priors, in vector code.
  FamilyLikelihood(std::shared_ptr<const ResponseFamily> family, std::shared_ptr<const Likelihood> fast)
      : family_(std::move(family)), fast_(std::move(fast)) {}

  const std::shared_ptr<const ResponseFamily>& family() const { return family_; }
  LikelihoodKind kind() const override { return fast_ ? fast_->kind() : LikelihoodKind::other; }

  std::vector<std::string> validate(ConstVectorRef response) const override {
    return family_->validate({response.data(), nullptr, nullptr, response.size()});
  }
  std::vector<std::string> validate_rows(const ResponseRows& rows) const override {
    return family_->validate(rows);
  }
  double constant(ConstVectorRef response, ConstVectorRef weight) const override {
    return constant_of_rows({response.data(), nullptr, nullptr, response.size()}, weight);
  }
  double constant_of_rows(const ResponseRows& rows, ConstVectorRef weight) const override {
    Vector constants(rows.rows);
    family_->constants(rows, constants.data());
    double sum = 0;
    for (Index i = 0; i < rows.rows; ++i)
      if (weight(i) > 0) sum += weight(i) * constants(i);
    return sum;
  }
  double intercept_start(ConstVectorRef response, ConstVectorRef weight) const override {
    return family_->eta_start({response.data(), nullptr, nullptr, response.size()}, weight);
  }

  Index nuisance_count() const override { return family_->own_count(); }
  std::string nuisance_name(Index k) const override { return "log_" + own(k).name; }
  double nuisance_start(Index k, ConstVectorRef response, ConstVectorRef weight) const override {
    return family_->own_start({response.data(), nullptr, nullptr, response.size()}, weight)(k);
  }
  double nuisance_prior(Index k, double value, double& gradient) const override {
    const LogScaleDensity density = own(k).prior.at(value);
    gradient += density.first;
    return density.value;
  }
  Shape shape(const double* own) const override {
    if (fast_) return fast_->shape(own);
    Shape shape;
    std::copy_n(own, family_->own_count(), shape.own.begin());
    return shape;
  }

  void evaluate_block(const ResponseBlock& block, double* eta, Index stride, Index draws, const Shape* shapes,
                      BlockSums* sums) const override {
    if (fast_) return fast_->evaluate_block(block, eta, stride, draws, shapes, sums);
    RowSlopes slopes;
    for (Index s = 0; s < draws; ++s)
      for (Index first = 0; first < block.rows; first += kRowsAtOnce) {
        const Index count = std::min(kRowsAtOnce, block.rows - first);
        double* at = eta + s * stride + first;
        weighted_slopes(block, first, count, at, shapes[s], slopes);
        std::copy_n(slopes.by_eta.data(), count, at);
        for (Index k = 0; k < count; ++k)
          slopes.add_to(sums[s], k, static_cast<std::size_t>(k % 8), nuisance_count());
      }
  }

  void evaluate_vector(const ResponseBlock& block, double* eta, const Shape* shapes,
                       BlockSums& sums) const override {
    if (fast_) return fast_->evaluate_vector(block, eta, shapes, sums);
    constexpr Index kDraws = detail::DrawVectorKernel::kDraws;
    RowSlopes slopes;
    Buffer column;
    for (Index s = 0; s < kDraws; ++s)
      for (Index first = 0; first < block.rows; first += kRowsAtOnce) {
        const Index count = std::min(kRowsAtOnce, block.rows - first);
        for (Index k = 0; k < count; ++k) column[static_cast<std::size_t>(k)] = eta[(first + k) * kDraws + s];
        weighted_slopes(block, first, count, column.data(), shapes[s], slopes);
        for (Index k = 0; k < count; ++k) {
          eta[(first + k) * kDraws + s] = slopes.by_eta[static_cast<std::size_t>(k)];
          slopes.add_to(sums, k, static_cast<std::size_t>(s), nuisance_count());
        }
      }
  }
  void close(BlockSums& sums) const override {
    if (fast_) fast_->close(sums);
  }

  void log_density(ConstVectorRef response, VectorRef eta, const Shape& shape) const override {
    const ResponseRows rows{response.data(), nullptr, nullptr, response.size()};
    Vector constants(response.size());
    family_->constants(rows, constants.data());
    family_->log_density(rows, eta.data(), shape.own.data(), eta.data());
    eta += constants;
  }

  std::shared_ptr<const ExpectedLikelihood> expectations() const override {
    if (fast_) return fast_->expectations();
    // Under a normal log shape, E exp(shape (log y - eta)) of a Weibull likelihood is infinite.
    if (family_->own_count() > 1 || family_->distribution() == Distribution::weibull) return nullptr;
    return std::make_shared<ExpectedFamily>(family_);
  }

  double mean(double eta, const Shape& shape) const override { return family_->mean(eta, shape.own.data()); }
  double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const override {
    return family_->simulate(eta, shape.own.data(), 1, generator);
  }

 private:
  const OwnParameter& own(Index k) const { return family_->own()[static_cast<std::size_t>(k)]; }

  /// Rows with weight 0, which may only fill up, give 0.
  void weighted_slopes(const ResponseBlock& block, Index first, Index count, const double* eta,
                       const Shape& shape, RowSlopes& out) const {
    const ResponseRows rows{block.response + first, nullptr, block.status ? block.status + first : nullptr,
                            count};
    family_->slopes(rows, eta, shape.own.data(), out.value.data(), out.by_eta.data(), out.by_own.data());
    const auto weigh = [&](double* values) {
      for (Index k = 0; k < count; ++k) {
        const double w = block.weight[first + k];
        values[k] = w == 0 ? 0 : w * values[k];
      }
    };
    weigh(out.value.data());
    weigh(out.by_eta.data());
    for (Index j = 0; j < nuisance_count(); ++j) weigh(out.by_own.data() + j * count);
    out.count = count;
  }

  std::shared_ptr<const ResponseFamily> family_;
  std::shared_ptr<const Likelihood> fast_;
};

/// Vector code for the family, if there is any.
std::shared_ptr<const Likelihood> fast_likelihood(const ResponseFamily& family) {
  const Distribution distribution = family.distribution();
  if (distribution == Distribution::gaussian) return detail::gaussian(family.own().front().prior);
  if (distribution == Distribution::poisson) return poisson_log();
  const bool successes = distribution == Distribution::bernoulli || distribution == Distribution::binomial;
  return successes && family.link() == Link::logit ? bernoulli_logit() : nullptr;
}

}  // namespace

std::shared_ptr<const Likelihood> make_likelihood(std::shared_ptr<const ResponseFamily> family) {
  auto fast = fast_likelihood(*family);
  return std::make_shared<FamilyLikelihood>(std::move(family), std::move(fast));
}

std::shared_ptr<const ResponseFamily> response_family(const Likelihood& likelihood) {
  const auto* of_family = dynamic_cast<const FamilyLikelihood*>(&likelihood);
  return of_family ? of_family->family() : nullptr;
}

Regression family_regression(RegressionData data, Distribution family, Link link,
                             std::shared_ptr<const CoefficientPrior> prior) {
  auto own = default_own_parameters(family, data.response, data.weights);
  return {std::move(data), make_likelihood(make_response_family(family, link, std::move(own))),
          std::move(prior)};
}

}  // namespace magva
