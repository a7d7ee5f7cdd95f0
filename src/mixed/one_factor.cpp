// One grouping factor: each group's effects u = Lambda v, v ~ N(0, I), are integrated out by adaptive
// Gauss-Hermite quadrature around the mode (Liu & Pierce 1994; Pinheiro & Bates 1995).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/noise.hpp"
#include "mixed/group_batch.hpp"
#include "mixed/methods.hpp"

namespace magva::mixed {

namespace {

class OneFactor final : public GroupIntegral {
 public:
  explicit OneFactor(Problem problem)
      : problem_(sorted(std::move(problem))),
        likelihood_(make_row_likelihood(problem_)),
        ends_(find_ends(problem_)),
        rows_{problem_, *likelihood_, ends_},
        rules_(rows_.effects()) {}

  const Problem& problem() const override { return problem_; }
  const std::vector<Index>& ends() const override { return ends_; }
  double evaluations_per_row() const override {
    return static_cast<double>((rules_.usual_points() + 4) * problem_.predictors);
  }
  std::string describe() const override {
    return fmt::format(
        "the effects of each group of {} are integrated out by adaptive Gauss-Hermite quadrature with at "
        "most "
        "{} points",
        problem_.data.terms[0].name, rules_.most_points());
  }
  double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                   IntegralSums& sums) const override {
    return GroupBatch(rows_, chunk, at, eta).integrate(rules_, slopes, sums);
  }
  double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const override {
    return GroupBatch(rows_, chunk, at, eta).log_integral(rules_);
  }
  void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
            std::uint32_t first, const std::vector<EffectColumns>& out) const override {
    GroupBatch(rows_, chunk, at, eta).draw(seed, first, out);
  }

 private:
  static Problem sorted(Problem problem) {
    const std::vector<std::int32_t>& group = problem.data.terms[0].group;
    std::vector<Index> order(group.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return group[static_cast<std::size_t>(a)] < group[static_cast<std::size_t>(b)];
    });
    return reorder(std::move(problem), order);
  }
  static std::vector<Index> find_ends(const Problem& problem) {
    const GroupTerm& term = problem.data.terms[0];
    std::vector<Index> ends(static_cast<std::size_t>(term.level_count()), 0);
    for (const std::int32_t g : term.group) ++ends[static_cast<std::size_t>(g)];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    return ends;
  }

  const Problem problem_;
  std::unique_ptr<const RowLikelihood> likelihood_;
  std::vector<Index> ends_;
  FactorRows rows_;
  HermiteRules rules_;
};

}  // namespace

std::unique_ptr<const GroupIntegral> integrate_one_factor(Problem problem) {
  return std::make_unique<const OneFactor>(std::move(problem));
}

void proposal_noise(std::uint64_t seed, std::uint32_t draw, std::size_t level, int round, Range range,
                    double* out) {
  constexpr unsigned kLevelBits = 8;
  const auto iteration = static_cast<std::uint64_t>(level) | static_cast<std::uint64_t>(round) << kLevelBits;
  Noise(seed, NoiseStream::kPosteriorDraws)
      .fill_rows(kGroupNoise + iteration, draw, range, out - range.begin);
}

}  // namespace magva::mixed
