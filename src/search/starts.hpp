#pragma once
// Points to start from: mode searches from several places, and where a mode is useless, the best point on the
// way.
#include <optional>
#include <vector>

#include "magva/posterior.hpp"
#include "search/mode_search.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// A place for a Gaussian: its centre, and the curvature there, dense or sparse, where it is known.
struct Candidate {
  PathPoint centre;
  std::optional<Matrix> curvature;  ///< positive definite
  bool is_mode = false;             ///< a local maximum of the log density, not a point on the way to one
  std::size_t search = 0;           ///< which start led here
  std::shared_ptr<const FactoredPrecision> precision{};  ///< the curvature, where the Hessian is sparse
  std::optional<Vector> sd{};  ///< those of a mean-field Gaussian, or that the way to the centre shows
  bool has_mass = false;       ///< was found by an ELBO, not by the density

  bool has_curvature() const { return curvature || precision; }
  /// v' curvature v.
  double squared_length(ConstVectorRef v) const;
  Vector curvature_diagonal() const;
};

/// Of a candidate with a curvature: the Gaussian whose precision that is.
Gaussian local_gaussian(const Candidate& candidate);

/// At a point, with the curvature there, made positive definite; by the pattern, where it is known. Nothing
/// where the curvature cannot be had.
std::optional<Candidate> candidate_at(Evaluator& evaluator, PathPoint point, const HessianPattern* pattern);

/// The first point (`first`) and random ones around the model's start, all with a finite log density.
/// DataError where there is none.
std::vector<Vector> start_points(Evaluator& evaluator, ConstVectorRef first, int count, std::uint64_t seed);

/// L-BFGS with a candidate's curvature as its first guess.
ModeSearch search_with_curvature(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                                 const Candidate& known);

/// Searches on with the curvature to the very maximum. Nothing where the curvature cannot be had. The pattern
/// of the Hessian, where it is known, makes it cheap.
std::optional<Candidate> polish_mode(Evaluator& evaluator, const PathPoint& from,
                                     const HessianPattern* pattern = nullptr);

/// The point on a search's way whose local Gaussian has the best ELBO.
std::optional<Candidate> best_on_path(Evaluator& evaluator, const std::vector<PathPoint>& path,
                                      std::uint64_t seed);

/// Whether two candidates are the same mode, as far as the first one's curvature can tell.
bool same_place(const Candidate& a, const Candidate& b);

}  // namespace magva
