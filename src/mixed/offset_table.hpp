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

/// `width` functions of one offset at once. The third of them is the second derivative of the first, by which
/// the spacing of the nodes is chosen.
class OffsetTable {
 public:
  explicit OffsetTable(Index width = 0) : width_(width) {}

  /// The functions at an offset. `evaluate(offset, out)` computes them; it is called for the nodes around it
  /// that have not been asked for before.
  template <class Evaluate>
  void at(double offset, Evaluate&& evaluate, double* out) {
    if (nodes_.empty()) begin(offset, evaluate);
    const double place = (offset - origin_) / spacing_;
    const double left = std::floor(place);
    if (!(std::abs(place) < kReach - kNeighbours)) return evaluate(offset, out);
    const std::array<double, kNeighbours> weight = lagrange(place - left);
    std::fill_n(out, width_, 0.0);
    for (int k = 0; k < kNeighbours; ++k) {
      const double* node = node_at(static_cast<int>(left) + k - kNeighbours / 2 + 1, evaluate);
      for (Index i = 0; i < width_; ++i) out[i] += weight[static_cast<std::size_t>(k)] * node[i];
    }
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
    evaluate(offset, nodes_.data());
    origin_ = offset;
    const double curvature = std::abs(nodes_[2]);
    spacing_ = kSpacing * std::pow(std::min(1.0, kModerate / std::max(curvature, kModerate)), 1.0 / 6);
    number_.fill(-1);
    number_[kReach] = 0;
    count_ = 1;
  }

  template <class Evaluate>
  const double* node_at(int k, Evaluate&& evaluate) {
    std::int16_t& number = number_[static_cast<std::size_t>(kReach + k)];
    if (number < 0) {
      std::vector<double> values(static_cast<std::size_t>(width_));
      evaluate(origin_ + spacing_ * k, values.data());
      nodes_.insert(nodes_.end(), values.begin(), values.end());
      number = count_++;
    }
    return nodes_.data() + number * width_;
  }

  /// Weights of the nodes -2, -1, ..., 3 for a place t in [0, 1).
  static std::array<double, kNeighbours> lagrange(double t) {
    std::array<double, kNeighbours> weight{};
    for (int k = 0; k < kNeighbours; ++k) {
      double product = 1;
      for (int j = 0; j < kNeighbours; ++j)
        if (j != k) product *= (t - (j - kNeighbours / 2 + 1)) / (k - j);
      weight[static_cast<std::size_t>(k)] = product;
    }
    return weight;
  }

  Index width_;
  double origin_ = 0;
  double spacing_ = kSpacing;
  std::array<std::int16_t, 2 * kReach + 1> number_{};  // of each node among those evaluated, or -1
  std::int16_t count_ = 0;
  std::vector<double> nodes_;
};

}  // namespace magva::mixed
