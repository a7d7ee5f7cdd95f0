#include "mixed/row_contents.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace magva::mixed {

namespace {

/// Responses that need not be neighbours in the data.
struct PointRows {
  std::vector<double> response, trials, status, weight;

  void add(const Problem& problem, Index row) {
    response.push_back(problem.data.response(row));
    if (problem.data.trials.size() > 0) trials.push_back(problem.data.trials(row));
    if (problem.data.status.size() > 0) status.push_back(problem.data.status(row));
    if (problem.data.weights.size() > 0) weight.push_back(problem.data.weights(row));
  }
  ResponseRows rows() const {
    return {response.data(), trials.empty() ? nullptr : trials.data(),
            status.empty() ? nullptr : status.data(), static_cast<Index>(response.size())};
  }
};

/// Log densities of rows and their derivatives. `weight` may be null.
void densities(const ResponseFamily& family, const ResponseRows& rows, const double* weight,
               const Vector& own, const Vector& eta, Wanted wanted, Contents& out) {
  out.value.resize(rows.rows);
  const auto weigh = [&](auto&& values) {
    if (weight) values.array() *= Eigen::Map<const Vector>(weight, rows.rows).array();
  };
  if (wanted == Wanted::value) {
    family.log_density(rows, eta.data(), own.data(), out.value.data());
    weigh(out.value);
    return;
  }
  out.slope.resize(rows.rows);
  if (wanted == Wanted::gradient) {
    const Index owns = family.own_count();
    Matrix by_own(rows.rows, owns);
    family.slopes(rows, eta.data(), own.data(), out.value.data(), out.slope.data(), by_own.data());
    for (Index k = 0; k < owns; ++k) weigh(by_own.col(k));
    out.others.topRows(owns) = by_own.transpose();
  } else {
    out.curvature.resize(rows.rows);
    family.curvatures(rows, eta.data(), own.data(), out.value.data(), out.slope.data(), out.curvature.data());
    weigh(out.curvature);
  }
  weigh(out.value);
  weigh(out.slope);
}

class PlainRows final : public RowContents {
 public:
  explicit PlainRows(const RowsOfChunk& rows) : rows_(rows) {}

  void at(const Vector& eta, Wanted wanted, Contents& out) override {
    if (wanted == Wanted::gradient) out.others = Matrix::Zero(rows_.others, rows_.count);
    const Vector& weights = rows_.problem.data.weights;
    densities(*rows_.problem.family, rows_.problem.response().from(rows_.first, rows_.count),
              weights.size() > 0 ? weights.data() + rows_.first : nullptr, rows_.own, eta, wanted, out);
    if (wanted == Wanted::gradient) out.rows = out.slope;
  }

 private:
  const RowsOfChunk rows_;
};

/// Equally spaced nodes of one function and others beside it.
class NodeTable {
 public:
  NodeTable(double origin, double spacing) : origin_(origin), spacing_(spacing), by_spacing_(1 / spacing) {}

  double spacing() const { return spacing_; }
  double at(Index node) const { return origin_ + spacing_ * static_cast<double>(node); }
  double place(double eta) const { return (eta - origin_) * by_spacing_; }
  bool has(Index first, Index last) const {
    return first >= first_ && last < first_ + static_cast<Index>(nodes_.size());
  }
  Index first() const { return first_; }
  Index end() const { return first_ + static_cast<Index>(nodes_.size()); }

  /// Value, first and second derivative, then the others.
  using Node = std::array<double, 3 + kMostOwnParameters + 1>;
  /// Nodes from `first` on, which adjoin those that there are or are the first of all.
  void add(Index first, const std::vector<Node>& nodes) {
    if (nodes_.empty()) first_ = first;
    if (first < first_) {
      nodes_.insert(nodes_.begin(), nodes.begin(), nodes.end());
      first_ = first;
    } else {
      nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    }
    pieces_.clear();
    for (std::size_t k = 0; k + 1 < nodes_.size(); ++k)
      pieces_.push_back(piece_between(nodes_[k], nodes_[k + 1]));
  }

