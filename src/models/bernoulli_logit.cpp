#include <algorithm>
#include <cmath>

#include "models/elementwise_likelihood.hpp"
#include "models/expected_likelihoods.hpp"

namespace magva {

namespace {

using detail::ElementwiseLikelihood;
using detail::Point;
using detail::set;
using detail::Vec;

class BernoulliLogit final : public ElementwiseLikelihood<BernoulliLogit> {
 public:
  static constexpr bool kNuisance = false;
  using ElementwiseLikelihood::constant;
  double constant(double) const { return 0.0; }
  LikelihoodKind kind() const override { return LikelihoodKind::bernoulli_logit; }
  template <class S>
  Point point(Vec eta, Vec y, const S&) const {
    const detail::Softplus softplus = detail::softplus(eta);
    return {y * eta - softplus.value, y - softplus.derivative, Vec{}};
  }
  /// Where all weights are 1, the sum of log(1 + exp(-|eta|)) is the logarithm of a product.
  void evaluate_block(const ResponseBlock& block, double* eta, Index stride, Index draws, const Shape* shapes,
                      BlockSums* sums) const override {
    if (!block.unweighted)
      return ElementwiseLikelihood::evaluate_block(block, eta, stride, draws, shapes, sums);
    for (Index s = 0; s < draws; ++s)
      by_products(block.rows, detail::kPadding, sums[s],
                  [&](Index begin, Index end) { add_rows(block, eta + s * stride, begin, end, sums[s]); });
  }
  void evaluate_vector(const ResponseBlock& block, double* eta, const Shape* shapes,
                       BlockSums& sums) const override {
    if (!block.unweighted) return ElementwiseLikelihood::evaluate_vector(block, eta, shapes, sums);
    by_products(block.rows, 1, sums,
                [&](Index begin, Index end) { add_rows_of_pack(block.response, eta, begin, end, sums); });
  }
  void close(BlockSums& sums) const override { take_logarithm(sums); }

  std::vector<std::string> validate(ConstVectorRef response) const override {
    return detail::first_fault(response, "0 or 1 for a logistic regression",
                               [](double y) { return y == 0.0 || y == 1.0; });
  }
  double intercept_start(ConstVectorRef y, ConstVectorRef w) const override {
    const double ones = w.dot(y);
    return std::log((ones + 0.5) / (w.sum() - ones + 0.5));
  }
  std::shared_ptr<const ExpectedLikelihood> expectations() const override {
    return detail::expected_bernoulli_logit();
  }
  double mean(double eta, const Shape&) const override { return 1.0 / (1.0 + std::exp(-eta)); }
  double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const override {
    return std::bernoulli_distribution(mean(eta, shape))(generator) ? 1.0 : 0.0;
  }

 private:
  static constexpr Index kLanes = detail::kLanes<Vec>;
  static constexpr int kParts = static_cast<int>(detail::kPadding / kLanes);
  static constexpr int kAtOnce = 4;  // vectors

  /// N vectors from `eta`, with e = exp(-|eta|).
  template <int N>
  struct Odds {
    [[gnu::always_inline]] explicit Odds(const double* from) {
      detail::unroll<N>([&](auto i) {
        eta[i] = detail::load(from + i * kLanes);
        e[i] = -detail::abs(eta[i]);
      });
      detail::exp_each(e);
    }
    Vec probability(int i) const { return (eta[i] > Vec{} ? set(1.0) : e[i]) / (1.0 + e[i]); }
    Vec positive_part(int i) const { return detail::max(eta[i], Vec{}); }
    Vec eta[N];
    Vec e[N];
  };

  /// The sums so far: where a block ends does not show in them.
  template <int Parts>
  struct Sums {
    explicit Sums(const BlockSums& from) {
      for (int part = 0; part < Parts; ++part) {
        linear[part] = detail::load(from.log_likelihood.data() + part * kLanes);
        product[part] = detail::load(from.product.data() + part * kLanes);
      }
    }
    void store_to(BlockSums& to) const {
      for (int part = 0; part < Parts; ++part) {
        detail::store(to.log_likelihood.data() + part * kLanes, linear[part]);
        detail::store(to.product.data() + part * kLanes, product[part]);
      }
    }
    Vec linear[Parts];
    Vec product[Parts];
  };

  /// Calls add(begin, end) for pieces of `rows`, between which the products' logarithms are taken: a factor
  /// is between 1 and 2, and each of a product's parts has one for `each` rows.
  template <class Add>
  static void by_products(Index rows, Index each, BlockSums& to, Add&& add) {
    constexpr Index kMostFactors = 1000;
    for (Index begin = 0; begin < rows;) {
      if (to.factors == kMostFactors) take_logarithm(to);
      const Index end = std::min(rows, begin + each * (kMostFactors - to.factors));
      add(begin, end);
      to.factors += (end - begin) / each;
      begin = end;
    }
  }

  static void take_logarithm(BlockSums& sums) {
    for (int part = 0; part < kParts; ++part)
      add(-detail::log(detail::load(sums.product.data() + part * kLanes)),
          sums.log_likelihood.data() + part * kLanes);
    sums.product.fill(1.0);
    sums.factors = 0;
  }

  static void add_rows(const ResponseBlock& block, double* eta, Index begin, Index end, BlockSums& to) {
    constexpr Index kStep = kAtOnce * kLanes;
    Sums<kParts> sums(to);
    Index row = begin;
    for (; row + kStep <= end; row += kStep) add_packs<kAtOnce>(block, eta, row, sums);
    for (; row < end; row += detail::kPadding) add_packs<kParts>(block, eta, row, sums);
    sums.store_to(to);
  }

  template <int N>
  static void add_packs(const ResponseBlock& block, double* eta, Index row, Sums<kParts>& sums) {
    const Odds<N> odds(eta + row);
    detail::unroll<N>([&](auto i) {
      const Index at = row + i * kLanes;
      const Vec y = detail::load(block.response + at);
      const Vec weight = detail::load(block.weight + at);
      sums.linear[i % kParts] += weight * (y * odds.eta[i] - odds.positive_part(i));
      sums.product[i % kParts] *= detail::multiply_add(weight, odds.e[i], set(1.0));
      detail::store(eta + at, weight * (y - odds.probability(i)));
    });
  }

  static void add_rows_of_pack(const double* response, double* eta, Index begin, Index end, BlockSums& to) {
    Sums<1> sums(to);
    Index row = begin;
    for (; row + kAtOnce <= end; row += kAtOnce) add_draws<kAtOnce>(response + row, eta + row * kLanes, sums);
    for (; row < end; ++row) add_draws<1>(response + row, eta + row * kLanes, sums);
    sums.store_to(to);
  }

  template <int N>
  static void add_draws(const double* response, double* eta, Sums<1>& sums) {
    const Odds<N> odds(eta);
    detail::unroll<N>([&](auto i) {
      const Vec y = set(response[i]);
      sums.linear[0] += detail::multiply_add(y, odds.eta[i], -odds.positive_part(i));
      sums.product[0] *= 1.0 + odds.e[i];
      detail::store(eta + i * kLanes, y - odds.probability(i));
    });
  }
};

}  // namespace

std::shared_ptr<const Likelihood> bernoulli_logit() { return std::make_shared<BernoulliLogit>(); }

}  // namespace magva
