#pragma once
// The loop over a block's rows that all likelihoods share. A family supplies one vector of rows:
//   static constexpr bool kNuisance;
//   Point point(Vec eta, Vec y, const S& shape) const;
// where S is Shape, for rows of one draw, or VecShape, for one row of a vector of draws.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/vector_math.hpp"
#include "models/likelihood.hpp"

namespace magva::detail {

/// A sentence about the first response that is not `wanted`.
template <class Test>
std::vector<std::string> first_fault(ConstVectorRef response, const char* wanted, Test&& sound) {
  for (Index i = 0; i < response.size(); ++i)
    if (!sound(response(i)))
      return {fmt::format("the response in row {} is {}, but it must be {}", i + 1, response(i), wanted)};
  return {};
}

/// The shapes of a vector of draws.
struct VecShape {
  Vec precision;
  Vec log_scale;
};

/// For each lane: log p(y | eta) without its constant, its derivative by eta, and by the nuisance
/// parameter.
struct Point {
  Vec log_likelihood;
  Vec residual;
  Vec nuisance;
};

template <class Family>
class ElementwiseLikelihood : public Likelihood {
 public:
  void evaluate_block(const ResponseBlock& block, double* eta, Index stride, Index draws, const Shape* shapes,
                      BlockSums* sums) const override {
    for (Index s = 0; s < draws; ++s) add_draw(block, eta + s * stride, shapes[s], sums[s]);
  }

  void evaluate_vector(const ResponseBlock& block, double* eta, const Shape* shapes,
                       BlockSums& sums) const override {
    VecShape shape;
    for (int s = 0; s < kLanes<Vec>; ++s) {
      shape.precision[s] = shapes[s].precision;
      shape.log_scale[s] = shapes[s].log_scale;
    }
    // On from the sums so far: where a block ends does not show in them.
    Vec log_likelihood = load(sums.log_likelihood.data());
    Vec nuisance = load(sums.nuisance_gradient.data());
    for (Index i = 0; i < block.rows; ++i) {
      double* at = eta + i * kLanes<Vec>;
      const Point point = family().point(load(at), set(block.response[i]), shape);
      const Vec weight = set(block.weight[i]);
      log_likelihood += weight * point.log_likelihood;
      if constexpr (Family::kNuisance) nuisance += weight * point.nuisance;
      store(at, weight * point.residual);
    }
    store(sums.log_likelihood.data(), log_likelihood);
    if constexpr (Family::kNuisance) store(sums.nuisance_gradient.data(), nuisance);
  }

  void log_density(ConstVectorRef response, VectorRef eta, const Shape& shape) const final {
    constexpr Index kStep = kLanes<Vec>;
    for (Index i = 0; i < response.size(); i += kStep) {
      const Index n = std::min(kStep, response.size() - i);
      const Point point = family().point(masked_load(eta.data() + i, n, 0.0),
                                         masked_load(response.data() + i, n, 0.0), shape);
      masked_store(eta.data() + i, n, point.log_likelihood);
      for (Index k = i; k < i + n; ++k) eta(k) += family().constant(response(k));
    }
  }

  double constant(ConstVectorRef response, ConstVectorRef weight) const final {
    double sum = 0.0;
    for (Index i = 0; i < response.size(); ++i) sum += weight(i) * family().constant(response(i));
    return sum;
  }

  Index nuisance_count() const final { return Family::kNuisance ? 1 : 0; }

 protected:
  static void add(Vec value, double* to) { store(to, load(to) + value); }

 private:
  const Family& family() const { return static_cast<const Family&>(*this); }

  void add_draw(const ResponseBlock& block, double* eta, const Shape& shape, BlockSums& sums) const {
    for (Index i = 0; i < block.rows; i += kPadding) {
      for (Index part = 0; part < kPadding; part += kLanes<Vec>) {
        const Index row = i + part;
        const Point point = family().point(load(eta + row), load(block.response + row), shape);
        const Vec weight = load(block.weight + row);
        add(weight * point.log_likelihood, sums.log_likelihood.data() + part);
        if constexpr (Family::kNuisance) add(weight * point.nuisance, sums.nuisance_gradient.data() + part);
        store(eta + row, weight * point.residual);
      }
    }
  }
};

}  // namespace magva::detail
