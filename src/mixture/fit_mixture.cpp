#include "mixture/fit_mixture.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <utility>

#include "assess/marginals.hpp"
#include "mixture/spline.hpp"

namespace magva {

namespace {

/// Of differences of gradients, in conditional sds.
constexpr double kMixtureStep = 1e-3;
/// Points on an axis: the first an sd of the fitted Gaussian out, the next so many of the sds that it shows
/// further, each side until the density has fallen by so many nats.
constexpr double kNodeSpacing = 1.2;
constexpr double kLeastAxisSd = .5;
/// Where that is less of the axis's unit, the unit is shortened, by no more than this at once.
constexpr int kMostUnits = 5;
constexpr double kLeastShrinking = .1;
/// Where the mass is higher by so many nats than at the centre, that is not where the posterior is.
constexpr double kOtherCentre = 3;
constexpr double kMostAxisSd = 3;
constexpr double kAxisEndFall = 5;
constexpr int kMostOnSide = 16;
/// Between two points at which it differs by more nats there are others, at halves of the way.
constexpr double kMostStepDown = 2.5;
constexpr int kMostHalves = 3;
/// Every point further out than this is further from the one before by this factor.
constexpr int kEvenOnSide = 4;
constexpr double kNodeGrowth = 1.3;
/// Corners, all of them up to so many axes, half of them above.
constexpr Index kAllCorners = 4;
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

/// Given one value of the hyper-parameters.
struct HyperNode {
  Vector place;  ///< along the axes
  ConditionalGaussian given;

  double log_mass() const { return given.elbo + .5 * given.variance; }
};

/// Where the others' Gaussian is known.
class HyperDesign {
 public:
  HyperDesign(ConditionalFit& fit, const Gaussian& q) : fit_(fit) {
    const std::vector<Index>& hyper = fit.hyper_parameters();
    const auto d = static_cast<Index>(hyper.size());
    Matrix covariance(d, d);
    for (Index k = 0; k < d; ++k) {
      const Vector row = q.covariance_row(hyper[static_cast<std::size_t>(k)]);
      covariance.col(k) = row(hyper);
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> axes(covariance);
    axes_ = axes.eigenvectors() * axes.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
    centre_ = q.mean()(hyper);
    scale_ = Vector::Ones(d);
  }

  /// False where there is no design, or the mass is higher elsewhere.
  bool build(const Gaussian& q) {
    auto centre = fit_.first(q.mean());
    if (!centre) return false;
    nodes_.push_back({Vector::Zero(scale_.size()), std::move(*centre)});
    for (Index axis = 0; axis < scale_.size(); ++axis)
      if (!walk(axis) || higher()) return false;
    if (scale_.size() > 1) add_corners();
    return higher() == nullptr;
  }

  /// A node with far more mass than the centre has, the highest; null where there is none.
  const HyperNode* higher() const {
    if (nodes_.empty()) return nullptr;
    const auto best = std::max_element(nodes_.begin(), nodes_.end(), [](const auto& a, const auto& b) {
      return a.log_mass() < b.log_mass();
    });
    return best->log_mass() > nodes_.front().log_mass() + kOtherCentre ? &*best : nullptr;
  }

  Index axes() const { return scale_.size(); }
  const std::vector<HyperNode>& nodes() const { return nodes_; }
  /// Places in units of each axis's own sd.
  Matrix places() const {
    Matrix out(axes(), static_cast<Index>(nodes_.size()));
    for (std::size_t j = 0; j < nodes_.size(); ++j)
      out.col(static_cast<Index>(j)) = nodes_[j].place.cwiseQuotient(scale_);
    return out;
  }
  /// From such units to the hyper-parameters: u = centre + B y.
  Matrix basis() const { return axes_ * scale_.asDiagonal(); }
  const Vector& centre() const { return centre_; }
  /// Those on one axis.
  std::vector<Index> on_axis(Index axis) const {
    std::vector<Index> out;
    for (std::size_t j = 0; j < nodes_.size(); ++j)
      if (std::abs(nodes_[j].place(axis)) == nodes_[j].place.cwiseAbs().sum())
        out.push_back(static_cast<Index>(j));
    return out;
  }
  double distance(const HyperNode& a, const HyperNode& b) const {
    return (a.place - b.place).cwiseQuotient(scale_).norm();
  }
  std::size_t nearest(const Vector& y) const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
      const double apart = (nodes_[j].place.cwiseQuotient(scale_) - y).squaredNorm();
      if (apart >= least) continue;
      least = apart;
      best = j;
    }
    return best;
  }

