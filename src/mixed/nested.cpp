// Nested grouping factors, each with an intercept: quadrature within quadrature. What a group's rows and
// inner groups contribute depends on the outer effects only through their sum, the offset o: G(o) = log of
// the integral over the group's own effect s v, v ~ N(0, 1), of the product of what it contains at offset o +
// s v. With G come its first two derivatives (Louis 1982), by which the next outer level finds its mode. From
// the third level on G is asked for at a hundred offsets and more: it is interpolated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "mixed/group_integral.hpp"
#include "mixed/hermite.hpp"
#include "mixed/offset_table.hpp"

namespace magva::mixed {

namespace {

/// Points for two, three, four and more levels.
constexpr Index kPointsByDepth[] = {15, 15, 11, 7, 5};
constexpr int kMostSteps = 30;
/// How near a mode must be, in sds: the quadrature does the rest.
constexpr double kNestedModeTolerance = .05;
constexpr Index kNestedProposals = 24;
constexpr double kNestedWiden = 1.25;

/// A group of one level: its rows, and its groups of the next level, or its rows once more at the innermost.
struct NestedGroup {
  Index first_row, end_row;
  Index first_child, end_child;
  Index level_number;  // in the term's own numbering
  Index shared_table;  // of groups of one row that have the same response; -1: its own
};

/// A log integral or a sum of them as a function of the offset, with derivatives by the offset and the rest.
struct Content {
  double value = 0, slope = 0, curvature = 0;
  std::array<double, kMostOwnParameters> by_own{};
  std::array<double, kMostNestedLevels> moments{};  // E[v^2] - 1 summed over the groups of each level
};

/// The parts of a Content one after the other, as a table holds them.
constexpr Index kContentValues = 3 + static_cast<Index>(kMostOwnParameters + kMostNestedLevels);

void put_content(const Content& content, double* to) {
  *to++ = content.value;
  *to++ = content.slope;
  *to++ = content.curvature;
  to = std::copy(content.by_own.begin(), content.by_own.end(), to);
  std::copy(content.moments.begin(), content.moments.end(), to);
}

Content get_content(const double* from) {
  Content content{from[0], from[1], from[2], {}, {}};
  from += 3;
  std::copy_n(from, content.by_own.size(), content.by_own.begin());
  std::copy_n(from + content.by_own.size(), content.moments.size(), content.moments.begin());
  return content;
}

/// What integrals are asked for.
struct Purpose {
  std::size_t first_table;  // levels from this one on are interpolated: those that are asked for at more
                            // offsets than their tables have nodes
  bool gradient;            // else values, and the derivatives by the offset
};
constexpr Purpose kForGradients{2, true};
constexpr Purpose kForValues{2, false};
constexpr Purpose kForDraws{1, false};
/// Groups of one row share tables if there are so many for each on average.
constexpr std::size_t kFewestPerTable = 4;

/// Where a group's mode was when it was last looked for, and how it moves with the offset.
struct LastMode {
  double offset = 0, v = 0, by_offset = 0;
};

struct NestedMemory {
  std::vector<Vector>
      slopes;  // of each level, and of the rows: derivatives by the linear predictors of the rows
  std::vector<Index> first_group;  // of each level in the chunk
  std::vector<std::vector<LastMode>> modes;
  std::vector<std::vector<OffsetTable>> tables;   // for gradients
  std::vector<std::vector<HermiteTable>> values;  // for values
  std::vector<PointDerivatives> rows;
  Vector eta, value, curvature;
};

class Nested final : public GroupIntegral {
 public:
  explicit Nested(Problem problem) : order_(nesting(problem.data.terms)) {
    problem_ = std::make_unique<const Problem>(sorted(std::move(problem)));
    find_groups();
    const std::size_t depth = std::min<std::size_t>(order_.size(), std::size(kPointsByDepth) - 1);
    rule_ = hermite_rule(kPointsByDepth[depth], 1);
  }

