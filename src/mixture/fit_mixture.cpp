#include "mixture/fit_mixture.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mixture/hyper_cells.hpp"
#include "mixture/hyper_marginal.hpp"
#include "mixture/hyper_proposal.hpp"
#include "mixture/joint_precision.hpp"

namespace magva {

namespace {

/// Draws of the hyper-parameters in a round, and rounds; how many must be effective, at least, and to end
/// with.
constexpr Index kHyperDraws = 1024;
constexpr int kMostHyperRounds = 4;
constexpr double kFewestHyperDraws = 100;
constexpr double kEnoughHyperDraws = 500;
/// Draws with a larger share of all weights, and further than this from all nodes, become nodes.
constexpr double kHeavyShare = .01;
constexpr double kFarFromNode = .5;
constexpr std::size_t kMostNodesAtOnce = 6;
constexpr int kMostRefinements = 4;
/// Where the marginal density is interpolated: draws at which it is computed, too, and the error up to which
/// that is enough, in nats.
constexpr Index kTypicalDraws = 6;
constexpr double kMassError = .05;
/// A mixture is near enough to be corrected by weights where so large a share of its draws is effective. Else
/// cells, so many at once, are split, so often at most, while that multiplies the share by enough. Below a
/// larger share it is adapted by these weights, which takes no gradients, so often at most.
constexpr double kCloseMixture = .45;
constexpr double kAdaptedMixture = .7;
/// So many draws, or more where parameters are few and draws cheap: how many are effective is much by chance.
constexpr Index kWeighedDraws = 1000;
constexpr Index kMostWeighedDraws = 4000;
constexpr Index kFewWeighedParameters = 64;
constexpr std::uint64_t kWeighedSeed = 1;
constexpr int kMostAdaptations = 3;
constexpr double kClearGain = 1.1;
constexpr int kMostSplittings = 8;
constexpr std::size_t kMostSplitAtOnce = 8;
/// Components with less weight are left out.
constexpr double kLeastComponent = 1e-5;

/// No weight above the square root of their number times the mean (Ionides 2008).
Vector truncated(const Vector& share) {
  const Vector out = share.cwiseMin(1 / std::sqrt(static_cast<double>(share.size())));
  return out / out.sum();
}

/// Draws of the hyper-parameters, in units of the axes, with their shares of the posterior.
struct HyperSample {
  Matrix y;
  Vector share;
  Vector log_mass;                        ///< up to a constant
  double log_total;                       ///< of all mass, up to the same constant
  std::vector<std::size_t> nearest = {};  ///< node of each
};

class MixtureOfNodes {
 public:
  MixtureOfNodes(Evaluator& evaluator, ConditionalFit& fit, HyperDesign& design)
      : evaluator_(evaluator),
        fit_(fit),
        design_(design),
        marginal_(fit, design),
        joint_(fit),
        weighed_draws_(evaluator.dimension() < kFewWeighedParameters ? kMostWeighedDraws : kWeighedDraws) {}

