#pragma once
// The loop over a block's rows that all likelihoods share. A family supplies one pack of rows:
//   static constexpr bool kNuisance;
//   Point point(Pack eta, Pack y, const Shape&) const;
#include <algorithm>

#include "magva/model/likelihood.hpp"
#include "pack.hpp"

namespace magva::detail {

/// For each row of a pack: log p(y | eta) without its constant, its derivative by eta, and by the nuisance
/// parameter.
struct Point {
  Pack log_likelihood;
  Pack residual;
  Pack nuisance;
};

template <class Family>
class ElementwiseLikelihood : public Likelihood {
 public:
  void evaluate_block(const ResponseBlock& block, double* eta, Index stride, Index draws, const Shape* shapes,
                      BlockSums* sums) const override {
    for (Index s = 0; s < draws; ++s) add_draw(block, eta + s * stride, shapes[s], sums[s]);
  }

  void log_density(ConstVectorRef response, VectorRef eta, const Shape& shape) const final {
    constexpr Index kStep = kWidth<Pack>;
    for (Index i = 0; i < response.size(); i += kStep) {
      const Index n = std::min(kStep, response.size() - i);
      const Point point =
          family().point(load_some(eta.data() + i, n, 0.0), load_some(response.data() + i, n, 0.0), shape);
      store_some(eta.data() + i, n, point.log_likelihood);
      for (Index k = i; k < i + n; ++k) eta(k) += family().constant(response(k));
    }
  }

  double constant(ConstVectorRef response, ConstVectorRef weight) const final {
    double sum = 0.0;
    for (Index i = 0; i < response.size(); ++i) sum += weight(i) * family().constant(response(i));
    return sum;
  }

  bool has_nuisance() const final { return Family::kNuisance; }

 protected:
  static void add(Pack value, double* to) { store(to, load(to) + value); }

 private:
  const Family& family() const { return static_cast<const Family&>(*this); }

  void add_draw(const ResponseBlock& block, double* eta, const Shape& shape, BlockSums& sums) const {
    for (Index i = 0; i < block.rows; i += kPadding) {
      for (Index part = 0; part < kPadding; part += kWidth<Pack>) {
        const Index row = i + part;
        const Point point = family().point(load(eta + row), load(block.response + row), shape);
        const Pack weight = load(block.weight + row);
        add(weight * point.log_likelihood, sums.log_likelihood.data() + part);
        if constexpr (Family::kNuisance) add(weight * point.nuisance, sums.nuisance_gradient.data() + part);
        store(eta + row, weight * point.residual);
      }
    }
  }
};

}  // namespace magva::detail
