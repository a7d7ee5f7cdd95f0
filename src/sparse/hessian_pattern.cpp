#include "sparse/hessian_pattern.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace magva {

namespace {

using Neighbours = std::vector<std::vector<Index>>;

/// Numbers in the largest batch of points at which gradients are differenced.
constexpr Index kMostNumbers = 1 << 22;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

Neighbours neighbours_of(Index m, const PatternEntries& places) {
  Neighbours out(at(m));
  for (std::size_t k = 0; k < places.rows.size(); ++k) {
    if (places.rows[k] == places.columns[k]) continue;
    out[at(places.rows[k])].push_back(places.columns[k]);
    out[at(places.columns[k])].push_back(places.rows[k]);
  }
  return out;
}

/// Greedy, coordinates with many neighbours first.
class StarColouring {
 public:
  explicit StarColouring(const Neighbours& neighbours)
      : neighbours_(neighbours), colour_(neighbours.size(), -1), forbidden_(neighbours.size() + 1, -1) {}

  std::vector<Index> run() {
    std::vector<Index> order(neighbours_.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return neighbours_[at(a)].size() > neighbours_[at(b)].size(); });
    for (const Index v : order) give_colour(v);
    return std::move(colour_);
  }

 private:
  void give_colour(Index v) {
    for (const Index w : neighbours_[at(v)]) {
      if (colour_[at(w)] < 0)
        forbid_all_beyond(v, w);
      else
        forbid_two_coloured_paths(v, w);
    }
    Index free = 0;
    while (forbidden_[at(free)] == v) ++free;
    colour_[at(v)] = free;
    if (at(free) == class_size_.size()) class_size_.push_back(0);
    ++class_size_[at(free)];
  }

  // v - w - x, w without a colour yet.
  void forbid_all_beyond(Index v, Index w) {
    for (const Index x : neighbours_[at(w)])
      if (x != v && colour_[at(x)] >= 0) forbidden_[at(colour_[at(x)])] = v;
  }

  // No path v - w - x - y may have two colours: x that of v, y that of w.
  void forbid_two_coloured_paths(Index v, Index w) {
    const Index colour = colour_[at(w)];
    forbidden_[at(colour)] = v;
    if (class_size_[at(colour)] == 1) return;
    for (const Index x : neighbours_[at(w)]) {
      if (x == v || colour_[at(x)] < 0 || forbidden_[at(colour_[at(x)])] == v) continue;
      for (const Index y : neighbours_[at(x)])
        if (y != w && colour_[at(y)] == colour) {
          forbidden_[at(colour_[at(x)])] = v;
          break;
        }
    }
  }

  const Neighbours& neighbours_;
  std::vector<Index> colour_;
  std::vector<Index> forbidden_;  // of each colour, the last coordinate that must not have it
  std::vector<Index> class_size_;
};

}  // namespace

HessianPattern::HessianPattern(Index m, PatternEntries entries)
    : m_(m),
      places_(std::move(entries)),
      diagonal_(at(m), 0),
      sums_(Matrix::Zero(m, static_cast<Index>(places_.sums.size()))) {
  for (std::size_t k = 0; k < places_.sums.size(); ++k)
    for (const Index i : places_.sums[k].members)
      sums_(i, static_cast<Index>(k)) = std::sqrt(places_.sums[k].weight);
  for (std::size_t k = 0; k < places_.rows.size(); ++k)
    if (places_.rows[k] == places_.columns[k]) diagonal_[at(places_.rows[k])] = static_cast<Index>(k);
  const Neighbours neighbours = neighbours_of(m, places_);
  colour_ = StarColouring(neighbours).run();
  colours_ = 1 + *std::max_element(colour_.begin(), colour_.end());
  choose_readings(neighbours);
  structure_ = std::make_shared<const PrecisionStructure>(m, places_.rows, places_.columns);
}