  const Problem& problem() const override { return *problem_; }
  const std::vector<Index>& ends() const override { return ends_; }
  double evaluations_per_row() const override {
    const auto of_level = static_cast<double>(rule_.size() + 3);
    const double tables =
        14.0 * static_cast<double>(order_.size() - std::min(order_.size(), kForGradients.first_table));
    return std::pow(of_level, static_cast<double>(std::min(order_.size(), kForGradients.first_table))) +
           of_level * tables;
  }
  std::string describe() const override {
    std::string names;
    for (const std::size_t k : order_) names += (names.empty() ? "" : " > ") + problem_->data.terms[k].name;
    return fmt::format(
        "the effects of the nested groups {} are integrated out by adaptive Gauss-Hermite quadrature with {} "
        "points at "
        "each level",
        names, rule_.size());
  }
  double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                   IntegralSums& sums) const override;
  double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const override;
  void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
            std::uint32_t first, const std::vector<EffectColumns>& out) const override;

 private:
  /// Rows, hyper-parameters and memory of one evaluation.
  struct Call {
    const GroupChunk& chunk;
    const HyperValues& at;
    const double* eta;
    Purpose purpose;
    NestedMemory memory;
  };
  struct Mode {
    double v;
    double sd;
  };
  Call begin(const GroupChunk& chunk, const HyperValues& at, const double* eta, Purpose purpose) const;
  Problem sorted(Problem problem) const;
  void find_groups();
  /// Finds the groups of one row that can share a table; how many tables they share.
  Index share_tables(std::vector<NestedGroup>& groups) const;
  double sd(const Call& call, std::size_t level) const { return call.at.lambda[order_[level]](0, 0); }
  Content rows_content(const NestedGroup& group, double offset, Call& call) const;
  Content content(std::size_t level, const NestedGroup& group, double offset, Call& call) const;
  Mode find_mode(std::size_t level, Index number, double offset, Call& call) const;
  Content integrate_group(std::size_t level, Index number, double offset, Call& call) const;
  Content interpolate_group(std::size_t level, Index number, double offset, Call& call) const;
  void draw_group(std::size_t level, Index number, double offset, Call& call, std::uint64_t seed,
                  std::uint32_t draw, const EffectColumns& out) const;

  std::vector<std::size_t> order_;  // of the terms, outermost first
  std::unique_ptr<const Problem> problem_;
  std::vector<std::vector<NestedGroup>> levels_;
  std::vector<Index> shared_tables_;  // of each level
  std::vector<Index> ends_;
  HermiteRule rule_;
};

