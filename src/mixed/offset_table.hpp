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

/// Several functions of one offset at once. The third of them is the second derivative of the first, by which
/// the spacing of the nodes is chosen.
class OffsetTable {
 public:
  /// How many functions; it must not change once they have been asked for.
  void set_width(Index width) { width_ = width; }

  /// The functions at an offset, until they are asked for again. `evaluate(offset, out)` computes them; it is
  /// called for the nodes around it that have not been asked for before.
  template <class Evaluate>
  const double* at(double offset, Evaluate&& evaluate) {
    if (nodes_.empty()) begin(offset, evaluate);
    const double place = (offset - origin_) / spacing_;
    if (!(std::abs(place) < kReach - kNeighbours)) {
      evaluate(offset, found_.data());
      return found_.data();
    }
    const double left = std::floor(place);
    const std::array<double, kNeighbours> weight = lagrange(place - left);
    const int first = static_cast<int>(left) - kNeighbours / 2 + 1;
    for (int k = 0; k < kNeighbours; ++k) need_node(first + k, evaluate);
    std::fill(found_.begin(), found_.end(), 0.0);
    for (int k = 0; k < kNeighbours; ++k) {
      const double* node = nodes_.data() + number_[static_cast<std::size_t>(kReach + first + k)] * width_;
      for (Index i = 0; i < width_; ++i)
        found_[static_cast<std::size_t>(i)] += weight[static_cast<std::size_t>(k)] * node[i];
    }
    return found_.data();
  }

 private:
  static constexpr int kNeighbours = 6;
  static constexpr int kReach = 60;  // nodes on either side
  /// The error is about 2e-5 times the sixth derivative.
  static constexpr double kSpacing = .4;
  /// Above this curvature nodes are closer.
  static constexpr double kModerate = 10;

  template <class Evaluate>
  void begin(double offset, Evaluate&& evaluate) {
    nodes_.resize(static_cast<std::size_t>(width_));
    found_.resize(static_cast<std::size_t>(width_));
    evaluate(offset, nodes_.data());
    origin_ = offset;
    const double curvature = std::abs(nodes_[2]);
    spacing_ = kSpacing * std::pow(kModerate / std::max(curvature, kModerate), 1.0 / 6);
    number_.fill(-1);
    number_[kReach] = 0;
  }

  template <class Evaluate>
  void need_node(int k, Evaluate&& evaluate) {
    std::int16_t& number = number_[static_cast<std::size_t>(kReach + k)];
    if (number >= 0) return;
    evaluate(origin_ + spacing_ * k, found_.data());
    number = static_cast<std::int16_t>(static_cast<Index>(nodes_.size()) / width_);
    nodes_.insert(nodes_.end(), found_.begin(), found_.end());
  }

  /// Weights of the nodes -2, -1, ..., 3 for a place t in [0, 1).
  static std::array<double, kNeighbours> lagrange(double t) {
    const double a = t + 2, b = t + 1, c = t, d = t - 1, e = t - 2, f = t - 3;
    const double ab = a * b, cd = c * d, ef = e * f;
    return {-b * cd * ef / 120, a * cd * ef / 24,  -ab * d * ef / 12,
            ab * c * ef / 12,   -ab * cd * f / 24, ab * cd * e / 120};
  }

  Index width_ = 0;
  double origin_ = 0;
  double spacing_ = kSpacing;
  std::array<std::int16_t, 2 * kReach + 1> number_{};  // of each node among those evaluated, or -1
  std::vector<double> nodes_;
  std::vector<double> found_;
};

}  // namespace magva::mixed
