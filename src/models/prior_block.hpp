#pragma once
// A block of a coefficients' prior, as BlockedPrior puts them together.
#include <memory>
#include <string>
#include <vector>

#include "magva/expectations.hpp"
#include "magva/independent_prior.hpp"
#include "magva/priors.hpp"

namespace magva::detail {

/// Where a block's coordinates are: its coefficients (or what they are made of), and its further coordinates.
struct BlockPlace {
  Index first;
  Index count;
  Index hyper;
};

class PriorTerm {
 public:
  explicit PriorTerm(const BlockPlace& place) : place_(place) {}
  virtual ~PriorTerm() = default;

  /// Log prior density; adds its derivatives to `gradient`. Where coefficients are not coordinates,
  /// `gradient` begins with the log likelihood's derivatives by these, and is given those by the coordinates.
  virtual double add_to(const double* theta, double* gradient) const = 0;
  virtual bool coefficients_are_coordinates() const { return true; }
  /// Fills in the block's coefficients.
  virtual void coefficients_at(const double* /*theta*/, double* /*coefficients*/) const {}
  virtual void start(VectorRef /*theta*/) const {}
  /// Of a coordinate among the block's coefficients, and of its k-th further one.
  virtual std::string coefficient_name(const std::string& name) const { return name; }
  virtual std::string hyper_name(Index /*k*/, const std::vector<std::string>& /*names*/) const { return {}; }
  virtual bool has_expectations() const { return true; }
  virtual bool log_concave() const { return true; }
  virtual bool separable() const { return true; }  ///< as for an ExpectedPrior
  /// Its part of such a prior; false if it is none.
  virtual bool add_normals(IndependentNormals& /*out*/) const { return false; }
  virtual double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const = 0;
  /// Fills in those of its coefficients; false if they are not independent of each other and all else.
  virtual bool independent(IndependentPriors& /*all*/) const { return false; }

 protected:
  BlockPlace place_;
};

using PriorTerms = std::vector<std::shared_ptr<const PriorTerm>>;

std::shared_ptr<const PriorTerm> make_term(const NormalBlock& prior, const BlockPlace& place);
std::shared_ptr<const PriorTerm> make_term(const StudentTBlock& prior, const BlockPlace& place);
std::shared_ptr<const PriorTerm> make_term(const CentredInterceptBlock& prior, const BlockPlace& place);
std::shared_ptr<const PriorTerm> make_term(const HierarchicalBlock& prior, const BlockPlace& place);
std::shared_ptr<const PriorTerm> make_term(const HorseshoeBlock& prior, const BlockPlace& place);

}  // namespace magva::detail