 private:
  bool add(Vector place, std::size_t near) {
    auto found = fit_.at(centre_ + axes_ * place, nodes_[near].given);
    if (!found) return false;
    nodes_.push_back({std::move(place), std::move(*found)});
    return true;
  }

  /// Both sides of an axis, whose unit becomes an sd. False where a side ends while there is mass.
  bool walk(Index axis) {
    const Vector unit = Vector::Unit(axes(), axis);
    const double top = nodes_.front().log_mass();
    for (int k = 0; k < kMostUnits; ++k) {
      const std::size_t up = nodes_.size();
      const bool found = add(unit, 0) && add(-unit, 0);
      const double bend = found ? 2 * top - nodes_[up].log_mass() - nodes_[up + 1].log_mass() : 0;
      const double sd = bend > 0 ? 1 / std::sqrt(bend) : kMostAxisSd;
      if (found && sd >= kLeastAxisSd) {
        scale_(axis) = std::min(sd, kMostAxisSd);
        return walk_side(unit, up, scale_(axis)) && walk_side(-unit, up + 1, scale_(axis));
      }
      nodes_.resize(up);
      axes_.col(axis) *= found ? std::max(sd, kLeastShrinking) : kLeastShrinking;
    }
    return false;
  }

  /// Further and further out, with points between where the mass falls steeply.
  bool walk_side(const Vector& unit, std::size_t from, double sd) {
    double highest = std::max(nodes_.front().log_mass(), nodes_[from].log_mass());
    fill(0, from);
    double spacing = kNodeSpacing * sd;
    double place = 1;
    for (int k = 0; k < kMostOnSide; ++k) {
      const double now = nodes_[from].log_mass();
      highest = std::max(highest, now);
      if (highest > nodes_.front().log_mass() + kOtherCentre && now < highest) return true;
      // What lies further out counts by its square in a variance.
      const double fall = highest - now - 2 * std::log(std::max(1., place / sd));
      if (fall > kAxisEndFall) return true;
      if (k >= kEvenOnSide) spacing *= kNodeGrowth;
      if (!step(unit, place, spacing, from)) return fall > kAxisEndFall / 2;
      const std::size_t before = std::exchange(from, nodes_.size() - 1);
      fill(before, from);
    }
    return highest > nodes_.front().log_mass() + kOtherCentre;
  }

  /// A shorter one where the others cannot be followed so far at once.
  bool step(const Vector& unit, double& place, double& spacing, std::size_t from) {
    for (int k = 0; k <= kMostHalves; ++k, spacing *= .5)
      if (add((place + spacing) * unit, from)) {
        place += spacing;
        return true;
      }
    return false;
  }

  /// Halves the way between two nodes until the step down from the first is small enough.
  void fill(std::size_t from, std::size_t to) {
    for (int k = 0; k < kMostHalves; ++k) {
      if (nodes_[from].log_mass() - nodes_[to].log_mass() < kMostStepDown) return;
      if (!add(.5 * (nodes_[from].place + nodes_[to].place), from)) return;
      to = nodes_.size() - 1;
    }
  }

  /// Those at which the others are not near a Gaussian are left out: the sample says whether that matters.
  void add_corners() {
    const Index d = axes();
    for (Index corner = 0; corner < (Index{1} << d); ++corner) {
      Vector place(d);
      Index below = 0;
      for (Index k = 0; k < d; ++k) {
        const bool side = ((corner >> k) & 1) != 0;
        place(k) = (side ? 1 : -1) * kNodeSpacing * scale_(k);
        below += side ? 0 : 1;
      }
      if (d > kAllCorners && below % 2 != 0) continue;
      const std::size_t near = nearest(place.cwiseQuotient(scale_));
      add(std::move(place), near);
    }
  }

