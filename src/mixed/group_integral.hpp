#pragma once
// Integrals over the effects of groups whose rows have no other groups' effects in common.
#include <memory>
#include <string>
#include <vector>

#include "mixed/grouped_rows.hpp"

namespace magva::mixed {

/// The hyper-parameters at one theta.
struct HyperValues {
  Vector own;                  ///< the family's own values
  std::vector<Matrix> lambda;  ///< of each term
};

/// Derivatives of a sum of log integrals, as expectations given the data (Fisher's identity).
struct IntegralSums {
  Vector by_own;
  std::vector<Matrix> moments;  ///< of each term: sum over groups of E[v v'] - I for effects Lambda v
};

/// Where effects that are drawn go: of each term a column of MixedDraws::effects.
using EffectColumns = std::vector<double*>;

/// One way to integrate. Its problem's rows are in an order in which independent groups are contiguous.
class GroupIntegral {
 public:
  virtual ~GroupIntegral() = default;
  virtual const Problem& problem() const = 0;
  /// One past the last row of each independent group.
  virtual const std::vector<Index>& ends() const = 0;
  /// Evaluations of each row's density, roughly.
  virtual double evaluations_per_row() const = 0;
  virtual std::string describe() const = 0;

  /// Sum of log integrals of the chunk's groups at linear predictors eta; `slopes` are its derivatives by
  /// them, in the same order: of the first predictor's rows, then of the next one's.
  virtual double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                           IntegralSums& sums) const = 0;
  /// The same without derivatives.
  virtual double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const = 0;
  /// Draws `first`, `first` + 1, ... of the chunk's effects given the data.
  virtual void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
                    std::uint32_t first, const std::vector<EffectColumns>& out) const = 0;
};

/// With more effects of a group the points of a product rule are too many.
inline constexpr Index kMostQuadratureEffects = 6;
/// As much as that, without memory from the heap: in whole vectors of a processor.
inline constexpr int kSmall = 8;
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kSmall, 1>;
using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kSmall, kSmall>;

/// A single grouping factor with at most so many effects. With several linear predictors there is a term for
/// each, all with the same groups.
std::unique_ptr<const GroupIntegral> integrate_one_factor(Problem problem);
inline constexpr std::size_t kMostNestedLevels = 4;
/// Nested grouping factors, at most so many, each with an intercept alone.
std::unique_ptr<const GroupIntegral> integrate_nested(Problem problem);
/// The terms from the outermost factor to the innermost; empty if their groups are not nested.
std::vector<std::size_t> nesting(const std::vector<GroupTerm>& terms);

/// Standard normal numbers `range` of those of a seed, a draw, a level of groups and a round of proposals.
void proposal_noise(std::uint64_t seed, std::uint32_t draw, std::size_t level, int round, Range range,
                    double* out);

}  // namespace magva::mixed
