#pragma once
// Gaussians on the way to a mode, whose covariances are the inverse Hessians that the way itself shows
// (Pathfinder: Zhang, Carpenter, Gelman and Vehtari 2022). They cost a few draws each, whatever m is, and
// tell where on the way the posterior has its mass: a mode may be a spike without any.
#include <vector>

#include "search/mode_search.hpp"

namespace magva {

/// The covariance by BFGS updates, for the differences between points on a way, of a diagonal that these
/// differences give, too.
class SecantCovariance {
 public:
  explicit SecantCovariance(Index m);

  /// Goes on to the next point; a difference without positive curvature is left out.
  void add(const PathPoint& from, const PathPoint& to);
  double log_determinant() const;
  /// Rows of noise that a draw takes.
  Index noise_size() const { return diagonal_.size() + static_cast<Index>(updates_.size()); }
  /// Draws from N(0, Sigma), one column per column of noise.
  Matrix draws(ConstMatrixRef noise) const;
  Vector times(ConstVectorRef v) const;
  const Vector& diagonal() const { return diagonal_; }

 private:
  struct Update {
    Vector step;
    Vector change;     // of the gradient of -log density
    double curvature;  // step' change
  };
  void update_diagonal(const Update& with);

  Vector diagonal_;
  std::vector<Update> updates_;
};

/// A point on a search's way, as the middle of a Gaussian.
struct PathMean {
  PathPoint point;
  Vector mean;  ///< a Newton step from the point
  double elbo;
  Vector sd;  ///< of the diagonal that the way shows
};

struct PathElbos {
  PathMean best;    ///< by the ELBO from a few draws, the same for all points
  double end_elbo;  ///< of the last point's
};
/// `path` is not empty.
PathElbos best_path_mean(Evaluator& evaluator, const std::vector<PathPoint>& path, std::uint64_t seed);

}  // namespace magva