  ConditionalFit& fit_;
  Vector centre_;
  Matrix axes_;
  Vector scale_;
  std::vector<HyperNode> nodes_;
};

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
      : fit_(fit), design_(design), means_(design.places(), stacked_means(design)) {
    make_structure();
  }

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

  /// The pattern, and all pairs of hyper-parameters.
  void make_structure() {
    const HessianPattern& pattern = fit_.pattern();
    const std::vector<Index>& hyper = fit_.hyper_parameters();
    std::vector<Index> rows = pattern.places().rows;
    std::vector<Index> columns = pattern.places().columns;
    pair_entry_ = Matrix::Constant(design_.axes(), design_.axes(), -1).cast<Index>();
    const auto number = [&](Index i) {
      return static_cast<Index>(std::find(hyper.begin(), hyper.end(), i) - hyper.begin());
    };
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (fit_.is_hyper(rows[k]) && fit_.is_hyper(columns[k]))
        set_pair(number(rows[k]), number(columns[k]), static_cast<Index>(k));
    for (Index a = 0; a < design_.axes(); ++a)
      for (Index b = 0; b < a; ++b)
        if (pair_entry_(a, b) < 0) {
          set_pair(a, b, static_cast<Index>(rows.size()));
          rows.push_back(std::max(hyper[static_cast<std::size_t>(a)], hyper[static_cast<std::size_t>(b)]));
          columns.push_back(std::min(hyper[static_cast<std::size_t>(a)], hyper[static_cast<std::size_t>(b)]));
        }
    structure_ =
        std::make_shared<const PrecisionStructure>(pattern.dimension(), std::move(rows), std::move(columns));
  }
  void set_pair(Index a, Index b, Index entry) { pair_entry_(a, b) = pair_entry_(b, a) = entry; }

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

  /// Of the hyper-parameters with this covariance, in units of the axes, and the others given them:
  /// [S^-1 + H_uv P^-1 H_vu, H_uv; H_vu, P].
  std::shared_ptr<const FactoredPrecision> joint_precision(const ConditionalGaussian& given,
                                                           const Matrix& within) const {
    const Matrix basis = design_.basis();
    const Matrix covariance = basis * within * basis.transpose();
    const Eigen::LLT<Matrix> factor(covariance);
    if (factor.info() != Eigen::Success) return nullptr;
    const Matrix among = factor.solve(Matrix::Identity(covariance.rows(), covariance.cols())) -
                         fit_.cross(given.curvature).transpose() * fit_.slopes(given);
    Vector values = Vector::Zero(structure_->entries());
    values.head(given.curvature.size()) = given.curvature;
    for (Index a = 0; a < among.rows(); ++a)
      for (Index b = 0; b <= a; ++b) values(pair_entry_(a, b)) = .5 * (among(a, b) + among(b, a));
    return FactoredPrecision::make(structure_, std::move(values), fit_.sums());
  }

  ConditionalFit& fit_;
  const HyperDesign& design_;
  PolyharmonicSpline means_;
  std::shared_ptr<const PrecisionStructure> structure_;
  Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic> pair_entry_;
};

}  // namespace

MixtureAttempt fit_mixture(Evaluator& evaluator, const Gaussian& q,
                           const std::shared_ptr<const HessianPattern>& pattern,
                           const std::vector<Index>& hyper_parameters, std::uint64_t seed) {
  ConditionalFit fit(evaluator, pattern, hyper_parameters,
                     kMixtureStep * q.precision_diagonal().cwiseSqrt().cwiseInverse(), seed);
  HyperDesign design(fit, q);
  const bool built = design.build(q);
  if (design.nodes().empty()) return {};
  MixtureOfNodes nodes(fit, design);
  if (const HyperNode* higher = design.higher()) return {nullptr, nodes.around(*higher)};
  return {built ? nodes.make() : nullptr, std::nullopt};
}

std::int64_t mixture_cost(const HessianPattern& pattern, Index hyper_parameters) {
  const Index corners = hyper_parameters > 1 ? Index{1} << hyper_parameters : 0;
  const Index nodes = 1 + 6 * hyper_parameters + (hyper_parameters > kAllCorners ? corners / 2 : corners);
  constexpr Index gradients_at_node = 160;
  return nodes * (pattern.colours() + gradients_at_node) + 8 * pattern.colours() + kHyperDraws;
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
