// Nested grouping factors, each with an intercept: quadrature within quadrature.
#include <fmt/format.h>

#include "mixed/group_integral.hpp"
#include "mixed/nested_groups.hpp"
#include "mixed/row_contents.hpp"

namespace magva::mixed {

namespace {

/// Effects of rows are interpolated if so many have equal responses on average.
constexpr std::size_t kFewestPerResponse = 4;

/// All that does not depend on theta.
struct NestedProblem {
  NestedProblem(Problem data, std::vector<std::size_t> terms)
      : order(std::move(terms)), problem(sort_by_groups(std::move(data), order)), groups(problem, order) {
    if (groups.depth() < 2 || !groups.innermost_are_rows()) return;
    equal = find_equal_responses(problem);
    share_rows = equal.row.size() * kFewestPerResponse <= equal.of_row.size();
  }
  /// Levels that are integrated group by group, not by tables.
  std::size_t plain_levels() const { return groups.depth() - (share_rows ? 1 : 0); }
  Index own_count() const { return problem.family->own_count(); }

  std::vector<std::size_t> order;  // of the terms, outermost first
  Problem problem;
  NestedGroups groups;
  EqualResponses equal;
  bool share_rows = false;
  HermiteRules rules{1};
};

/// The groups of a chunk at one theta.
class NestedChunk {
 public:
  NestedChunk(const NestedProblem& nested, const GroupChunk& chunk, const HyperValues& at, const double* eta,
              Wanted most)
      : nested_(nested),
        eta_(eta, chunk.rows),
        places_(nested.groups.levels_of(chunk)),
        others_(nested.own_count() + static_cast<Index>(nested.groups.depth())),
        plain_rows_(make_plain_rows({nested.problem, chunk.first_row, chunk.rows, at.own, others_})) {
    for (std::size_t level = 0; level < nested.groups.depth(); ++level) {
      const LevelOfChunk& place = places_[level];
      sd_.push_back(at.lambda[nested.order[level]](0, 0));
      levels_.emplace_back(
          LevelIntegral::Shape{place.count, sd_.back(), number(level), place.group_of_row,
                               level + 1 == nested.plain_levels() || level + 1 == nested.groups.depth(),
                               accuracy(most)},
          nested.rules);
    }
    inner_.resize(levels_.size() + 1);
    if (nested.share_rows)
      row_effects_ =
          make_row_effects({nested.problem, chunk.first_row, chunk.rows, at.own, others_}, nested.equal,
                           {sd_.back(), number(levels_.size() - 1), nested.rules, most, accuracy(most)}, eta);
  }

  double integrate(Wanted wanted, Contents& out) {
    levels_[0].integrate(Vector::Zero(places_[0].count), content_of(0), wanted, out);
    return out.value.sum();
  }

  void draw(std::uint64_t seed, std::uint32_t first, const std::vector<EffectColumns>& out) {
    levels_[0].prepare_draws(Vector::Zero(places_[0].count), content_of(0));
    for (std::size_t s = 0; s < out.size(); ++s) {
      Vector effects =
          put_draws(0, Vector::Zero(places_[0].count), seed, first + static_cast<std::uint32_t>(s), out[s]);
      for (std::size_t level = 1; level < levels_.size(); ++level) {
        const Vector offset = effects(places_[level].parent);
        levels_[level].prepare_draws(offset, content_of(level));
        effects = put_draws(level, offset, seed, first + static_cast<std::uint32_t>(s), out[s]);
      }
    }
  }

 private:
  /// Points at three levels and more multiply to too many.
  Accuracy accuracy(Wanted most) const {
    return most == Wanted::gradient && nested_.groups.depth() < 3 ? Accuracy::gradient : Accuracy::value;
  }
  Index number(std::size_t level) const { return nested_.own_count() + static_cast<Index>(level); }

  /// What the groups of a level contain: rows, or the groups of the next level.
  ContentOf content_of(std::size_t level) {
    return [this, level](const Vector& offset, Wanted wanted, Contents& out) {
      Contents& parts = inner_[level];
      if (levels_[level].shape().innermost) {
        RowContents& rows = level + 1 < nested_.groups.depth() && row_effects_ ? *row_effects_ : *plain_rows_;
        const std::vector<Index>& ends = places_[level].end_row;
        add_offsets(offset, ends);
        rows.at(at_rows_, wanted, parts);
        add_up(parts, ends, wanted, out);
        return;
      }
      const std::vector<Index>& parent = places_[level + 1].parent;
      levels_[level + 1].integrate(offset(parent), content_of(level + 1), wanted, parts);
      add_up(parts, places_[level].end_child, wanted, out);
    };
  }