  /// p(t) = c0 + c1 t + ... + c5 t^5 between two nodes, t in [0, 1).
  double quintic(double place) const {
    const double left = std::floor(place), t = place - left;
    const std::array<double, 6>& c = piece(static_cast<Index>(left));
    return c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))));
  }
  void quintic(double place, double& value, double& slope, double& curvature) const {
    const double left = std::floor(place), t = place - left, by_eta = by_spacing_;
    const std::array<double, 6>& c = piece(static_cast<Index>(left));
    value = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))));
    slope = by_eta * (c[1] + t * (2 * c[2] + t * (3 * c[3] + t * (4 * c[4] + t * 5 * c[5]))));
    curvature = by_eta * by_eta * 2 * (c[2] + t * (3 * c[3] + t * (6 * c[4] + t * 10 * c[5])));
  }
  /// The others, by polynomials through six nodes.
  void lagrange(double place, Index others, double* out) const {
    const double left = std::floor(place), t = place - left;
    const double a = t + 2, b = t + 1, c = t, d = t - 1, e = t - 2, f = t - 3;
    const double ab = a * b, cd = c * d, ef = e * f;
    const std::array<double, 6> weight = {-b * cd * ef / 120, a * cd * ef / 24,  -ab * d * ef / 12,
                                          ab * c * ef / 12,   -ab * cd * f / 24, ab * cd * e / 120};
    std::fill_n(out, others, 0.0);
    for (Index k = 0; k < 6; ++k) {
      const Node& values = node(static_cast<Index>(left) + k - 2);
      for (Index j = 0; j < others; ++j)
        out[j] += weight[static_cast<std::size_t>(k)] * values[static_cast<std::size_t>(3 + j)];
    }
  }

 private:
  /// The quintic that agrees with value and derivatives at both ends.
  std::array<double, 6> piece_between(const Node& from, const Node& to) const {
    const double h = spacing_, f = from[0], g = h * from[1], c = .5 * h * h * from[2];
    const double rise = to[0] - f - g - c, turn = h * to[1] - g - 2 * c, bend = .5 * h * h * to[2] - c;
    return {
        f, g, c, 10 * rise - 4 * turn + bend, -15 * rise + 7 * turn - 2 * bend, 6 * rise - 3 * turn + bend};
  }
  const std::array<double, 6>& piece(Index k) const { return pieces_[static_cast<std::size_t>(k - first_)]; }
  const Node& node(Index k) const { return nodes_[static_cast<std::size_t>(k - first_)]; }

  double origin_, spacing_, by_spacing_;
  Index first_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::array<double, 6>> pieces_;  // between each two of them
};

class RowEffects final : public RowContents {
 public:
  RowEffects(const RowsOfChunk& rows, const EqualResponses& equal, const RowEffectLevel& level,
             const double* eta)
      : rows_(rows), level_(level) {
    find_tables(equal, eta);
  }

