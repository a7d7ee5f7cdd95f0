#include "mixture/mixture_of_chains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "assess/chain_covariance.hpp"

namespace magva {

namespace {

/// Cells, at most, and draws of each, for every parameter and at least.
constexpr std::size_t kMostCells = 32;
constexpr Index kDrawsPerParameter = 4;
constexpr Index kFewestDrawsOfCell = 400;
constexpr Index kUsualCells = 16;
/// Squares of third moments, of standardised coordinates, that are worth two cells.
constexpr double kLeastSkewness = .05;
/// Only coordinates that have so much of the largest among all draws part cells: in small ones others have as
/// much by chance.
constexpr double kPartingShare = .1;

Index fewest_draws(Index dimension) { return std::max(kFewestDrawsOfCell, kDrawsPerParameter * dimension); }

struct Cell {
  std::vector<Index> draws;
  Index coordinate = 0;  ///< by which it would be parted
  double skewness = 0;   ///< what that would take out of it
};

/// E[z_k z_i^2] for all k, in rows, and i: how the variance of one coordinate changes along another one, and
/// how its mean bends.
Matrix third_moments(const Matrix& z) {
  const Matrix squares = (z.array().square() - 1).matrix();
  return z * squares.transpose() / static_cast<double>(std::max<Index>(1, z.cols()));
}

class CellsOfChains {
 public:
  CellsOfChains(const Matrix& draws, Index chains)
      : draws_(draws), chain_(chain_of_columns(draws.cols(), chains)), fewest_(fewest_draws(draws.rows())) {
    std::vector<Index> all(chain_.size());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = static_cast<Index>(s);
    const Vector skewness = skewness_of(all);
    for (Index k = 0; k < skewness.size(); ++k)
      if (skewness(k) > std::max(kLeastSkewness, kPartingShare * skewness.maxCoeff())) parting_.push_back(k);
    cells_.push_back(looked_at(std::move(all)));
  }

  void part() {
    while (cells_.size() < kMostCells) {
      const auto worst = std::max_element(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) {
        return a.skewness * static_cast<double>(a.draws.size()) <
               b.skewness * static_cast<double>(b.draws.size());
      });
      if (!(worst->skewness > kLeastSkewness)) return;
      auto [below, above] = halves(*worst);
      *worst = looked_at(std::move(below));
      cells_.push_back(looked_at(std::move(above)));
    }
  }

  const std::vector<Cell>& cells() const { return cells_; }

  Gaussian gaussian(const Cell& cell, const Gaussian& near) const {
    const Matrix own = draws_(Eigen::all, cell.draws);
    std::vector<Index> chain;
    for (const Index s : cell.draws) chain.push_back(chain_[static_cast<std::size_t>(s)]);
    const Vector mean = own.rowwise().mean();
    const Vector sd = (own.colwise() - mean).rowwise().norm() / std::sqrt(static_cast<double>(own.cols()));
    // Few draws know each variance, but not all axes: those are sought where the cell's variances are alike.
    return gaussian_of_chains(near.transformed(Vector::Zero(sd.size()), sd.cwiseQuotient(near.sd())), mean,
                              own, chain);
  }

 private:
  /// What both halves of the chains find is no noise: its products have a mean of zero where there is
  /// nothing.
  Vector skewness_of(const std::vector<Index>& which) const {
    Matrix z = draws_(Eigen::all, which);
    z.colwise() -= Vector(z.rowwise().mean());
    z.array().colwise() /= z.array().square().rowwise().mean().sqrt();
    std::array<std::vector<Index>, 2> half;
    for (std::size_t s = 0; s < which.size(); ++s)
      half[static_cast<std::size_t>(chain_[static_cast<std::size_t>(which[s])] % 2)].push_back(
          static_cast<Index>(s));
    const Matrix agreed =
        third_moments(z(Eigen::all, half[0])).cwiseProduct(third_moments(z(Eigen::all, half[1])));
    return agreed.rowwise().sum() + agreed.colwise().sum().transpose();
  }

  Cell looked_at(std::vector<Index> which) const {
    Cell out{std::move(which)};
    if (static_cast<Index>(out.draws.size()) < 2 * fewest_ || parting_.empty()) return out;
    const Vector skewness = skewness_of(out.draws);
    out.coordinate = *std::max_element(parting_.begin(), parting_.end(),
                                       [&](Index a, Index b) { return skewness(a) < skewness(b); });
    out.skewness = skewness(out.coordinate);
    return out;
  }

  std::pair<std::vector<Index>, std::vector<Index>> halves(const Cell& cell) const {
    std::vector<Index> order = cell.draws;
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    std::nth_element(order.begin(), middle, order.end(), [&](Index a, Index b) {
      return draws_(cell.coordinate, a) < draws_(cell.coordinate, b);
    });
    std::pair<std::vector<Index>, std::vector<Index>> out{{order.begin(), middle}, {middle, order.end()}};
    std::sort(out.first.begin(), out.first.end());
    std::sort(out.second.begin(), out.second.end());
    return out;
  }

  const Matrix& draws_;
  std::vector<Index> chain_;
  Index fewest_;
  std::vector<Index> parting_;
  std::vector<Cell> cells_;
};

}  // namespace

std::shared_ptr<const GaussianMixture> mixture_of_chains(const Gaussian& near, const Matrix& draws,
                                                         Index chains) {
  CellsOfChains cells(draws, chains);
  cells.part();
  if (cells.cells().size() == 1) return nullptr;
  std::vector<Gaussian> components;
  std::vector<double> weights;
  for (const Cell& cell : cells.cells()) {
    components.push_back(cells.gaussian(cell, near));
    weights.push_back(static_cast<double>(cell.draws.size()));
  }
  return std::make_shared<const GaussianMixture>(
      std::move(components), Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size())));
}

Index draws_of_cells(Index dimension) { return kUsualCells * fewest_draws(dimension); }

}  // namespace magva
