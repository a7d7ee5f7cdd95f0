#include "mixture/fit_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mixture/hyper_design.hpp"
#include "mixture/hyper_proposal.hpp"
#include "mixture/joint_precision.hpp"
#include "mixture/spline.hpp"

namespace magva {

namespace {

/// Draws of the hyper-parameters in a round, and rounds; how many must be effective, at least, and to end
/// with.
constexpr Index kHyperDraws = 1024;
constexpr int kMostHyperRounds = 4;
constexpr double kFewestHyperDraws = 100;
constexpr double kEnoughHyperDraws = 500;
/// On a ray that leaves the region of the nodes, where its slope is measured from, as a share of the way.
constexpr double kBeforeEnd = .8;
constexpr double kLeastBetweenNodes = .55;
/// Draws with a larger share of all weights, and further than this from all nodes, become nodes.
constexpr double kHeavyShare = .01;
constexpr double kFarFromNode = .5;
constexpr std::size_t kMostNodesAtOnce = 6;
constexpr int kMostRefinements = 4;
/// Components with less weight are left out.
constexpr double kLeastComponent = 1e-5;

template <class Columns>
void append(Columns& to, const Columns& more) {
  if constexpr (Columns::ColsAtCompileTime == 1) {
    to.conservativeResize(to.size() + more.size());
    to.tail(more.size()) = more;
  } else {
    to.conservativeResize(more.rows(), to.cols() + more.cols());
    to.rightCols(more.cols()) = more;
  }
}

/// Draws of the hyper-parameters, in units of the axes, with their shares of the posterior.
struct HyperSample {
  Matrix y;
  Vector share;
  std::vector<std::size_t> nearest;  ///< node of each
};

class MixtureOfNodes {
 public:
  MixtureOfNodes(ConditionalFit& fit, HyperDesign& design) : fit_(fit), design_(design), joint_(fit) {}

  std::shared_ptr<const GaussianMixture> make() {
    const auto sample = draw();
    return sample ? assemble(*sample) : nullptr;
  }

  /// Around one node, the hyper-parameters as wide as the way to the nearest other one.
  std::optional<Gaussian> around(const HyperNode& node) const {
    double apart = 1;
    for (const HyperNode& other : design_.nodes())
      if (&other != &node) apart = std::min(apart, design_.distance(node, other));
    const Matrix within = apart * apart * Matrix::Identity(design_.axes(), design_.axes());
    const auto precision = joint_precision(node.given, within);
    if (!precision) return std::nullopt;
    return Gaussian::sparse(node.given.theta, precision);
  }

 private:
  static Matrix stacked_means(const HyperDesign& design) {
    const auto& nodes = design.nodes();
    Matrix out(nodes.front().given.theta.size(), static_cast<Index>(nodes.size()));
    for (std::size_t j = 0; j < nodes.size(); ++j) out.col(static_cast<Index>(j)) = nodes[j].given.theta;
    return out;
  }

  /// The others at their mean given the hyper-parameters, one column each.
  Matrix theta_at(const Matrix& y) const {
    Matrix out = TrendedSpline(design_.places(), stacked_means(design_))(y);
    out(fit_.hyper_parameters(), Eigen::all) = (design_.basis() * y).colwise() + design_.centre();
    return out;
  }

  /// What the mass has beyond the height of the log density at its mean: the conditional ELBO's part is
  /// interpolated; of the spread of its weights, which is known with some noise, the linear part is taken.
  Vector beyond_height(const Matrix& y) const {
    const Matrix places = design_.places();
    const auto& nodes = design_.nodes();
    Matrix gap(1, places.cols());
    Vector half_variance(places.cols());
    Matrix linear(places.cols(), places.rows() + 1);
    linear << Vector::Ones(places.cols()), places.transpose();
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      gap(0, static_cast<Index>(j)) = nodes[j].given.elbo - nodes[j].given.height;
      half_variance(static_cast<Index>(j)) = .5 * nodes[j].given.variance;
    }
    const Vector slope = linear.colPivHouseholderQr().solve(half_variance);
    const Vector by_spread = slope(0) + (slope.tail(places.rows()).transpose() * y).transpose().array();
    return by_spread + continued(TrendedSpline(places, gap), y);
  }