  void at(const Vector& eta, Wanted wanted, Contents& out) override {
    if (wanted == Wanted::value) return values(eta, out.value);
    for (Vector* to : {&out.value, &out.slope, &out.curvature}) to->resize(rows_.count);
    const bool gradient = wanted == Wanted::gradient;
    if (gradient) out.others = Matrix::Zero(rows_.others, rows_.count);
    const Index owns = rows_.own.size();
    for (Index i = 0; i < rows_.count; ++i) {
      const auto [table, place] = find(i, eta(i));
      if (!table) {
        out.value(i) = out.slope(i) = out.curvature(i) = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      table->quintic(place, out.value(i), out.slope(i), out.curvature(i));
      if (!gradient) continue;
      std::array<double, kMostOwnParameters + 1> others{};
      table->lagrange(place, owns + 1, others.data());
      for (Index k = 0; k < owns; ++k) out.others(k, i) = others[static_cast<std::size_t>(k)];
      out.others(level_.number, i) = others[static_cast<std::size_t>(owns)];
    }
    if (gradient) out.rows = out.slope;
  }

 private:
  void values(const Vector& eta, Vector& out) {
    out.resize(rows_.count);
    for (Index i = 0; i < rows_.count; ++i) {
      const auto [table, place] = find(i, eta(i));
      out(i) = table ? table->quintic(place) : std::numeric_limits<double>::quiet_NaN();
    }
  }

  /// The row's table, with nodes around this predictor, and the place there; null if there can be none.
  struct Found {
    const NodeTable* table;
    double place;
  };
  Found find(Index row, double eta) {
    const auto number = static_cast<std::size_t>(table_of_row_[static_cast<std::size_t>(row)]);
    const double place = tables_[number].place(eta);
    if (!(std::abs(place) < kMostNodes)) return {nullptr, 0};
    const auto left = static_cast<Index>(std::floor(place));
    if (!tables_[number].has(left - 2, left + 3)) extend(number, left);
    return {&tables_[number], place};
  }

  static constexpr double kSpacing = .4;
  static constexpr double kModerate = 10;  // above this curvature nodes are closer
  static constexpr double kMargin = 3;     // beyond the predictors without outer effects
  static constexpr Index kBlock = 8;
  static constexpr double kMostNodes = 1e5;

  void find_tables(const EqualResponses& equal, const double* eta);
  void extend(std::size_t table, Index left);
  /// Nodes of several tables, all integrated at once.
  struct Stretch {
    std::size_t table;
    Index first, count;
  };
  void add_nodes(const std::vector<Stretch>& stretches);

  const RowsOfChunk rows_;
  const RowEffectLevel level_;
  std::vector<Index> table_of_row_;
  std::vector<Index> row_of_table_;
  std::vector<NodeTable> tables_;
};

void RowEffects::find_tables(const EqualResponses& equal, const double* eta) {
  std::map<Index, Index> known;
  std::vector<double> low, high;
  for (Index i = 0; i < rows_.count; ++i) {
    const Index of_all = equal.of_row[static_cast<std::size_t>(rows_.first + i)];
    const auto [found, fresh] = known.emplace(of_all, static_cast<Index>(known.size()));
    if (fresh) {
      row_of_table_.push_back(equal.row[static_cast<std::size_t>(of_all)]);
      low.push_back(eta[i]);
      high.push_back(eta[i]);
    }
    table_of_row_.push_back(found->second);
    const auto table = static_cast<std::size_t>(found->second);
    low[table] = std::min(low[table], eta[i]);
    high[table] = std::max(high[table], eta[i]);
  }
  std::vector<Stretch> stretches;
  for (std::size_t t = 0; t < row_of_table_.size(); ++t) {
    PointRows point;
    point.add(rows_.problem, row_of_table_[t]);
    Contents at;
    const double middle = .5 * (low[t] + high[t]);
    densities(*rows_.problem.family, point.rows(), point.weight.empty() ? nullptr : point.weight.data(),
              rows_.own, Vector::Constant(1, middle), Wanted::curvature, at);
    const double raw = std::max(0.0, -at.curvature(0)), smoothed = raw / (1 + level_.sd * level_.sd * raw);
    const double spacing = kSpacing * std::pow(kModerate / std::max(smoothed, kModerate), 1.0 / 6);
    tables_.emplace_back(middle, std::isfinite(spacing) ? spacing : kSpacing);
    const double reach = .5 * (high[t] - low[t]) + kMargin;
    const auto nodes = static_cast<Index>(std::min(reach / tables_.back().spacing(), 100.0)) + 3;
    stretches.push_back({t, -nodes, 2 * nodes + 1});
  }
  add_nodes(stretches);
}

void RowEffects::extend(std::size_t table, Index left) {
  const NodeTable& nodes = tables_[table];
  if (left - 2 < nodes.first()) {
    const Index first = left - 2 - kBlock;
    add_nodes({{table, first, nodes.first() - first}});
  }
  if (left + 3 >= nodes.end()) add_nodes({{table, nodes.end(), left + 3 + kBlock - nodes.end()}});
}

void RowEffects::add_nodes(const std::vector<Stretch>& stretches) {
  PointRows points;
  std::vector<double> eta;
  for (const Stretch& stretch : stretches)
    for (Index k = 0; k < stretch.count; ++k) {
      points.add(rows_.problem, row_of_table_[stretch.table]);
      eta.push_back(tables_[stretch.table].at(stretch.first + k));
    }
  const auto count = static_cast<Index>(eta.size());
  const Index owns = rows_.own.size();
  const auto content = [&](const Vector& at, Wanted wanted, Contents& out) {
    if (wanted == Wanted::gradient) out.others = Matrix::Zero(owns + 1, count);
    densities(*rows_.problem.family, points.rows(), points.weight.empty() ? nullptr : points.weight.data(),
              rows_.own, at, wanted, out);
  };
  LevelIntegral integral({count, level_.sd, owns, {}, true, level_.accuracy}, level_.rules);
  const Vector at = Eigen::Map<const Vector>(eta.data(), count);
  Contents found, others;
  integral.integrate(at, content, Wanted::curvature, found);
  if (level_.most == Wanted::gradient) integral.integrate(at, content, Wanted::gradient, others);
  Index next = 0;
  for (const Stretch& stretch : stretches) {
    std::vector<NodeTable::Node> nodes(static_cast<std::size_t>(stretch.count));
    for (NodeTable::Node& node : nodes) {
      node[0] = found.value(next);
      node[1] = found.slope(next);
      node[2] = found.curvature(next);
      for (Index k = 0; k < others.others.rows(); ++k)
        node[static_cast<std::size_t>(3 + k)] = others.others(k, next);
      ++next;
    }
    tables_[stretch.table].add(stretch.first, nodes);
  }
}

}  // namespace

std::unique_ptr<RowContents> make_plain_rows(const RowsOfChunk& rows) {
  return std::make_unique<PlainRows>(rows);
}

std::unique_ptr<RowContents> make_row_effects(const RowsOfChunk& rows, const EqualResponses& equal,
                                              const RowEffectLevel& level, const double* eta) {
  return std::make_unique<RowEffects>(rows, equal, level, eta);
}

}  // namespace magva::mixed
