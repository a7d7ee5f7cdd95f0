#pragma once
// Smooth functions of one offset that are expensive to evaluate and asked for at many places close together:
// values at equally spaced nodes, evaluated when first needed, and interpolated between them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "magva/types.hpp"

namespace magva::mixed {

/// Nodes that have been evaluated. The third of their functions is the second derivative of the first, by
/// which the spacing is chosen.
class OffsetNodes {
 protected:
  explicit OffsetNodes(double spacing) : spacing_(spacing) {}

  template <class Evaluate>
  void begin(double offset, Index width, Evaluate&& evaluate) {
    width_ = width;
    nodes_.resize(static_cast<std::size_t>(width));
    evaluate(offset, nodes_.data());
    origin_ = offset;
    const double curvature = std::abs(nodes_[2]);
    spacing_ *= std::pow(kModerate / std::max(curvature, kModerate), 1.0 / 6);
    number_.fill(-1);
    number_[kReach] = 0;
  }
  bool empty() const { return nodes_.empty(); }
  double spacing() const { return spacing_; }
  double place(double offset) const { return (offset - origin_) / spacing_; }
  static bool within_reach(double place) { return std::abs(place) < kReach - kMargin; }

  /// Makes sure of node k; its values are at node(k).
  template <class Evaluate>
  void need(int k, Evaluate&& evaluate) {
    std::int16_t& number = number_[static_cast<std::size_t>(kReach + k)];
    if (number >= 0) return;
    std::vector<double> values(static_cast<std::size_t>(width_));
    evaluate(origin_ + spacing_ * k, values.data());
    number = static_cast<std::int16_t>(static_cast<Index>(nodes_.size()) / width_);
    nodes_.insert(nodes_.end(), values.begin(), values.end());
  }
  const double* node(int k) const {
    return nodes_.data() + number_[static_cast<std::size_t>(kReach + k)] * width_;
  }

 private:
  static constexpr int kReach = 60;  // nodes on either side
  static constexpr int kMargin = 6;
  static constexpr double kModerate = 10;  // above this curvature nodes are closer

  Index width_ = 0;
  double spacing_;
  double origin_ = 0;
  std::array<std::int16_t, 2 * kReach + 1> number_{};  // of each node among those evaluated, or -1
  std::vector<double> nodes_;
};

/// Several functions of one offset at once, by polynomials through six nodes: the error is about 2e-5 times
/// the sixth derivative.
class OffsetTable : private OffsetNodes {
 public:
  OffsetTable() : OffsetNodes(.4) {}

  /// The `width` functions at an offset, until they are asked for again. `evaluate(offset, out)` computes
  /// them; it is called for the nodes around it that have not been asked for before.
  template <class Evaluate>
  const double* at(double offset, Index width, Evaluate&& evaluate) {
    if (empty()) begin(offset, width, evaluate);
    found_.assign(static_cast<std::size_t>(width), 0.0);
    if (!within_reach(place(offset))) {
      evaluate(offset, found_.data());
      return found_.data();
    }
    const double left = std::floor(place(offset));
    const std::array<double, 6> weight = lagrange(place(offset) - left);
    for (int k = 0; k < 6; ++k) {
      need(static_cast<int>(left) + k - 2, evaluate);
      const double* values = node(static_cast<int>(left) + k - 2);
      for (Index i = 0; i < width; ++i)
        found_[static_cast<std::size_t>(i)] += weight[static_cast<std::size_t>(k)] * values[i];
    }
    return found_.data();
  }

 private:
  /// Weights of the nodes -2, -1, ..., 3 for a place t in [0, 1).
  static std::array<double, 6> lagrange(double t) {
    const double a = t + 2, b = t + 1, c = t, d = t - 1, e = t - 2, f = t - 3;
    const double ab = a * b, cd = c * d, ef = e * f;
    return {-b * cd * ef / 120, a * cd * ef / 24,  -ab * d * ef / 12,
            ab * c * ef / 12,   -ab * cd * f / 24, ab * cd * e / 120};
  }

  std::vector<double> found_;
};

/// A function with its first two derivatives, by the quintics that agree with all three at two nodes: the
/// error is about 6e-6 times the sixth derivative.
class HermiteTable : private OffsetNodes {
 public:
  HermiteTable() : OffsetNodes(.8) {}

  /// The value and the derivatives at an offset; `evaluate` as for OffsetTable.
  template <class Evaluate>
  std::array<double, 3> at(double offset, Evaluate&& evaluate) {
    if (empty()) begin(offset, 3, evaluate);
    const double at = place(offset);
    if (!within_reach(at)) {
      std::array<double, 3> out{};
      evaluate(offset, out.data());
      return out;
    }
    const int left = static_cast<int>(std::floor(at));
    need(left, evaluate);
    need(left + 1, evaluate);
    return quintic(node(left), node(left + 1), at - left);
  }

 private:
  /// p(t) = f + g t + c t^2 + t^3 (u + v t + w t^2) between the nodes, t in [0, 1].
  std::array<double, 3> quintic(const double* from, const double* to, double t) const {
    const double h = spacing(), f = from[0], g = h * from[1], c = .5 * h * h * from[2];
    const double value = to[0] - f - g - c, slope = h * to[1] - g - 2 * c, bend = .5 * h * h * to[2] - c;
    const double u = 10 * value - 4 * slope + bend, v = -15 * value + 7 * slope - 2 * bend,
                 w = 6 * value - 3 * slope + bend;
    return {f + t * (g + t * (c + t * (u + t * (v + t * w)))),
            (g + t * (2 * c + t * (3 * u + t * (4 * v + t * 5 * w)))) / h,
            2 * (c + t * (3 * u + t * (6 * v + t * 10 * w))) / (h * h)};
  }
};

}  // namespace magva::mixed
