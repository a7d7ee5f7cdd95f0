#pragma once
// What Lanczos iteration tells of an expected curvature A too large to be stored. In the coordinates in which
// the Sigma of that time is the identity, A = V L V' in the directions that were found; elsewhere its
// eigenvalues are taken to be 1, as they would be if Sigma were A^-1. A bound, which makes steps safe, takes
// them to be as large as the largest that a second iteration finds there: the first sees one vector of each
// eigenspace, and of a cluster of eigenvalues only some.
#include "refine/expected_curvature.hpp"
#include "search/lanczos.hpp"

namespace magva {

class SketchedCurvature final : public ExpectedCurvature {
 public:
  /// `first`: two gradients to start from, with something of all directions in which A is large.
  SketchedCurvature(LowRankCovariance sigma, const Product& curvature_times, ConstMatrixRef first);
  std::unique_ptr<ExpectedCurvature> clone() const override {
    return std::make_unique<SketchedCurvature>(*this);
  }

  Index dimension() const override { return sigma_.m(); }

  void prepare(const PairBatch& batch, const LowRankCovariance& sigma) override { compare(batch, sigma); }
  /// With a Sigma^-1 that moves on: what A has beyond it was found once.
  Matrix times(ConstMatrixRef x, const LowRankCovariance& sigma) const override;
  Vector diagonal(const LowRankCovariance& sigma) const override;
  void add_bound_times(ConstMatrixRef x, const LowRankCovariance& sigma, Matrix& to) const override;
  Vector mean_step(ConstVectorRef gradient, const LowRankCovariance&) const override {
    return solve(gradient, rest_);
  }
  /// Where the eigenvalues of all other directions are as low as 1.
  Vector longest_mean_step(ConstVectorRef gradient, const LowRankCovariance&) const override {
    return solve(gradient, 1);
  }

  void save(io::ChecksummedWriter& out) const override;
  static std::unique_ptr<ExpectedCurvature> read(io::ChecksummedReader& in, Workers& workers);

  /// The part of gradients in the directions that were found.
  Matrix known_part(ConstMatrixRef gradients) const { return found_.u * (found_.z.transpose() * gradients); }

 private:
  explicit SketchedCurvature(LowRankCovariance sigma) : sigma_(std::move(sigma)) {}
  Vector solve(ConstVectorRef g, double rest) const;

  LowRankCovariance sigma_;
  DualVectors found_;
  Vector values_;
  Vector bounds_;    // their sizes, and what their noise may add
  double rest_ = 1;  // about the largest eigenvalue of those that were not found
};

}  // namespace magva
