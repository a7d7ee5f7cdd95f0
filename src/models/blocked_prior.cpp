// A prior put together from blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "magva/error.hpp"
#include "models/prior.hpp"
#include "models/prior_block.hpp"

namespace magva {

namespace {

using detail::BlockPlace;
using detail::PriorTerms;

class ExpectedBlocks final : public ExpectedPrior {
 public:
  ExpectedBlocks(PriorTerms terms, Index coefficients)
      : terms_(std::move(terms)), coefficients_(coefficients) {}
  bool log_concave() const override {
    return std::all_of(terms_.begin(), terms_.end(), [](const auto& term) { return term->log_concave(); });
  }
  bool separable() const override {
    return std::all_of(terms_.begin(), terms_.end(), [](const auto& term) { return term->separable(); });
  }
  std::optional<IndependentNormals> independent_normals() const override {
    IndependentNormals out{Vector::Zero(coefficients_), Vector::Ones(coefficients_), std::nullopt, {}};
    for (const auto& term : terms_)
      if (!term->add_normals(out)) return std::nullopt;
    return out;
  }
  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    double value = 0;
    for (const auto& term : terms_) value += term->expect(q, gradient, curvature);
    return value;
  }

 private:
  PriorTerms terms_;
  Index coefficients_;
};

class BlockedPrior final : public CoefficientPrior {
 public:
  BlockedPrior(PriorTerms terms, std::vector<BlockPlace> places, Index coefficients, Index dimension)
      : terms_(std::move(terms)),
        places_(std::move(places)),
        coefficients_(coefficients),
        dimension_(dimension),
        plain_(std::all_of(terms_.begin(), terms_.end(),
                           [](const auto& term) { return term->coefficients_are_coordinates(); })) {}

  Index coefficients() const override { return coefficients_; }
  Index dimension() const override { return dimension_; }
  Index buffer_size() const override { return plain_ ? 0 : coefficients_; }
  bool coefficients_are_coordinates() const override { return plain_; }

  const double* coefficients_at(const double* theta, double* buffer) const override {
    if (plain_) return theta;
    std::copy_n(theta, coefficients_, buffer);
    for (const auto& term : terms_) term->coefficients_at(theta, buffer);
    return buffer;
  }

  double add_to(const double* theta, const double*, double* gradient) const override {
    std::fill(gradient + coefficients_, gradient + dimension_, 0.0);
    double value = 0;
    // Terms that turn derivatives by their coefficients into others come first: a centred intercept adds to
    // all.
    for (const bool coordinates : {false, true})
      for (const auto& term : terms_)
        if (term->coefficients_are_coordinates() == coordinates) value += term->add_to(theta, gradient);
    return value;
  }

  void start(VectorRef theta, double intercept, Index) const override {
    theta(0) = intercept;
    for (const auto& term : terms_) term->start(theta);
  }

  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    std::size_t b = 0;
    if (i < coefficients_) {
      while (i < places_[b].first || i >= places_[b].first + places_[b].count) ++b;
      return terms_[b]->coefficient_name(names[static_cast<std::size_t>(i)]);
    }
    while (b + 1 < places_.size() && i >= places_[b + 1].hyper) ++b;
    return terms_[b]->hyper_name(i - places_[b].hyper, names);
  }

  std::shared_ptr<const ExpectedPrior> expectations() const override {
    const bool known =
        std::all_of(terms_.begin(), terms_.end(), [](const auto& term) { return term->has_expectations(); });
    return known ? std::make_shared<ExpectedBlocks>(terms_, coefficients_) : nullptr;
  }

  std::optional<IndependentPriors> independent() const override {
    IndependentPriors all{Vector(coefficients_), Vector(coefficients_),
                          Vector::Constant(coefficients_, std::numeric_limits<double>::infinity())};
    for (const auto& term : terms_)
      if (!term->independent(all)) return std::nullopt;
    return all;
  }

 private:
  PriorTerms terms_;
  std::vector<BlockPlace> places_;
  Index coefficients_;
  Index dimension_;
  bool plain_;
};

void check_length(const Vector& values, Index count, const char* what) {
  if (values.size() != count)
    throw UsageError(
        fmt::format("a block of {} coefficients has {} {}s in its prior", count, values.size(), what));
}

void check_scales(const Vector& scale) {
  for (const double one : scale)
    if (!(one > 0 && std::isfinite(one)))
      throw UsageError(fmt::format("the scale of a coefficient's prior is {}, but it must be positive", one));
}

void check_finite(const Vector& location) {
  if (!location.allFinite()) throw UsageError("the location of a coefficient's prior must be finite");
}

