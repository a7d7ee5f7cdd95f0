#pragma once
// What comes out of a fit: a Gaussian, and what is nearer to the posterior where the fit has found it; means,
// sds, quantiles, draws, log densities, divergences, files.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/types.hpp"

namespace magva {

class Capacitance;
class FactoredPrecision;
class LowRankPlusDiagonalView;
namespace io {
class ChecksummedReader;
class ChecksummedWriter;
}  // namespace io

/// An approximation of a posterior, whatever its shape.
class Posterior {
 public:
  virtual ~Posterior() = default;

  /// "gaussian", "skewed", "flow" or "mixture".
  virtual const char* shape() const = 0;
  virtual Index dimension() const = 0;
  virtual const Vector& mean() const = 0;
  virtual Vector sd() const = 0;
  virtual Vector covariance_row(Index i) const = 0;
  /// Of the marginals, one row per coordinate, one column per probability, each between 0 and 1.
  virtual Matrix quantiles(ConstVectorRef probabilities) const = 0;
  /// One column per draw; draw j of a seed is the same whatever the number asked for.
  virtual Matrix draws(Index count, std::uint64_t seed, std::uint32_t first = 0) const = 0;
  /// Twice `pairs` columns, of which k and k + pairs come from a Gaussian's draw and its mirror image.
  virtual Matrix antithetic_draws(Index pairs, std::uint64_t seed) const = 0;
  /// Normalised log densities of the columns of theta.
  virtual Vector log_density(ConstMatrixRef theta) const = 0;
  /// Of centre + scale o theta, where this is the distribution of theta; positive scales.
  virtual std::shared_ptr<const Posterior> rescaled(ConstVectorRef centre, ConstVectorRef scale) const = 0;

 protected:
  Posterior() = default;
  Posterior(const Posterior&) = default;
  Posterior(Posterior&&) = default;
  Posterior& operator=(const Posterior&) = default;
  Posterior& operator=(Posterior&&) = default;
};

/// What a Gaussian's covariance is: diagonal, low rank plus diagonal, any, or the inverse of a sparse matrix.
enum class GaussianKind { kMeanField, kLowRank, kFullRank, kSparsePrecision };
const char* to_string(GaussianKind kind);

/// N(mean, W W' + diag(residual)^2) with an m x p factor matrix W, or N(mean, L L') with a Cholesky factor L,
/// or a spiked covariance W diag(weights) W' + diag(residual)^2, which may be narrower than its diagonal
/// part, or N(mean, P^-1) with a sparse precision P.
///
/// The low-rank form is canonical: the columns of W are orthogonal, by decreasing length, and the entry of
/// largest magnitude in each is positive; so two runs can be compared. All is done by Woodbury: nothing of
/// size m x m. Nor is there with a sparse precision: its variances are by selected inversion.
class Gaussian final : public Posterior {
 public:
  /// Any W; it is brought into canonical form.
  static Gaussian low_rank(Vector mean, Matrix factors, Vector residual_sd);
  /// A lower triangular L with non-zero diagonal.
  static Gaussian dense(Vector mean, Matrix cholesky);
  /// N(mean, D (I + Q diag(change) Q') D), D = diag(scale), Q with orthonormal columns, changes above -1:
  /// what few observations leave of independent priors.
  static Gaussian spiked(Vector mean, Vector scale, const Matrix& directions, Vector change);
  static Gaussian sparse(Vector mean, std::shared_ptr<const FactoredPrecision> precision);

  const char* shape() const override { return "gaussian"; }
  Index dimension() const override { return mean_.size(); }
  bool is_dense() const { return dense_; }
  bool is_spiked() const { return weights_.size() > 0; }
  bool is_sparse() const { return precision_ != nullptr; }
  /// Whether the family leaves nothing of the covariance out.
  bool is_full_rank() const { return dense_ || is_sparse(); }
  GaussianKind kind() const;
  /// Columns of W; 0 for mean-field; m for a dense Gaussian or a sparse precision.
  Index rank() const { return is_sparse() ? dimension() : factors_.cols(); }