  /// Between the nodes as it is; beyond them along rays from the centre, as steeply as before.
  Vector continued(const TrendedSpline& function, const Matrix& y) const {
    Vector within(y.cols());
    for (Index s = 0; s < y.cols(); ++s) within(s) = design_.share_between_nodes(y.col(s));
    const Vector at_end = function(y * within.asDiagonal()).transpose();
    const Vector before = function(y * (kBeforeEnd * within).asDiagonal()).transpose();
    return at_end.array() + (1 / within.array() - 1) * (at_end - before).array() / (1 - kBeforeEnd);
  }

  /// Draws, and what the log density of the others is at most there.
  struct Draws {
    Matrix y;
    Vector height;
  };

  void add_draws(const Matrix& y, Draws& draws) {
    std::vector<const ConditionalGaussian*> near;
    for (const auto place : y.colwise()) near.push_back(&design_.nodes()[design_.nearest(place)].given);
    append(draws.y, y);
    append(draws.height, fit_.heights(theta_at(y), near));
  }

  /// The marginal log density, up to a constant. Far beyond the nodes there is none: they reach as far as
  /// there is mass, and what is interpolated is wrong there.
  Vector log_mass(const Draws& draws) const {
    Vector out = draws.height + beyond_height(draws.y);
    for (Index s = 0; s < out.size(); ++s)
      if (!std::isfinite(out(s)) || design_.share_between_nodes(draws.y.col(s)) < kLeastBetweenNodes)
        out(s) = -std::numeric_limits<double>::infinity();
    return out;
  }

  /// The heaviest draws that are far from all nodes, and from each other.
  std::vector<Vector> unsure_places(const Draws& draws, const Vector& share) const {
    std::vector<Index> order(static_cast<std::size_t>(share.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return share(a) > share(b); });
    std::vector<Vector> out;
    for (const Index s : order) {
      if (share(s) < kHeavyShare || out.size() == kMostNodesAtOnce) break;
      const Vector y = draws.y.col(s);
      const auto is_far = [&](const Vector& other) { return (other - y).norm() > kFarFromNode; };
      if (is_far(design_.place_of(design_.nearest(y))) && std::all_of(out.begin(), out.end(), is_far))
        out.push_back(y);
    }
    return out;
  }

  /// Importance weights. Where single draws have much of it all, the others' Gaussian is found there, too.
  std::optional<Vector> log_weights(const Draws& draws, const HyperProposal& proposal) {
    const Vector proposed = proposal.log_density(draws.y);
    Vector out;
    for (int k = 0; k <= kMostRefinements; ++k) {
      out = log_mass(draws) - proposed;
      if (!std::isfinite(out.maxCoeff())) return std::nullopt;
      const std::vector<Vector> places = unsure_places(draws, shares(out));
      if (places.empty()) break;
      for (const Vector& y : places) design_.add_node(y);
    }
    return out;
  }

  std::optional<HyperSample> draw() {
    HyperProposal proposal(design_);
    Draws draws;
    Vector share;
    for (int round = 0; round < kMostHyperRounds; ++round) {
      add_draws(proposal.draws(kHyperDraws), draws);
      const auto weights = log_weights(draws, proposal);
      if (!weights) return std::nullopt;
      share = shares(*weights);
      if (effective_draws(share) >= kEnoughHyperDraws) break;
      proposal.learn(draws.y, *weights);
    }
    if (effective_draws(share) < kFewestHyperDraws) return std::nullopt;
    HyperSample out{std::move(draws.y), std::move(share), {}};
    for (const auto place : out.y.colwise()) out.nearest.push_back(design_.nearest(place));
    return out;
  }