void check_block(const NormalBlock& prior, Index count, Index) {
  check_length(prior.location, count, "location");
  check_length(prior.scale, count, "scale");
  check_finite(prior.location);
  check_scales(prior.scale);
}

void check_block(const StudentTBlock& prior, Index count, Index coefficients) {
  check_block(NormalBlock{prior.location, prior.scale}, count, coefficients);
  check_length(prior.degrees_of_freedom, count, "degree of freedom value");
  for (const double nu : prior.degrees_of_freedom)
    if (!(nu > 0 && std::isfinite(nu)))
      throw UsageError(
          fmt::format("the degrees of freedom of a coefficient's prior are {}, but must be positive", nu));
}

void check_block(const CentredInterceptBlock& prior, Index count, Index coefficients) {
  if (count != 1) throw UsageError("a centred intercept's prior is for one coefficient");
  check_length(prior.centre, coefficients, "column mean");
  check_finite(prior.centre);
  check_finite(Vector::Constant(1, prior.location));
  check_scales(Vector::Constant(1, prior.scale));
}

void check_block(const HierarchicalBlock&, Index, Index) {}

void check_block(const HorseshoeBlock& prior, Index, Index) {
  check_scales(Vector::Constant(1, prior.global_scale));
  check_scales(Vector::Constant(1, prior.slab_scale.value_or(1.0)));
  check_scales(Vector::Constant(1, prior.slab_degrees_of_freedom));
}

/// Coordinates beside those in the coefficients' places.
Index hyper_count(const PriorBlock& block) {
  if (std::holds_alternative<HierarchicalBlock>(block.prior)) return 1;
  const auto* horseshoe = std::get_if<HorseshoeBlock>(&block.prior);
  return horseshoe ? block.count + (horseshoe->slab_scale ? 2 : 1) : 0;
}

void check_cover(const std::vector<PriorBlock>& blocks, Index coefficients) {
  std::vector<int> times(static_cast<std::size_t>(coefficients), 0);
  for (const PriorBlock& block : blocks) {
    if (block.count < 1 || block.first < 0 || block.first + block.count > coefficients)
      throw UsageError(fmt::format("a prior is for the coefficients {} to {}, but there are {}",
                                   block.first + 1, block.first + block.count, coefficients));
    for (Index j = block.first; j < block.first + block.count; ++j) ++times[static_cast<std::size_t>(j)];
  }
  for (std::size_t j = 0; j < times.size(); ++j)
    if (times[j] != 1)
      throw UsageError(
          fmt::format("coefficient {} has {} priors, but each must have exactly one", j + 1, times[j]));
}

}  // namespace

std::shared_ptr<const CoefficientPrior> make_prior(const std::vector<PriorBlock>& blocks,
                                                   Index coefficients) {
  check_cover(blocks, coefficients);
  PriorTerms terms;
  std::vector<BlockPlace> places;
  Index dimension = coefficients;
  for (const PriorBlock& block : blocks) {
    places.push_back({block.first, block.count, dimension});
    dimension += hyper_count(block);
    std::visit(
        [&](const auto& prior) {
          check_block(prior, block.count, coefficients);
          terms.push_back(detail::make_term(prior, places.back()));
        },
        block.prior);
  }
  return std::make_shared<BlockedPrior>(std::move(terms), std::move(places), coefficients, dimension);
}

std::string describe_prior(const BlockPrior& prior, Index j) {
  struct Describe {
    Index j;
    std::string operator()(const NormalBlock& p) const {
      return fmt::format("normal({:.4g}, {:.4g})", p.location(j), p.scale(j));
    }
    std::string operator()(const StudentTBlock& p) const {
      return fmt::format("student_t({:.4g}, {:.4g}, {:.4g})", p.degrees_of_freedom(j), p.location(j),
                         p.scale(j));
    }
    std::string operator()(const CentredInterceptBlock& p) const {
      return fmt::format("normal({:.4g}, {:.4g}) at centred predictors", p.location, p.scale);
    }
    std::string operator()(const HierarchicalBlock& p) const {
      return fmt::format("normal(0, sd), sd ~ {}", p.sd.to_string());
    }
    std::string operator()(const HorseshoeBlock& p) const {
      if (!p.slab_scale) return fmt::format("horseshoe({:.4g})", p.global_scale);
      return fmt::format("regularised horseshoe({:.4g}, slab {:.4g})", p.global_scale, *p.slab_scale);
    }
  };
  return std::visit(Describe{j}, prior);
}

}  // namespace magva
