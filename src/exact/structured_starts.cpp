#include "exact/structured_starts.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/noise.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

/// Sets that are sought: for all factors, and for some beside spread ones; and of how many sizes those are.
constexpr std::size_t kFullSets = 24;
constexpr std::size_t kMixedSets = 2;
constexpr Index kMixedSizes = 6;
/// Of what spread factors gain, that an ascent may add by other residual sds; and nats below the best for
/// which a start is not worth an ascent.
constexpr double kSpreadGrowth = .05;
constexpr double kWorthAnAscent = .05;
/// Columns beyond those asked for, and iterations, of the subspace iteration for spread factors: from
/// anywhere, and from eigenvectors of a covariance nearby.
constexpr Index kSubspaceExtra = 8;
constexpr int kFirstIterations = 6;
constexpr int kNextIterations = 2;
constexpr double kSmallestLeft = 1e-12;  // of a variance, that cannot be told from none

/// Sigma_J' L^-T with Sigma_JJ = L L': what the factors of these coordinates are, the last one that of the
/// last.
Matrix explaining(const Matrix& covariance, const std::vector<Index>& coordinates) {
  const auto size = static_cast<Index>(coordinates.size());
  if (size == 0) return Matrix(covariance.rows(), 0);
  const Matrix columns = covariance(Eigen::all, coordinates);
  const Eigen::LLT<Matrix> llt(columns(coordinates, Eigen::all));
  return llt.matrixL().solve(columns.transpose()).transpose();
}

/// The variances that factors for these coordinates leave, and what those gain.
struct Left {
  Vector variance;  // 0 where nothing is
  double gain;
};

Left left_by(const Matrix& covariance, const std::vector<Index>& coordinates) {
  const Matrix factors = explaining(covariance, coordinates);
  Left out{covariance.diagonal() - factors.rowwise().squaredNorm(), 0};
  for (std::size_t k = 0; k < coordinates.size(); ++k)
    out.gain += std::log(factors(coordinates[k], static_cast<Index>(k)));
  for (const Index j : coordinates) out.variance(j) = 0;
  out.variance =
      (out.variance.array() > kSmallestLeft * covariance.diagonal().array()).select(out.variance.array(), 0);
  return out;
}