  /// Draws that are nearest to one node.
  struct Cell {
    double weight = 0;
    double squares = 0;
    Vector mean;
    Matrix covariance;

    double effective() const { return weight * weight / squares; }
  };

  std::vector<Cell> cells(const HyperSample& sample) const {
    const Index d = design_.axes();
    std::vector<Cell> out(design_.nodes().size(), Cell{0, 0, Vector::Zero(d), Matrix::Zero(d, d)});
    for (Index s = 0; s < sample.y.cols(); ++s) {
      Cell& cell = out[sample.nearest[static_cast<std::size_t>(s)]];
      cell.weight += sample.share(s);
      cell.squares += sample.share(s) * sample.share(s);
      cell.mean += sample.share(s) * sample.y.col(s);
      cell.covariance += sample.share(s) * sample.y.col(s) * sample.y.col(s).transpose();
    }
    for (Cell& cell : out)
      if (cell.weight > 0) {
        cell.mean /= cell.weight;
        cell.covariance = cell.covariance / cell.weight - cell.mean * cell.mean.transpose();
      }
    return out;
  }

  std::shared_ptr<const GaussianMixture> assemble(const HyperSample& sample) const {
    const Index d = design_.axes();
    const std::vector<Cell> all = cells(sample);
    Matrix pooled = 1e-6 * Matrix::Identity(d, d);
    for (const Cell& cell : all) pooled += cell.weight * cell.covariance;
    std::vector<Gaussian> components;
    std::vector<double> weights;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (!(all[j].weight > kLeastComponent)) continue;
      // A cell with few draws has a covariance between its own and that of all cells.
      const double own = all[j].effective();
      const Matrix within = (own * all[j].covariance + static_cast<double>(d + 1) * pooled) /
                            (own + static_cast<double>(d + 1));
      const auto precision = joint_precision(design_.nodes()[j].given, within);
      if (!precision) return nullptr;
      components.push_back(Gaussian::sparse(theta_at(all[j].mean), precision));
      weights.push_back(all[j].weight);
    }
    return std::make_shared<const GaussianMixture>(
        std::move(components), Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size())));
  }

  /// Of the hyper-parameters with this covariance, in units of the axes.
  std::shared_ptr<const FactoredPrecision> joint_precision(const ConditionalGaussian& given,
                                                           const Matrix& within) const {
    const Matrix basis = design_.basis();
    return joint_.make(given, basis * within * basis.transpose());
  }

  ConditionalFit& fit_;
  HyperDesign& design_;
  JointPrecision joint_;
};

}  // namespace

MixtureAttempt fit_mixture(Evaluator& evaluator, const Gaussian& q,
                           const std::shared_ptr<const HessianPattern>& pattern,
                           const std::vector<Index>& hyper_parameters, std::uint64_t seed) {
  ConditionalFit fit(evaluator, pattern, hyper_parameters, conditional_differences(q), seed);
  HyperDesign design(fit, q);
  const bool built = design.build(q);
  if (design.nodes().empty()) return {};
  MixtureOfNodes nodes(fit, design);
  if (const HyperNode* higher = design.higher()) return {nullptr, nodes.around(*higher)};
  return {built ? nodes.make() : nullptr, std::nullopt};
}

std::int64_t mixture_cost(const HessianPattern& pattern, Index hyper_parameters) {
  constexpr Index gradients_at_node = 160;
  constexpr Index gradients_at_draw = 3;
  return usual_nodes(hyper_parameters) * (pattern.colours() + gradients_at_node) + 8 * pattern.colours() +
         gradients_at_draw * kHyperDraws;
}

std::shared_ptr<const HessianPattern> full_pattern(Index dimension) {
  PatternEntries entries;
  for (Index j = 0; j < dimension; ++j)
    for (Index i = j; i < dimension; ++i) {
      entries.rows.push_back(i);
      entries.columns.push_back(j);
    }
  return std::make_shared<const HessianPattern>(dimension, std::move(entries));
}

}  // namespace magva