  /// The linear predictors of the rows with the offsets of their groups; `ends`: one past a group's last row.
  void add_offsets(const Vector& offset, const std::vector<Index>& ends) {
    at_rows_.resize(eta_.size());
    const double* from = eta_.data();
    double* to = at_rows_.data();
    Index i = 0;
    for (std::size_t g = 0; g < ends.size(); ++g)
      for (const double shift = offset(static_cast<Index>(g)); i < ends[g]; ++i) to[i] = from[i] + shift;
  }

  /// Sums over the parts of each group; `ends`: one past its last part.
  static void add_up(const Contents& parts, const std::vector<Index>& ends, Wanted wanted, Contents& out) {
    const auto count = static_cast<Index>(ends.size());
    const auto sums = [&](const Vector& values, Vector& to) {
      to.resize(count);
      sum_groups(values.data(), ends, to.data());
    };
    sums(parts.value, out.value);
    if (wanted == Wanted::value) return;
    sums(parts.slope, out.slope);
    if (wanted != Wanted::gradient) return sums(parts.curvature, out.curvature);
    out.others.setZero(parts.others.rows(), count);
    for (Index g = 0, i = 0; g < count; ++g)
      for (const Index end = ends[static_cast<std::size_t>(g)]; i < end; ++i)
        out.others.col(g) += parts.others.col(i);
    out.rows = parts.rows;
  }

  /// Groups are small: two sums at a time, without the preparations of a vectorised one.
  static void sum_groups(const double* values, const std::vector<Index>& ends, double* to) {
    Index i = 0;
    for (const Index end : ends) {
      double even = 0, odd = 0;
      for (; i + 1 < end; i += 2) {
        even += values[i];
        odd += values[i + 1];
      }
      if (i < end) even += values[i++];
      *to++ = even + odd;
    }
  }

  /// Offsets of what the groups contain, with their effects.
  Vector put_draws(std::size_t level, const Vector& offset, std::uint64_t seed, std::uint32_t draw,
                   const EffectColumns& out) const {
    ProposalNoise noise({seed, draw, level}, places_[level].first, places_[level].count, 1);
    Vector moved = offset;
    for (Index g = 0; g < moved.size(); ++g) {
      const Index level_number = nested_.groups.group(level, places_[level].first + g).level_number;
      const double effect = sd_[level] * levels_[level].draw(g, noise);
      out[nested_.order[level]][level_number] = effect;
      moved(g) += effect;
    }
    return moved;
  }

  const NestedProblem& nested_;
  Eigen::Map<const Vector> eta_;
  std::vector<LevelOfChunk> places_;
  Index others_;
  std::unique_ptr<RowContents> plain_rows_, row_effects_;
  std::vector<double> sd_;
  std::vector<LevelIntegral> levels_;
  std::vector<Contents> inner_;  // memory
  Vector at_rows_;               // the same
};

class Nested final : public GroupIntegral {
 public:
  explicit Nested(Problem problem, std::vector<std::size_t> order)
      : nested_(std::move(problem), std::move(order)), ends_(nested_.groups.ends()) {}

  const Problem& problem() const override { return nested_.problem; }
  const std::vector<Index>& ends() const override { return ends_; }
  double evaluations_per_row() const override {
    const double of_level = static_cast<double>(nested_.rules.usual_points()) + 2;
    return std::pow(of_level, static_cast<double>(nested_.plain_levels()));
  }
  std::string describe() const override {
    std::string names;
    for (const std::size_t k : nested_.order)
      names += (names.empty() ? "" : " > ") + nested_.problem.data.terms[k].name;
    return fmt::format(
        "the effects of the nested groups {} are integrated out by adaptive Gauss-Hermite quadrature with at "
        "most {} points at each level",
        names, nested_.rules.most_points());
  }
  double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                   IntegralSums& sums) const override {
    Contents out;
    const double total =
        NestedChunk(nested_, chunk, at, eta, Wanted::gradient).integrate(Wanted::gradient, out);
    Eigen::Map<Vector>(slopes, chunk.rows) = out.rows;
    const Vector others = out.others.rowwise().sum();
    sums.by_own += others.head(nested_.own_count());
    for (std::size_t level = 0; level < nested_.order.size(); ++level)
      sums.moments[nested_.order[level]](0, 0) += others(nested_.own_count() + static_cast<Index>(level));
    return total;
  }
  double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const override {
    Contents out;
    return NestedChunk(nested_, chunk, at, eta, Wanted::curvature).integrate(Wanted::value, out);
  }
  void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
            std::uint32_t first, const std::vector<EffectColumns>& out) const override {
    NestedChunk(nested_, chunk, at, eta, Wanted::curvature).draw(seed, first, out);
  }

 private:
  NestedProblem nested_;
  std::vector<Index> ends_;
};

}  // namespace

std::unique_ptr<const GroupIntegral> integrate_nested(Problem problem) {
  std::vector<std::size_t> order = nesting(problem.data.terms);
  return std::make_unique<const Nested>(std::move(problem), std::move(order));
}

}  // namespace magva::mixed