  const Vector& mean() const override { return mean_; }
  const Matrix& factors() const { return factors_; }       ///< W, or L where dense; empty where sparse
  const Vector& residual_sd() const { return residual_; }  ///< empty where dense or sparse
  const Vector& weights() const { return weights_; }       ///< of the columns of W; empty: all are 1
  const FactoredPrecision* precision() const { return precision_.get(); }  ///< null unless sparse
  Vector sd() const override;
  Vector covariance_row(Index i) const override;
  double covariance(Index i, Index j) const;
  double correlation(Index i, Index j) const;
  double log_determinant() const;  ///< log |Sigma|
  /// Share of the total variance, trace(Sigma), of each factor.
  Vector factor_shares() const;

  Matrix quantiles(ConstVectorRef probabilities) const override;
  Matrix draws(Index count, std::uint64_t seed, std::uint32_t first = 0) const override;
  Matrix antithetic_draws(Index pairs, std::uint64_t seed) const override;
  Vector log_density(ConstMatrixRef theta) const override;
  /// Independent normals behind a draw, and what a Gaussian makes of them: deviations from the mean.
  Index noise_size() const;
  Matrix deviations(ConstMatrixRef noise) const;
  /// Sigma V.
  Matrix times(ConstMatrixRef v) const;
  /// Sigma^-1 V.
  Matrix solve(ConstMatrixRef v) const;
  /// The diagonal of Sigma^-1.
  Vector precision_diagonal() const;

  /// The nearest to the posterior of what the fit has found, which summaries, intervals and predictions are
  /// about: of another shape, or the Gaussian corrected by linear response, or this one.
  const Posterior& best() const { return shaped_ ? *shaped_ : corrected(); }
  bool has_shape() const { return shaped_ != nullptr; }
  /// This Gaussian with a posterior of another shape, of its dimension.
  Gaussian with_shape(std::shared_ptr<const Posterior> shaped) const;

  /// A Gaussian nearer to the posterior than the fitted one, by linear response: its sds are right where the
  /// fitted one's are too small. This Gaussian itself if there is none.
  const Gaussian& corrected() const { return corrected_ ? *corrected_ : *this; }
  bool has_correction() const { return corrected_ != nullptr; }
  /// This Gaussian with that correction, which must have none of its own.
  Gaussian with_correction(Gaussian corrected) const;
  Gaussian without_correction() const;

  /// theta = centre + scale o phi, where this is the distribution of phi; without a posterior of another
  /// shape.
  Gaussian transformed(ConstVectorRef centre, ConstVectorRef scale) const;
  std::shared_ptr<const Posterior> rescaled(ConstVectorRef centre, ConstVectorRef scale) const override;

  void save(const std::filesystem::path& path, const std::vector<std::string>& names) const;

 private:
  Gaussian() = default;
  void factorise();
  LowRankPlusDiagonalView low_rank_covariance() const;
  Matrix spike(ConstMatrixRef v, const Vector& change) const;
  /// v' Sigma^-1 v for each column v.
  Vector squared_lengths(ConstMatrixRef v) const;
  friend void write_gaussian(io::ChecksummedWriter& out, const Gaussian& gaussian);
  friend Gaussian read_gaussian(io::ChecksummedReader& in);

  bool dense_ = false;
  Vector mean_;
  Matrix factors_;
  Vector residual_;
  Vector weights_;
  std::shared_ptr<const Capacitance> capacitance_;      ///< of a low-rank covariance
  std::shared_ptr<const FactoredPrecision> precision_;  ///< null unless sparse
  std::shared_ptr<const Gaussian> corrected_;           ///< null: none
  std::shared_ptr<const Posterior> shaped_;             ///< null: none
  double log_det_ = 0;
};

/// KL(a || b).
double kl_divergence(const Gaussian& a, const Gaussian& b);
/// Principal angles between the spans of two factor matrices, in radians, ascending.
Vector subspace_angles(const Gaussian& a, const Gaussian& b);

struct SavedPosterior {
  Gaussian gaussian;
  std::vector<std::string> names;
};
/// DataError for a file that is no posterior, of a newer version, truncated or altered.
SavedPosterior load_posterior(const std::filesystem::path& path);

}  // namespace magva
