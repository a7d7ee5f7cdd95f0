#include "exact/local_maxima.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/noise.hpp"

namespace magva {

namespace {

constexpr std::size_t kBatch = 8;  // ascents side by side
/// Ascents: so many numbers in the products of all, and at least and at most so many.
constexpr double kAscentEffort = 4e6;
constexpr double kFewestAscents = 16;
constexpr double kMostAscents = 320;
constexpr std::size_t kFewestWaited =
    5;                              // batches without anything better before the end, or half of all if more
constexpr double kDistinct = 5e-4;  // nats by which two maxima differ
constexpr double kImprovement = 1e-4;
constexpr double kSmallFactor = .3;  // in conditional sds

std::size_t batch_count(Index m, Index rank) {
  const double size = static_cast<double>(m) * static_cast<double>(m) * static_cast<double>(rank);
  return static_cast<std::size_t>(std::clamp(kAscentEffort / size, kFewestAscents, kMostAscents)) / kBatch;
}

void keep_distinct(std::vector<QuadraticFit>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const QuadraticFit& a, const QuadraticFit& b) { return a.value > b.value; });
  const auto same = [](const QuadraticFit& a, const QuadraticFit& b) {
    return a.value - b.value < kDistinct;
  };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
}

}  // namespace

FactorMoves::FactorMoves(ConstMatrixRef precision, std::uint64_t seed)
    : conditional_sd_(precision.diagonal().cwiseSqrt().cwiseInverse()),
      covariance_(Eigen::LLT<Matrix>(precision).solve(Matrix::Identity(precision.rows(), precision.rows()))),
      seed_(seed) {}

Matrix FactorMoves::random(Index rank, std::uint64_t number) const {
  Matrix out(conditional_sd_.size(), rank);
  Noise(seed_, NoiseStream::kFactors).fill(number, 0, out);
  return conditional_sd_.asDiagonal() * out;
}

Vector FactorMoves::left_by(ConstMatrixRef factors) const {
  return (covariance_.diagonal() - factors.rowwise().squaredNorm())
      .cwiseQuotient(conditional_sd_.cwiseAbs2());
}

Vector FactorMoves::explaining(ConstMatrixRef others, Index coordinate) const {
  const Vector left = covariance_.col(coordinate) - others * others.row(coordinate).transpose();
  const double variance = std::max(left(coordinate), std::pow(conditional_sd_(coordinate), 2));
  return left / std::sqrt(variance);
}

Matrix FactorMoves::greedy(Index rank) const {
  Matrix factors = Matrix::Zero(conditional_sd_.size(), rank);
  for (Index k = 0; k < rank; ++k) {
    Index coordinate = 0;
    left_by(factors).maxCoeff(&coordinate);
    factors.col(k) = explaining(factors, coordinate);
  }
  return factors;
}

Matrix FactorMoves::move(ConstMatrixRef factors, std::uint64_t tried, std::uint64_t number) const {
  const auto turn = static_cast<Index>(tried / 2);
  const Index replaced = turn % factors.cols();
  Matrix moved = factors;
  moved.col(replaced).setZero();
  if (tried % 2 == 0) {
    moved.col(replaced) = kSmallFactor * random(1, number);
    return moved;
  }
  const Vector left = left_by(moved);
  std::vector<Index> order(static_cast<std::size_t>(left.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto next = order.begin() + turn / factors.cols() % left.size();
  std::nth_element(order.begin(), next, order.end(), [&](Index a, Index b) { return left(a) > left(b); });
  moved.col(replaced) = explaining(moved, *next);
  return moved;
}

std::vector<QuadraticFit> search_local_maxima(ConstMatrixRef precision, const QuadraticFit& from,
                                              Workers& workers, std::uint64_t seed,
                                              const std::function<bool()>& go_on) {
  const QuadraticFitter fitter(precision);
  const FactorMoves moves(precision, seed);
  const Index rank = from.factors.cols();
  std::vector<QuadraticFit> found{fitter.maximize_from(from.factors, from.residual_sd)};
  const std::size_t rounds = batch_count(precision.rows(), rank);
  const std::size_t patience = std::max(kFewestWaited, rounds / 2);
  std::size_t waited = 0;
  std::size_t tried = 0;  // moves of the best so far
  for (std::size_t round = 0; round < rounds && waited < patience && go_on(); ++round) {
    const QuadraticFit best = found.front();
    std::vector<QuadraticFit> batch(kBatch);
    workers.run(static_cast<Index>(kBatch), [&](Index task) {
      const std::uint64_t number = round * kBatch + static_cast<std::uint64_t>(task) + 1;
      auto& out = batch[static_cast<std::size_t>(task)];
      if (round == 0 && task == 0) {
        out = fitter.fit(rank);
      } else {
        const Matrix start = round > 0
                                 ? moves.move(best.factors, tried + static_cast<std::uint64_t>(task), number)
                             : task == 1 ? moves.greedy(rank)
                                         : moves.random(rank, number);
        out = fitter.approach_from(start, moves.conditional_sd());
      }
    });
    for (QuadraticFit& fit : batch) found.push_back(std::move(fit));
    keep_distinct(found);
    const bool improved = found.front().value > best.value + kImprovement;
    waited = improved ? 0 : waited + 1;
    tried = improved || round == 0 ? 0 : tried + kBatch;
  }
  return found;
}

}  // namespace magva