Problem Nested::sorted(Problem problem) const {
  std::vector<Index> rows(static_cast<std::size_t>(problem.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  std::stable_sort(rows.begin(), rows.end(), [&](Index a, Index b) {
    for (const std::size_t k : order_) {
      const auto& group = problem.data.terms[k].group;
      const std::int32_t ga = group[static_cast<std::size_t>(a)], gb = group[static_cast<std::size_t>(b)];
      if (ga != gb) return ga < gb;
    }
    return false;
  });
  return reorder(std::move(problem), rows);
}

void Nested::find_groups() {
  for (std::size_t level = 0; level < order_.size(); ++level) {
    const auto& group = problem_->data.terms[order_[level]].group;
    std::vector<NestedGroup>& found = levels_.emplace_back();
    for (Index i = 0; i < problem_->rows(); ++i) {
      const std::int32_t here = group[static_cast<std::size_t>(i)];
      if (found.empty() || found.back().level_number != here) found.push_back({i, i, 0, 0, here, -1});
      found.back().end_row = i + 1;
    }
    if (level == 0) continue;
    Index child = 0;
    for (NestedGroup& outer : levels_[level - 1]) {
      outer.first_child = child;
      while (child < static_cast<Index>(found.size()) &&
             found[static_cast<std::size_t>(child)].end_row <= outer.end_row)
        ++child;
      outer.end_child = child;
    }
  }
  for (const NestedGroup& outer : levels_[0]) ends_.push_back(outer.end_row);
  for (auto& level : levels_) shared_tables_.push_back(share_tables(level));
}

Index Nested::share_tables(std::vector<NestedGroup>& groups) const {
  std::map<std::array<double, 4>, Index> known;
  std::vector<Index> table;
  for (const NestedGroup& group : groups) {
    table.push_back(-1);
    if (group.end_row > group.first_row + 1) continue;
    const ResponseRows row = problem_->response().from(group.first_row, 1);
    const std::array<double, 4> key = {row.response[0], row.trials ? row.trials[0] : 1,
                                       row.status ? row.status[0] : 1, problem_->weight(group.first_row)};
    table.back() = known.emplace(key, static_cast<Index>(known.size())).first->second;
  }
  if (known.size() > groups.size() / kFewestPerTable) return 0;
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g].shared_table = table[g];
  return static_cast<Index>(known.size());
}

Nested::Call Nested::begin(const GroupChunk& chunk, const HyperValues& at, const double* eta,
                           Purpose purpose) const {
  Call call{chunk, at, eta, purpose, {}};
  call.memory.slopes.assign(levels_.size() + 1, Vector::Zero(chunk.rows));
  Index first = chunk.first_group, end = chunk.first_group + chunk.groups;
  for (const auto& level : levels_) {
    call.memory.first_group.push_back(first);
    call.memory.modes.emplace_back(static_cast<std::size_t>(end - first));
    const std::size_t here = call.memory.tables.size();
    const auto count =
        static_cast<std::size_t>(here < purpose.first_table ? 0 : shared_tables_[here] + end - first);
    call.memory.tables.emplace_back(purpose.gradient ? count : 0);
    call.memory.values.emplace_back(purpose.gradient ? 0 : count);
    first = level[static_cast<std::size_t>(first)].first_child;
    end = level[static_cast<std::size_t>(end - 1)].end_child;
  }
  return call;
}

Content Nested::rows_content(const NestedGroup& group, double offset, Call& call) const {
  NestedMemory& memory = call.memory;
  const Index here = group.first_row - call.chunk.first_row, count = group.end_row - group.first_row;
  memory.eta = Eigen::Map<const Vector>(call.eta + here, count).array() + offset;
  const ResponseRows rows = problem_->response().from(group.first_row, count);
  Content out;
  auto slopes = memory.slopes.back().segment(here, count);
  if (problem_->family->own_count() == 0) {  // several rows at once
    for (Vector* values : {&memory.value, &memory.curvature}) values->resize(count);
    problem_->family->curvatures(rows, memory.eta.data(), call.at.own.data(), memory.value.data(),
                                 slopes.data(), memory.curvature.data());
    for (Index i = 0; i < count; ++i) {
      const double w = problem_->weight(group.first_row + i);
      slopes(i) *= w;
      out.value += w * memory.value(i);
      out.slope += slopes(i);
      out.curvature += w * memory.curvature(i);
    }
    return out;
  }
  memory.rows.resize(static_cast<std::size_t>(count));
  problem_->family->derivatives(rows, memory.eta.data(), call.at.own.data(), memory.rows.data());
  for (Index i = 0; i < count; ++i) {
    const PointDerivatives& row = memory.rows[static_cast<std::size_t>(i)];
    const double w = problem_->weight(group.first_row + i);
    out.value += w * row.value;
    out.slope += w * row.by_eta;
    out.curvature += w * row.by_eta2;
    for (std::size_t o = 0; o < kMostOwnParameters; ++o) out.by_own[o] += w * row.by_own[o];
    slopes(i) = w * row.by_eta;
  }
  return out;
}

// What a group contains: its rows at the innermost level, its groups else. Slopes of rows are left in the
// next level's memory.
Content Nested::content(std::size_t level, const NestedGroup& group, double offset, Call& call) const {
  if (level + 1 == levels_.size()) return rows_content(group, offset, call);
  Content out;
  for (Index child = group.first_child; child < group.end_child; ++child) {
    const Content part = level + 1 < call.purpose.first_table
                             ? integrate_group(level + 1, child, offset, call)
                             : interpolate_group(level + 1, child, offset, call);
    out.value += part.value;
    out.slope += part.slope;
    out.curvature += part.curvature;
    for (std::size_t o = 0; o < kMostOwnParameters; ++o) out.by_own[o] += part.by_own[o];
    for (std::size_t t = 0; t < out.moments.size(); ++t) out.moments[t] += part.moments[t];
  }
  return out;
}

Nested::Mode Nested::find_mode(std::size_t level, Index number, double offset, Call& call) const {
  const NestedGroup& group = levels_[level][static_cast<std::size_t>(number)];
  const double s = sd(call, level);
  LastMode& last =
      call.memory.modes[level][static_cast<std::size_t>(number - call.memory.first_group[level])];
  double v = last.v + last.by_offset * (offset - last.offset);
  double next = v, step = 0, best = -std::numeric_limits<double>::infinity(), precision = 1;
  for (int k = 0; k < kMostSteps; ++k) {
    const Content at = content(level, group, offset + s * next, call);
    const double value = at.value - .5 * next * next;
    if (!(value >= best - 1e-9 * std::abs(best))) {  // too far: go back half the way
      step *= .5;
      next = v + step;
      continue;
    }
    best = value;
    v = next;
    precision = 1 - s * s * std::min(0.0, at.curvature);
    step = (s * at.slope - v) / precision;
    if (step * step * precision < kNestedModeTolerance * kNestedModeTolerance) break;
    next = v + step;
  }
  last = {offset, v, (1 / precision - 1) / s};
  return {v, 1 / std::sqrt(precision)};
}

Content Nested::integrate_group(std::size_t level, Index number, double offset, Call& call) const {
  const NestedGroup& group = levels_[level][static_cast<std::size_t>(number)];
  const double s = sd(call, level);
  const Mode mode = find_mode(level, number, offset, call);
  const Index here = group.first_row - call.chunk.first_row, count = group.end_row - group.first_row;
  auto rows = call.memory.slopes[level].segment(here, count);
  const auto inner_rows = call.memory.slopes[level + 1].segment(here, count);
  rows.setZero();
  Content out;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  const auto scale = [&](double factor) {
    sum *= factor;
    out.slope *= factor;
    out.curvature *= factor;
    for (double& value : out.by_own) value *= factor;
    for (double& value : out.moments) value *= factor;
    rows *= factor;
  };
  for (Index k = 0; k < rule_.size(); ++k) {
    const double v = mode.v + mode.sd * rule_.points(0, k);
    const Content at = content(level, group, offset + s * v, call);
    const double term = rule_.log_weights(k) + at.value - .5 * v * v;
    if (term > largest) {
      scale(std::exp(largest - term));
      largest = term;
    }
    const double share = std::exp(term - largest);
    sum += share;
    out.slope += share * at.slope;
    out.curvature += share * (at.curvature + at.slope * at.slope);
    for (std::size_t o = 0; o < kMostOwnParameters; ++o) out.by_own[o] += share * at.by_own[o];
    for (std::size_t t = 0; t < out.moments.size(); ++t) out.moments[t] += share * at.moments[t];
    out.moments[level] += share * (v * v - 1);
    rows += share * inner_rows;
  }
  out.value = largest + std::log(sum) + std::log(mode.sd);
  scale(1 / sum);
  out.curvature -= out.slope * out.slope;
  return out;
}

// The table of a group with a single row is one of the whole linear predictor, so that groups share it.
Content Nested::interpolate_group(std::size_t level, Index number, double offset, Call& call) const {
  const NestedGroup& group = levels_[level][static_cast<std::size_t>(number)];
  const Index here = group.first_row - call.chunk.first_row, count = group.end_row - group.first_row;
  auto slopes = call.memory.slopes[level].segment(here, count);
  const double shift = count == 1 ? call.eta[here] : 0;
  const Index place = group.shared_table >= 0
                          ? group.shared_table
                          : shared_tables_[level] + number - call.memory.first_group[level];
  if (!call.purpose.gradient) {
    const auto found = call.memory.values[level][static_cast<std::size_t>(place)].at(
        offset + shift, [&](double at, double* out) {
          const Content content = integrate_group(level, number, at - shift, call);
          out[0] = content.value;
          out[1] = content.slope;
          out[2] = content.curvature;
        });
    return {found[0], found[1], found[2], {}, {}};
  }
  const double* values = call.memory.tables[level][static_cast<std::size_t>(place)].at(
      offset + shift, kContentValues + count, [&](double at, double* out) {
        put_content(integrate_group(level, number, at - shift, call), out);
        std::copy(slopes.begin(), slopes.end(), out + kContentValues);
      });
  std::copy_n(values + kContentValues, count, slopes.begin());
  return get_content(values);
}

double Nested::log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const {
  Call call = begin(chunk, at, eta, kForValues);
  double total = 0;
  for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g)
    total += integrate_group(0, g, 0.0, call).value;
  return total;
}