  /// With more and more nodes while that brings it nearer to the posterior, as far as it must be.
  std::shared_ptr<const GaussianMixture> make() {
    auto sample = draw();
    if (!sample) return nullptr;
    Weighed best = nearest_mixture(*sample);
    for (int k = 0; k < kMostSplittings && best.mixture && best.effective < kCloseMixture; ++k) {
      split_cells(*sample);
      Weighed next = nearest_mixture(*sample);
      const bool worth_more = next.effective > kClearGain * best.effective;
      if (next.effective > best.effective) best = std::move(next);
      if (!worth_more) break;
    }
    return best.mixture;
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
  /// The heaviest draws that are far from all nodes, and from each other.
  std::vector<Vector> unsure_places(const HyperMarginal::Draws& draws, const Vector& share) const {
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
  std::optional<Vector> log_weights(const HyperMarginal::Draws& draws, const HyperProposal& proposal) {
    const Vector proposed = proposal.log_density(draws.y);
    Vector out;
    for (int k = 0; k <= kMostRefinements; ++k) {
      out = marginal_.log_mass(draws) - proposed;
      if (!std::isfinite(out.maxCoeff())) return std::nullopt;
      const std::vector<Vector> places = unsure_places(draws, shares(out));
      for (const Vector& y : places) design_.add_node(y);
      if (places.empty() && !(fit_.has_quadrature() && interpolation_error(draws.y, out) > kMassError)) break;
    }
    return out;
  }

  /// Of the marginal log density, the largest at some draws of the posterior, which then are nodes.
  double interpolation_error(const Matrix& y, const Vector& log_weights) {
    HyperMarginal::Draws some{typical_draws(y, shares(log_weights)), {}};
    const Vector predicted = marginal_.log_mass(some);
    double largest = 0;
    for (Index k = 0; k < some.y.cols(); ++k) {
      const std::size_t before = design_.nodes().size();
      design_.add_node(some.y.col(k));
      if (design_.nodes().size() > before)
        largest = std::max(largest, std::abs(predicted(k) - design_.nodes().back().log_mass()));
    }
    return largest;
  }

  /// So many draws that each stands for as much of the weight.
  static Matrix typical_draws(const Matrix& y, const Vector& share) {
    Matrix out(y.rows(), kTypicalDraws);
    double sum = 0;
    Index found = 0;
    for (Index s = 0; s < y.cols() && found < kTypicalDraws; ++s) {
      sum += share(s);
      if (sum * kTypicalDraws > static_cast<double>(found) + .5) out.col(found++) = y.col(s);
    }
    return out.leftCols(found);
  }

  std::optional<HyperSample> draw() {
    HyperProposal proposal(design_);
    HyperMarginal::Draws draws;
    Vector share;
    std::optional<Vector> weights;
    for (int round = 0; round < kMostHyperRounds; ++round) {
      marginal_.add_draws(proposal.draws(kHyperDraws), draws);
      weights = log_weights(draws, proposal);
      if (!weights) return std::nullopt;
      share = shares(*weights);
      if (effective_draws(share) >= kEnoughHyperDraws) break;
      proposal.learn(draws.y, *weights);
    }
    if (effective_draws(share) < kFewestHyperDraws) return std::nullopt;
    const double highest = weights->maxCoeff();
    HyperSample out{draws.y, std::move(share), *weights + proposal.log_density(draws.y),
                    highest + std::log((weights->array() - highest).exp().sum())};
    find_nearest(out);
    return out;
  }

  void find_nearest(HyperSample& sample) const {
    sample.nearest.clear();
    for (const auto place : sample.y.colwise()) sample.nearest.push_back(design_.nearest(place));
  }

  /// A mixture, and what importance weights say of its own draws: the share of them that is effective, and
  /// where the hyper-parameters are, with the share of all weight that each cell has of each draw.
  struct Weighed {
    std::shared_ptr<const GaussianMixture> mixture;
    double effective = 0;
    double elbo = 0, elbo_se = 0;
    Matrix places, mass;

    /// By more than the noise of both.
    bool clearly_nearer_than(const Weighed& other) const {
      return effective > kClearGain * other.effective ||
             (effective > other.effective && elbo > other.elbo + 2 * std::hypot(elbo_se, other.elbo_se));
    }
  };

  Weighed weighed(const std::vector<HyperCell>& cells, std::uint64_t seed) {
    Weighed out;
    out.mixture = assemble(cells);
    if (!out.mixture) return out;
    const Matrix theta = out.mixture->draws(weighed_draws_, seed);
    const Matrix parts = out.mixture->log_parts(theta);
    const Vector proposed = GaussianMixture::log_sum(parts);
    const Vector log_weights = evaluator_.evaluate_values(theta) - proposed;
    if (!std::isfinite(log_weights.maxCoeff())) return out;
    out.elbo = log_weights.mean();
    out.elbo_se =
        std::sqrt((log_weights.array() - out.elbo).square().mean() / static_cast<double>(weighed_draws_));
    const Vector share = truncated(shares(log_weights));
    out.effective = effective_draws(share) / static_cast<double>(weighed_draws_);
    const Matrix u = theta(fit_.hyper_parameters(), Eigen::all).colwise() - design_.centre();
    out.places = design_.basis().partialPivLu().solve(u);
    out.mass = Matrix::Zero(static_cast<Index>(cells.size()), u.cols());
    Index component = 0;
    for (std::size_t j = 0; j < cells.size(); ++j)
      if (cells[j].weight > kLeastComponent)
        out.mass.row(static_cast<Index>(j)) =
            ((parts.col(component++) - proposed).array().exp() * share.array()).transpose();
    return out;
  }

  Weighed nearest_mixture(const HyperSample& sample) {
    return fit_.has_quadrature() ? by_marginal(sample) : adapted(sample);
  }

  /// Where the mass has no noise, weights of draws of all parameters add nothing to it.
  Weighed by_marginal(const HyperSample& sample) {
    const auto cells = with_pooled_covariance(cells_of(sample.y, nearest_mass(sample)));
    Weighed out;
    out.mixture = assemble(cells);
    out.effective = effective_share(sample, log_density(cells, sample.y));
    return out;
  }

  /// Of draws of q, with weights w = p / q of mean 1 that are truncated as above: E[w]^2 / E[w^2] under q, by
  /// a sample of p.
  double effective_share(const HyperSample& sample, const Vector& log_q) const {
    const Eigen::ArrayXd w = ((sample.log_mass - log_q).array() - sample.log_total).exp();
    const Eigen::ArrayXd bounded = w.min(std::sqrt(static_cast<double>(weighed_draws_)));
    const double first = sample.share.dot((bounded / w).matrix());
    const double second = sample.share.dot((bounded * bounded / w).matrix());
    return first * first / second;
  }

  /// From the cells of the sample, and by what weights of the mixtures' own draws add to that, where there
  /// are enough of them.
  Weighed adapted(const HyperSample& sample) {
    const auto first = with_pooled_covariance(cells_of(sample.y, nearest_mass(sample)));
    Weighed best = weighed(first, kWeighedSeed);
    Weighed last = best;
    Matrix places, mass;
    double draws = 0;
    for (int k = 1; k <= kMostAdaptations && last.mixture && best.effective < kAdaptedMixture; ++k) {
      const double more = last.effective * static_cast<double>(weighed_draws_);
      if (more < kFewestHyperDraws) break;
      draws += more;
      append(places, last.places);
      append(mass, Matrix(more * last.mass));
      last = weighed(updated_cells(first, cells_of(places, mass / draws), draws),
                     kWeighedSeed + static_cast<std::uint64_t>(k));
      if (last.clearly_nearer_than(best)) best = last;
    }
    return best;
  }

  /// Every draw in the cell of its nearest node.
  Matrix nearest_mass(const HyperSample& sample) const {
    Matrix out = Matrix::Zero(static_cast<Index>(design_.nodes().size()), sample.y.cols());
    for (Index s = 0; s < sample.y.cols(); ++s)
      out(static_cast<Index>(sample.nearest[static_cast<std::size_t>(s)]), s) = sample.share(s);
    return out;
  }

  /// Nodes on both sides of the middle of cells in which the hyper-parameters, and with them the others'
  /// Gaussian, vary most.
  void split_cells(HyperSample& sample) {
    struct Split {
      double size;
      Vector middle, reach;
    };
    std::vector<Split> splits;
    for (const HyperCell& cell : cells_of(sample.y, nearest_mass(sample))) {
      if (!(cell.weight > kLeastComponent)) continue;
      const Matrix basis = design_.basis();
      const Eigen::SelfAdjointEigenSolver<Matrix> eigen(basis * cell.covariance * basis.transpose());
      const double variance = eigen.eigenvalues().tail(1)(0);
      if (!(variance > 0)) continue;
      const Vector reach = std::sqrt(variance) * eigen.eigenvectors().rightCols(1);
      splits.push_back({cell.weight * variance, cell.mean, basis.partialPivLu().solve(reach)});
    }
    std::stable_sort(splits.begin(), splits.end(),
                     [](const auto& a, const auto& b) { return a.size > b.size; });
    splits.resize(std::min(splits.size(), kMostSplitAtOnce));
    for (const Split& split : splits) {
      design_.add_node(split.middle + split.reach);
      design_.add_node(split.middle - split.reach);
    }
    find_nearest(sample);
  }

  /// All parameters where the hyper-parameters are at the means of cells: interpolated, or along the line
  /// that the node's own Gaussian has, whichever is nearer to the others' tilted mode.
  Matrix cell_means(const std::vector<HyperCell>& all) {
    Matrix y = design_.places();
    for (std::size_t j = 0; j < all.size(); ++j)
      if (all[j].weight > 0) y.col(static_cast<Index>(j)) = all[j].mean;
    Matrix out = marginal_.theta_at(y);
    Matrix on_line = out;
    Matrix tilt(out.rows(), out.cols());
    for (Index j = 0; j < out.cols(); ++j) {
      const ConditionalGaussian& given = design_.nodes()[static_cast<std::size_t>(j)].given;
      const Vector move = (out.col(j) - given.theta)(fit_.hyper_parameters());
      on_line.col(j) = given.theta + fit_.slopes(given) * move;
      on_line.col(j)(fit_.hyper_parameters()) = out.col(j)(fit_.hyper_parameters());
      tilt.col(j) = given.tilt;
    }
    const Vector interpolated =
        evaluator_.evaluate_values(out) + tilt.cwiseProduct(out).colwise().sum().transpose();
    const Vector along =
        evaluator_.evaluate_values(on_line) + tilt.cwiseProduct(on_line).colwise().sum().transpose();
    for (Index j = 0; j < out.cols(); ++j)
      if (!(interpolated(j) > along(j))) out.col(j) = on_line.col(j);
    return out;
  }

  std::shared_ptr<const GaussianMixture> assemble(const std::vector<HyperCell>& cells) {
    const Matrix means = cell_means(cells);
    std::vector<Gaussian> components;
    std::vector<double> weights;
    for (std::size_t j = 0; j < cells.size(); ++j) {
      if (!(cells[j].weight > kLeastComponent)) continue;
      const auto precision = joint_precision(design_.nodes()[j].given, cells[j].covariance);
      if (!precision) return nullptr;
      components.push_back(Gaussian::sparse(means.col(static_cast<Index>(j)), precision));
      weights.push_back(cells[j].weight);
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

  Evaluator& evaluator_;
  ConditionalFit& fit_;
  HyperDesign& design_;
  HyperMarginal marginal_;
  JointPrecision joint_;
  Index weighed_draws_;
};

}  // namespace

MixtureAttempt fit_mixture(Evaluator& evaluator, const Gaussian& q,
                           const std::shared_ptr<const HessianPattern>& pattern,
                           const std::vector<Index>& hyper_parameters, std::uint64_t seed) {
  const auto weights = std::make_shared<HyperWeights>(evaluator, q, pattern, hyper_parameters, seed);
  HyperDesign& design = weights->design();
  const bool built = design.build(q);
  if (design.nodes().empty()) return {};
  MixtureOfNodes nodes(evaluator, weights->fit(), design);
  if (const HyperNode* higher = design.higher()) return {nullptr, nodes.around(*higher), nullptr};
  return {built ? nodes.make() : nullptr, std::nullopt, weights->fit().has_quadrature() ? weights : nullptr};
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