std::vector<Index> greedy_set(const Matrix& covariance, Index size) {
  std::vector<Index> out;
  for (Index k = 0; k < size; ++k) {
    Index next = 0;
    left_by(covariance, out).variance.maxCoeff(&next);
    out.push_back(next);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The coordinates of which most is left, at most so many.
std::vector<Index> most_left(const Vector& variance, std::size_t most) {
  std::vector<Index> out;
  for (Index j = 0; j < variance.size(); ++j)
    if (variance(j) > 0) out.push_back(j);
  const auto end = out.begin() + static_cast<std::ptrdiff_t>(std::min(most, out.size()));
  std::partial_sort(out.begin(), end, out.end(), [&](Index a, Index b) {
    return variance(a) > variance(b) || (variance(a) == variance(b) && a < b);
  });
  out.erase(end, out.end());
  return out;
}

/// The sets that differ from one in a coordinate, the best few for each that leaves.
std::vector<ExplainedSet> exchanged(const Matrix& covariance, const std::vector<Index>& from,
                                    std::size_t most) {
  std::vector<ExplainedSet> out;
  for (std::size_t k = 0; k < from.size(); ++k) {
    std::vector<Index> rest = from;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    const Left left = left_by(covariance, rest);
    for (const Index j : most_left(left.variance, most)) {
      std::vector<Index> set = rest;
      set.insert(std::upper_bound(set.begin(), set.end(), j), j);
      out.push_back({std::move(set), left.gain + .5 * std::log(left.variance(j))});
    }
  }
  return out;
}

void keep_best(std::vector<ExplainedSet>& pool, std::size_t most) {
  std::sort(pool.begin(), pool.end(),
            [](const ExplainedSet& a, const ExplainedSet& b) { return a.coordinates < b.coordinates; });
  pool.erase(std::unique(
                 pool.begin(), pool.end(),
                 [](const ExplainedSet& a, const ExplainedSet& b) { return a.coordinates == b.coordinates; }),
             pool.end());
  std::stable_sort(pool.begin(), pool.end(),
                   [](const ExplainedSet& a, const ExplainedSet& b) { return a.gain > b.gain; });
  if (pool.size() > most) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(most), pool.end());
}

Matrix orthonormal(const Matrix& a) {
  return a.householderQr().householderQ() * Matrix::Identity(a.rows(), a.cols());
}

/// Some of the largest eigenvalues and their eigenvectors of Sigma - W W', by subspace iteration.
struct Eigenpairs {
  Vector values;  // descending
  Matrix vectors;
};

Eigenpairs largest_left(const Matrix& covariance, const Matrix& factors, Matrix directions, int iterations) {
  const auto times = [&](const Matrix& v) -> Matrix {
    return covariance * v - factors * (factors.transpose() * v);
  };
  for (int k = 0; k < iterations; ++k) directions = orthonormal(times(directions));
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(directions.transpose() * times(directions));
  return {ritz.eigenvalues().reverse(), directions * ritz.eigenvectors().rowwise().reverse()};
}

/// What factors along eigenvectors gain.
double spread_gain(const Vector& eigenvalues) {
  const auto values = eigenvalues.array().max(1.);
  return .5 * (values.log() + values.inverse() - 1).sum();
}

/// What an ascent from a start may lead to, as far as is known.
double promise(const StructuredStart& start) { return start.gain + kSpreadGrowth * start.spread_gain; }

/// Starts for one precision, in units of the conditional sds.
class StartsOfCovariance {
 public:
  StartsOfCovariance(const Matrix& unit_covariance, Index rank) : covariance_(unit_covariance), rank_(rank) {
    const Index m = covariance_.rows();
    Matrix random(m, std::min(m, rank + kSubspaceExtra));
    Noise(0, NoiseStream::kFactors).fill(0, 0, random);
    spread_ = largest_left(covariance_, Matrix(m, 0), orthonormal(random), kFirstIterations);
  }

  /// At most what the start for a set may lead to: eigenvalues given J are not above those of Sigma.
  double bound(const ExplainedSet& set) const {
    const auto size = static_cast<Index>(set.coordinates.size());
    return set.gain + (1 + kSpreadGrowth) * spread_gain(spread_.values.head(rank_ - size));
  }

  StructuredStart start(const ExplainedSet& set) const {
    const Index m = covariance_.rows();
    const auto size = static_cast<Index>(set.coordinates.size());
    StructuredStart out{Matrix(m, rank_), Vector::Ones(m), set.gain, 0};
    out.factors.leftCols(size) = explaining(covariance_, set.coordinates);
    for (const Index j : set.coordinates) out.residual_sd(j) = kResidualFloor;
    if (size == rank_) return out;
    const Eigenpairs left =
        size == 0 ? spread_
                  : largest_left(covariance_, out.factors.leftCols(size), spread_.vectors, kNextIterations);
    const Vector values = left.values.head(rank_ - size).cwiseMax(1 / kWeakestFactor);
    out.factors.rightCols(rank_ - size) =
        left.vectors.leftCols(rank_ - size) * (values.array() - 1).sqrt().matrix().asDiagonal();
    out.spread_gain = spread_gain(values);
    out.gain += out.spread_gain;
    return out;
  }

 private:
  const Matrix& covariance_;
  Index rank_;
  Eigenpairs spread_;
};

}  // namespace

std::vector<ExplainedSet> best_explained_sets(const Matrix& unit_covariance, Index size, std::size_t most) {
  std::vector<ExplainedSet> pool;
  std::vector<Index> first = greedy_set(unit_covariance, size);
  const double gain = left_by(unit_covariance, first).gain;
  pool.push_back({std::move(first), gain});
  std::set<std::vector<Index>> tried;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<ExplainedSet> found;
    for (const ExplainedSet& set : pool) {
      if (!tried.insert(set.coordinates).second) continue;
      changed = true;
      for (ExplainedSet& other : exchanged(unit_covariance, set.coordinates, most))
        found.push_back(std::move(other));
    }
    for (ExplainedSet& set : found) pool.push_back(std::move(set));
    keep_best(pool, most);
  }
  return pool;
}

std::vector<StructuredStart> structured_starts(const Matrix& covariance, const Vector& conditional_sd,
                                               Index rank) {
  const Vector scale = conditional_sd.cwiseInverse();
  const Matrix unit = scale.asDiagonal() * covariance * scale.asDiagonal();
  const StartsOfCovariance starts(unit, rank);
  std::vector<StructuredStart> out;
  double best = 0;
  const auto add = [&](Index size, std::size_t most) {
    for (const ExplainedSet& set : best_explained_sets(unit, size, most)) {
      if (starts.bound(set) < best - kWorthAnAscent) continue;
      out.push_back(starts.start(set));
      best = std::max(best, out.back().gain);
    }
  };
  add(rank, kFullSets);
  const Index stride = (rank + kMixedSizes - 1) / kMixedSizes;
  for (Index size = 0; size < rank; size += stride) add(size, kMixedSets);
  std::erase_if(out, [&](const StructuredStart& start) { return promise(start) < best - kWorthAnAscent; });
  for (StructuredStart& start : out) {
    start.factors = conditional_sd.asDiagonal() * start.factors;
    start.residual_sd.array() *= conditional_sd.array();
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const StructuredStart& a, const StructuredStart& b) { return a.gain > b.gain; });
  return out;
}

}  // namespace magva