double Nested::integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                         IntegralSums& sums) const {
  Call call = begin(chunk, at, eta, kForGradients);
  double total = 0;
  for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
    const Content part = integrate_group(0, g, 0.0, call);
    total += part.value;
    for (Index o = 0; o < sums.by_own.size(); ++o) sums.by_own(o) += part.by_own[static_cast<std::size_t>(o)];
    for (std::size_t level = 0; level < order_.size(); ++level)
      sums.moments[order_[level]](0, 0) += part.moments[level];
  }
  Eigen::Map<Vector>(slopes, chunk.rows) = call.memory.slopes[0];
  return total;
}

void Nested::draw_group(std::size_t level, Index number, double offset, Call& call, std::uint64_t seed,
                        std::uint32_t draw, const EffectColumns& out) const {
  const NestedGroup& group = levels_[level][static_cast<std::size_t>(number)];
  const double s = sd(call, level);
  const Mode mode = find_mode(level, number, offset, call);
  Index before = 0;  // groups of outer levels, which have other noise
  for (std::size_t k = 0; k < level; ++k) before += problem_->data.terms[order_[k]].level_count();
  Matrix noise(kNestedProposals + 1, 1);
  group_noise(seed, draw, before + group.level_number, noise);
  Vector v(kNestedProposals), log_weights(kNestedProposals);
  for (Index k = 0; k < kNestedProposals; ++k) {
    v(k) = mode.v + kNestedWiden * mode.sd * noise(k, 0);
    log_weights(k) = content(level, group, offset + s * v(k), call).value - .5 * v(k) * v(k) +
                     .5 * noise(k, 0) * noise(k, 0);
  }
  const double effect = s * v(pick(log_weights, noise(kNestedProposals, 0)));
  out[order_[level]][group.level_number] = effect;
  if (level + 1 < levels_.size())
    for (Index child = group.first_child; child < group.end_child; ++child)
      draw_group(level + 1, child, offset + effect, call, seed, draw, out);
}

void Nested::draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
                  std::uint32_t first, const std::vector<EffectColumns>& out) const {
  Call call = begin(chunk, at, eta, kForDraws);
  for (std::size_t s = 0; s < out.size(); ++s)
    for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g)
      draw_group(0, g, 0.0, call, seed, first + static_cast<std::uint32_t>(s), out[s]);
}

// Whether each group of `inner` lies in one group of `outer`.
bool lies_within(const GroupTerm& inner, const GroupTerm& outer) {
  std::vector<std::int32_t> home(inner.levels.size(), -1);
  for (std::size_t i = 0; i < inner.group.size(); ++i) {
    std::int32_t& at = home[static_cast<std::size_t>(inner.group[i])];
    if (at == -1) at = outer.group[i];
    if (at != outer.group[i]) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<const GroupIntegral> integrate_nested(Problem problem) {
  return std::make_unique<const Nested>(std::move(problem));
}

std::vector<std::size_t> nesting(const std::vector<GroupTerm>& terms) {
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return terms[a].levels.size() < terms[b].levels.size();
  });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (!lies_within(terms[order[k]], terms[order[k - 1]])) return {};
  return order;
}

}  // namespace magva::mixed
