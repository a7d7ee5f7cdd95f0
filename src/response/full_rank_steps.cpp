#include "response/full_rank_steps.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace magva {

namespace {

constexpr Index kPairsPerParameter = 2;
constexpr Index kMorePairs = 256;
/// A Gaussian is near the best one if a step would move no mean by more sds, no variance along any direction
/// by a larger share, and all variances together by no larger one. What is left the response takes in.
constexpr double kSmallMove = .1;
constexpr double kSmallExcess = .2;
constexpr double kSmallMeanExcess = .02;
/// Of a step after the first: a wider Gaussian sees less curvature, so that whole steps go to and fro.
constexpr double kDamping = .6;

std::uint64_t sample_seed(std::uint64_t seed, int sample) {
  return seed + (static_cast<std::uint64_t>(sample) << 40U);
}

/// -limit I < a < limit I.
bool is_between(const Matrix& a, double limit) {
  const Matrix bound = limit * Matrix::Identity(a.rows(), a.cols());
  return Eigen::LLT<Matrix>(bound - a).info() == Eigen::Success &&
         Eigen::LLT<Matrix>(bound + a).info() == Eigen::Success;
}

bool is_near(const FullRankOptimum& here) {
  const Vector sd = here.at.root.rowwise().norm();
  const Vector move = here.at.root * here.sample.gradient;
  return move.cwiseQuotient(sd).cwiseAbs().maxCoeff() <= kSmallMove &&
         std::abs(here.sample.excess.diagonal().mean()) <= kSmallMeanExcess &&
         is_between(here.sample.shrunk_excess(), kSmallExcess);
}

/// The mean moves by the new covariance times the gradient.
bool step(const GradientSample& sample, double share, RootedGaussian& at) {
  auto root = root_given(at.root, sample.shrunk_excess(share));
  if (!root) return false;
  const Vector gradient = at.root.transpose().triangularView<Eigen::Upper>().solve(sample.gradient);
  at.mean += share * (*root * (root->transpose() * gradient));
  at.root = std::move(*root);
  return true;
}

}  // namespace

std::optional<Matrix> root_given(const Matrix& root, const Matrix& excess) {
  const Index m = root.rows();
  const Eigen::LLT<Matrix> precision(Matrix::Identity(m, m) - excess);
  if (precision.info() != Eigen::Success) return std::nullopt;
  const Matrix half = root * precision.matrixU().solve(Matrix::Identity(m, m));
  const Eigen::LLT<Matrix> covariance(half * half.transpose());
  if (covariance.info() != Eigen::Success) return std::nullopt;
  return Matrix(covariance.matrixL());
}

Index step_pairs(Index dimension) { return kPairsPerParameter * dimension + kMorePairs; }

std::optional<FullRankOptimum> go_on_to_full_rank(Evaluator& evaluator, RootedGaussian from, int most_samples,
                                                  std::uint64_t seed) {
  const Index pairs = step_pairs(from.mean.size());
  for (int k = 0; k < most_samples; ++k) {
    auto sample = sample_gradients(evaluator, from, pairs, sample_seed(seed, k));
    if (!sample) return std::nullopt;
    FullRankOptimum here{std::move(from), std::move(*sample)};
    if (is_near(here)) return here;
    if (!step(here.sample, k == 0 ? 1 : kDamping, here.at)) return std::nullopt;
    from = std::move(here.at);
  }
  return std::nullopt;
}

}  // namespace magva
