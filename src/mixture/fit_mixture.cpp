#include "mixture/fit_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assess/marginals.hpp"
#include "mixture/hyper_design.hpp"
#include "mixture/joint_precision.hpp"
#include "mixture/spline.hpp"

namespace magva {

namespace {

/// Draws of the hyper-parameters, and the share that must be effective.
constexpr Index kHyperDraws = 1024;
constexpr double kLeastHyperShare = .1;
/// Points of a marginal density on an axis, and how many nats it goes on to fall beyond the last one that was
/// walked to, as steeply as there, at least and at most so far.
constexpr Index kAxisGrid = 512;
constexpr double kFallBeyond = 7;
constexpr double kLeastBeyond = 1;
constexpr double kMostBeyond = 30;
/// Components with less weight are left out.
constexpr double kLeastComponent = 1e-5;

/// Points of [0, 1]^d that fill it evenly: multiples of powers of the root of x^(d+1) = x + 1, without their
/// whole parts (Roberts 2018).
Matrix even_points(Index d, Index count) {
  double root = 1.5;
  for (int k = 0; k < 100; ++k) root = std::pow(1 + root, 1 / static_cast<double>(d + 1));
  Matrix out(d, count);
  for (Index k = 0; k < d; ++k) {
    const double step = std::pow(root, -static_cast<double>(k + 1));
    for (Index s = 0; s < count; ++s) {
      const double x = .5 + step * static_cast<double>(s + 1);
      out(k, s) = x - std::floor(x);
    }
  }
  return out;
}

/// How far a density goes on, of which the logarithm falls like this.
double length_beyond(double slope) {
  return slope < 0 ? std::clamp(-kFallBeyond / slope, kLeastBeyond, kMostBeyond) : kMostBeyond;
}

/// The marginal along an axis, as if the others stayed at 0.
LineDensity axis_density(const HyperDesign& design, Index axis) {
  const std::vector<Index> on_axis = design.on_axis(axis);
  const Matrix places = design.places();
  Matrix points(1, static_cast<Index>(on_axis.size()));
  Matrix values(1, points.cols());
  for (Index j = 0; j < points.cols(); ++j) {
    const Index node = on_axis[static_cast<std::size_t>(j)];
    points(0, j) = places(axis, node);
    values(0, j) = design.nodes()[static_cast<std::size_t>(node)].log_mass();
  }
  const PolyharmonicSpline spline(points, values);
  const double low = points.minCoeff();
  const double high = points.maxCoeff();
  Matrix ends(1, 4);
  ends << low - 1, low, high, high + 1;
  const Vector at_ends = spline(ends).transpose();
  const Vector grid = Vector::LinSpaced(kAxisGrid, low - length_beyond(at_ends(0) - at_ends(1)),
                                        high + length_beyond(at_ends(3) - at_ends(2)));
  return {grid, spline(grid.transpose()).transpose()};
}

/// Draws of the hyper-parameters, in units of the axes, with their shares of the posterior.
struct HyperSample {
  Matrix y;
  Vector share;
  std::vector<std::size_t> nearest;  ///< node of each
};

class MixtureOfNodes {
 public:
  MixtureOfNodes(ConditionalFit& fit, const HyperDesign& design)
      : fit_(fit), design_(design), means_(design.places(), stacked_means(design)), joint_(fit) {}

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
    Matrix out = means_(y);
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
    const Vector by_elbo = PolyharmonicSpline(places, gap)(y).transpose();
    return by_elbo + (slope(0) + (slope.tail(places.rows()).transpose() * y).array()).matrix().transpose();
  }

  std::optional<HyperSample> draw() {
    HyperSample out{even_points(design_.axes(), kHyperDraws), Vector::Zero(kHyperDraws), {}};
    for (Index k = 0; k < design_.axes(); ++k) {
      const LineDensity density = axis_density(design_, k);
      for (Index s = 0; s < kHyperDraws; ++s) {
        out.y(k, s) = density.quantile(out.y(k, s));
        out.share(s) -= std::log(density(out.y(k, s)));
      }
    }
    std::vector<const ConditionalGaussian*> near;
    for (Index s = 0; s < kHyperDraws; ++s) {
      out.nearest.push_back(design_.nearest(out.y.col(s)));
      near.push_back(&design_.nodes()[out.nearest.back()].given);
    }
    out.share += fit_.heights(theta_at(out.y), near) + beyond_height(out.y);
    for (double& share : out.share)
      if (!std::isfinite(share)) share = -std::numeric_limits<double>::infinity();
    if (!std::isfinite(out.share.maxCoeff())) return std::nullopt;
    out.share = (out.share.array() - out.share.maxCoeff()).exp();
    out.share /= out.share.sum();
    if (1 / out.share.squaredNorm() < kLeastHyperShare * static_cast<double>(kHyperDraws))
      return std::nullopt;
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
  const HyperDesign& design_;
  PolyharmonicSpline means_;
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
  return usual_nodes(hyper_parameters) * (pattern.colours() + gradients_at_node) + 8 * pattern.colours() +
         kHyperDraws;
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
