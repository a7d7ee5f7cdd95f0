#pragma once
// Values of the hyper-parameters at which the others' Gaussian is known: along axes, at corners between
// these, and along the ridges of long tails, which are no straight lines.
#include <optional>
#include <vector>

#include "magva/posterior.hpp"
#include "mixture/conditional.hpp"

namespace magva {

/// Given one value of the hyper-parameters.
struct HyperNode {
  Vector place;  ///< along the axes
  ConditionalGaussian given;

  double log_mass() const { return given.elbo + given.missing; }
};

class HyperDesign {
 public:
  /// With the principal axes of q's hyper-parameters.
  HyperDesign(ConditionalFit& fit, const Gaussian& q);

  /// False where there is no design, or the mass is higher elsewhere.
  bool build(const Gaussian& q);

  /// A node with far more mass than the centre has, the highest; null where there is none.
  const HyperNode* higher() const;

  Index axes() const { return scale_.size(); }
  const std::vector<HyperNode>& nodes() const { return nodes_; }
  /// Those on the ridges of tails.
  const std::vector<std::size_t>& tails() const { return tails_; }
  /// Places in units of each axis's own sd.
  Matrix places() const;
  /// From such units to the hyper-parameters: u = centre + B y.
  Matrix basis() const { return axes_ * scale_.asDiagonal(); }
  const Vector& centre() const { return centre_; }
  /// Those on one axis.
  std::vector<Index> on_axis(Index axis) const;
  /// In units of each axis's own sd.
  Vector place_of(std::size_t node) const { return nodes_[node].place.cwiseQuotient(scale_); }
  /// Where the others are near a Gaussian; else nothing is added.
  void add_node(const Vector& y) { add(y.cwiseProduct(scale_), nearest(y)); }
  double distance(const HyperNode& a, const HyperNode& b) const;
  std::size_t nearest(const Vector& y) const;
  /// Of the way from the centre to y, at most 1, how much lies between the nodes of the axes, or between the
  /// corners.
  double share_between_nodes(const Vector& y) const;

 private:
  bool add(Vector place, std::size_t near);
  /// Both sides of an axis, whose unit becomes an sd. False where a side ends while there is mass.
  bool walk(Index axis);
  /// Further and further out, with points between where the mass falls steeply.
  bool walk_side(const Vector& unit, std::size_t from, double sd);
  /// Of the second moment on that side of an axis, what lies beyond the last node if the mass goes on falling
  /// exponentially, as it does there.
  double share_beyond(const Vector& unit) const;
  /// A shorter one where the others cannot be followed so far at once.
  bool step(const Vector& unit, double& place, double& spacing, std::size_t from);
  /// Halves the way between two nodes until the step down from the first is small enough.
  void fill(std::size_t from, std::size_t to);
  /// Those at which the others are not near a Gaussian are left out: the sample says whether that matters.
  void add_corners();
  /// Every hyper-parameter outwards, the others of them near where they have most mass then, while there is
  /// more than a normal tail has.
  void add_tails();
  void add_tail(Index hyper_parameter, double side);
  std::optional<HyperNode> ridge_node(Index hyper_parameter, double value, const HyperNode& from);

  ConditionalFit& fit_;
  Matrix covariance_;  // of the hyper-parameters, fitted
  Vector centre_;
  Matrix axes_;
  Vector scale_;
  std::vector<HyperNode> nodes_;
  std::vector<std::size_t> tails_;
};

/// How many there are, about.
Index usual_nodes(Index hyper_parameters);

}  // namespace magva
