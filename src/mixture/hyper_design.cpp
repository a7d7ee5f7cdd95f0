#include "mixture/hyper_design.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace magva {

namespace {

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
/// Of the second moment on one side of an axis, what may lie beyond the last point where the walk cannot go
/// on.
constexpr double kMostMomentBeyond = .05;
/// Between two points at which it differs by more nats there are others, at halves of the way.
constexpr double kMostStepDown = 2.5;
constexpr int kMostHalves = 3;
/// Every point further out than this is further from the one before by this factor.
constexpr int kEvenOnSide = 4;
constexpr double kNodeGrowth = 1.3;
/// Points on a tail, in sds of the hyper-parameter. The others of them take so many steps at each, while one
/// gains so much, in nats.
constexpr double kFirstTail = 4;
constexpr double kTailSpacing = 1.5;
constexpr int kMostOnTail = 8;
constexpr int kRidgeSteps = 3;
constexpr double kRidgeGain = .2;
/// Corners, all of them up to so many axes, half of them above.
constexpr Index kAllCorners = 4;

}  // namespace

HyperDesign::HyperDesign(ConditionalFit& fit, const Gaussian& q) : fit_(fit) {
  const std::vector<Index>& hyper = fit.hyper_parameters();
  const auto d = static_cast<Index>(hyper.size());
  covariance_.resize(d, d);
  for (Index k = 0; k < d; ++k) {
    const Vector row = q.covariance_row(hyper[static_cast<std::size_t>(k)]);
    covariance_.col(k) = row(hyper);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> axes(covariance_);
  axes_ = axes.eigenvectors() * axes.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  centre_ = q.mean()(hyper);
  scale_ = Vector::Ones(d);
}

bool HyperDesign::build(const Gaussian& q) {
  auto centre = fit_.first(q.mean());
  if (!centre) return false;
  nodes_.push_back({Vector::Zero(scale_.size()), std::move(*centre)});
  for (Index axis = 0; axis < scale_.size(); ++axis)
    if (!walk(axis) || higher() != nullptr) return false;
  if (scale_.size() > 1) {
    add_corners();
    add_tails();
  }
  return higher() == nullptr;
}

const HyperNode* HyperDesign::higher() const {
  if (nodes_.empty()) return nullptr;
  const auto best = std::max_element(
      nodes_.begin(), nodes_.end(), [](const auto& a, const auto& b) { return a.log_mass() < b.log_mass(); });
  return best->log_mass() > nodes_.front().log_mass() + kOtherCentre ? &*best : nullptr;
}

Matrix HyperDesign::places() const {
  Matrix out(axes(), static_cast<Index>(nodes_.size()));
  for (std::size_t j = 0; j < nodes_.size(); ++j)
    out.col(static_cast<Index>(j)) = nodes_[j].place.cwiseQuotient(scale_);
  return out;
}

std::vector<Index> HyperDesign::on_axis(Index axis) const {
  std::vector<Index> out;
  for (std::size_t j = 0; j < nodes_.size(); ++j)
    if (std::abs(nodes_[j].place(axis)) == nodes_[j].place.cwiseAbs().sum())
      out.push_back(static_cast<Index>(j));
  return out;
}

double HyperDesign::distance(const HyperNode& a, const HyperNode& b) const {
  return (a.place - b.place).cwiseQuotient(scale_).norm();
}

std::size_t HyperDesign::nearest(const Vector& y) const {
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

double HyperDesign::share_between_nodes(const Vector& y) const {
  double along_axes = 0;
  for (Index k = 0; k < axes(); ++k) {
    double end = 0;
    for (const Index node : on_axis(k)) {
      const double place = nodes_[static_cast<std::size_t>(node)].place(k) / scale_(k);
      if (place * y(k) > 0) end = std::max(end, std::abs(place));
    }
    if (end > 0) along_axes += std::abs(y(k)) / end;
  }
  const double to_corner = y.cwiseAbs().maxCoeff() / kNodeSpacing;
  if (!tails_.empty() && (place_of(nearest(y)) - y).norm() < kNodeSpacing) return 1;
  return 1 / std::max(1., std::min(along_axes, to_corner));
}

bool HyperDesign::add(Vector place, std::size_t near) {
  auto found = fit_.at(centre_ + axes_ * place, nodes_[near].given);
  if (!found) return false;
  nodes_.push_back({std::move(place), std::move(*found)});
  return true;
}

bool HyperDesign::walk(Index axis) {
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

bool HyperDesign::walk_side(const Vector& unit, std::size_t from, double sd) {
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
    if (!step(unit, place, spacing, from)) break;
    const std::size_t before = std::exchange(from, nodes_.size() - 1);
    fill(before, from);
  }
  // Far out the others may be too near to each other for any Gaussian that can be computed.
  return share_beyond(unit) < kMostMomentBeyond || highest > nodes_.front().log_mass() + kOtherCentre;
}

double HyperDesign::share_beyond(const Vector& unit) const {
  std::vector<std::pair<double, double>> side;  // how far out, and the mass there
  for (const HyperNode& node : nodes_) {
    const double out = node.place.dot(unit);
    if (out >= 0 && out == node.place.cwiseAbs().sum())
      side.emplace_back(out, std::exp(node.log_mass() - nodes_.front().log_mass()));
  }
  std::sort(side.begin(), side.end());
  const auto square = [](const auto& at) { return at.first * at.first * at.second; };
  double known = 0;
  for (std::size_t k = 1; k < side.size(); ++k)
    known += .5 * (square(side[k - 1]) + square(side[k])) * (side[k].first - side[k - 1].first);
  const auto [before, last] = std::pair(side[side.size() - 2], side.back());
  const double slope = std::log(before.second / last.second) / (last.first - before.first);
  if (!(slope > 0)) return std::numeric_limits<double>::infinity();
  const double far = slope * last.first;
  return square(last) / slope * (1 + 2 / far + 2 / (far * far)) / known;
}

bool HyperDesign::step(const Vector& unit, double& place, double& spacing, std::size_t from) {
  for (int k = 0; k <= kMostHalves; ++k, spacing *= .5)
    if (add((place + spacing) * unit, from)) {
      place += spacing;
      return true;
    }
  return false;
}

void HyperDesign::fill(std::size_t from, std::size_t to) {
  for (int k = 0; k < kMostHalves; ++k) {
    if (nodes_[from].log_mass() - nodes_[to].log_mass() < kMostStepDown) return;
    if (!add(.5 * (nodes_[from].place + nodes_[to].place), from)) return;
    to = nodes_.size() - 1;
  }
}

void HyperDesign::add_corners() {
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

void HyperDesign::add_tails() {
  for (Index k = 0; k < axes(); ++k)
    for (const double side : {-1., 1.}) add_tail(k, side);
}

void HyperDesign::add_tail(Index hyper_parameter, double side) {
  const double sd = std::sqrt(covariance_(hyper_parameter, hyper_parameter));
  HyperNode from = nodes_.front();
  double sds = kFirstTail;
  for (int j = 0; j < kMostOnTail; ++j, sds += kTailSpacing) {
    auto found = ridge_node(hyper_parameter, centre_(hyper_parameter) + side * sds * sd, from);
    if (!found) return;
    // What lies further out counts by its square in a variance.
    if (nodes_.front().log_mass() - found->log_mass() - 2 * std::log(sds) > kAxisEndFall) return;
    from = std::move(*found);
    if (share_between_nodes(from.place.cwiseQuotient(scale_)) == 1) continue;  // an axis goes there
    tails_.push_back(nodes_.size());
    nodes_.push_back(from);
  }
}

std::optional<HyperNode> HyperDesign::ridge_node(Index hyper_parameter, double value, const HyperNode& from) {
  const Index k = hyper_parameter;
  Vector u = centre_ + axes_ * from.place;
  u += covariance_.col(k) / covariance_(k, k) * (value - u(k));
  auto given = fit_.at(u, from.given);
  // Of the others given this one.
  const Matrix rest = covariance_ - covariance_.col(k) * covariance_.row(k) / covariance_(k, k);
  const Vector sd = covariance_.diagonal().cwiseSqrt();
  for (int step = 0; given && step < kRidgeSteps; ++step) {
    Vector move = rest * given->hyper_gradient;
    if (.5 * move.dot(given->hyper_gradient) < kRidgeGain) break;
    move /= std::max(1., move.cwiseQuotient(sd).cwiseAbs().maxCoeff());
    auto next = fit_.at(u + move, *given);
    if (!next || next->elbo < given->elbo) break;
    u += move;
    given = std::move(next);
  }
  if (!given) return std::nullopt;
  return HyperNode{axes_.partialPivLu().solve(u - centre_), std::move(*given)};
}

Index usual_nodes(Index hyper_parameters) {
  const Index corners = hyper_parameters > 1 ? Index{1} << hyper_parameters : 0;
  return 1 + 6 * hyper_parameters + (hyper_parameters > kAllCorners ? corners / 2 : corners);
}

}  // namespace magva