// Row i holds entry (i, j) alone where no other neighbour of i has the colour of j. The row with fewer
// neighbours is asked first: that of a coordinate on which all depend would take m questions for each entry.
void HessianPattern::choose_readings(const Neighbours& neighbours) {
  const auto alone = [&](Index i, Index j) {
    return std::none_of(neighbours[at(i)].begin(), neighbours[at(i)].end(),
                        [&](Index other) { return other != j && colour_[at(other)] == colour_[at(j)]; });
  };
  for (std::size_t k = 0; k < places_.rows.size(); ++k) {
    const Index i = places_.rows[k];
    const Index j = places_.columns[k];
    const bool row_first = neighbours[at(i)].size() <= neighbours[at(j)].size();
    const Reading first = row_first ? Reading{i, j} : Reading{j, i};
    const bool first_is_alone = i == j || alone(first.row, first.moves);
    readings_.push_back(first_is_alone ? first : Reading{first.moves, first.row});
  }
}

Matrix HessianPattern::sums_times_moves(ConstVectorRef length) const {
  Matrix moves = Matrix::Zero(m_, colours_);
  for (Index i = 0; i < m_; ++i) moves(i, colour_[at(i)]) = length(i);
  return sums_ * (sums_.transpose() * moves);
}

Matrix HessianPattern::curvature(Evaluator& evaluator, ConstMatrixRef theta, ConstMatrixRef gradient,
                                 ConstVectorRef length, const std::vector<double>& sign) const {
  const Index block = std::max<Index>(1, kMostNumbers / (m_ * colours_));
  const Matrix of_sums = sums_times_moves(length);
  Matrix out(entries(), theta.cols());
  for (Index first = 0; first < theta.cols(); first += block) {
    const Index count = std::min(block, theta.cols() - first);
    Matrix moved(m_, colours_ * count);
    for (Index s = 0; s < count; ++s) {
      moved.middleCols(s * colours_, colours_) = theta.col(first + s).replicate(1, colours_);
      for (Index i = 0; i < m_; ++i)
        moved(i, s * colours_ + colour_[at(i)]) += sign[at(first + s)] * length(i);
    }
    Vector log_density(moved.cols());
    Matrix there(m_, moved.cols());
    evaluator.evaluate(moved, log_density, there);
    for (Index s = 0; s < count; ++s) {
      const double side = sign[at(first + s)];
      const bool finite = log_density.segment(s * colours_, colours_).allFinite();
      for (Index k = 0; k < entries(); ++k) {
        const auto [row, moves] = readings_[at(k)];
        const Index colour = colour_[at(moves)];
        const double change = side * (gradient(row, first + s) - there(row, s * colours_ + colour));
        out(k, first + s) = finite ? (change - of_sums(row, colour)) / length(moves)
                                   : std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  return out;
}

Matrix HessianPattern::dense(ConstVectorRef values) const {
  Matrix out = Matrix::Zero(m_, m_);
  for (std::size_t k = 0; k < places_.rows.size(); ++k)
    out(places_.rows[k], places_.columns[k]) = out(places_.columns[k], places_.rows[k]) =
        values(static_cast<Index>(k));
  if (sums_.cols() > 0) out += sums_ * sums_.transpose();
  return out;
}

Vector HessianPattern::entries_of(ConstMatrixRef dense) const {
  Vector out(entries());
  for (std::size_t k = 0; k < places_.rows.size(); ++k) {
    const Index i = places_.rows[k];
    const Index j = places_.columns[k];
    out(static_cast<Index>(k)) = dense(i, j) - sums_.row(i).dot(sums_.row(j));
  }
  return out;
}

Vector HessianPattern::diagonal(ConstVectorRef values) const {
  Vector out(m_);
  for (Index i = 0; i < m_; ++i) out(i) = values(diagonal_[at(i)]);
  return out;
}

void HessianPattern::add_to_diagonal(ConstVectorRef added, VectorRef values) const {
  for (Index i = 0; i < m_; ++i) values(diagonal_[at(i)]) += added(i);
}

}  // namespace magva
