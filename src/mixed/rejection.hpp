#pragma once
// Draws of effects from densities that look nearly Gaussian, exactly, by rejection from a t distribution with
// 4 degrees of freedom: a few proposals a draw, where importance resampling takes dozens.
#include <cmath>
#include <cstdint>
#include <vector>

#include "mixed/group_integral.hpp"

namespace magva::mixed {

/// Where the ratio of the density to the proposals' is looked at, in sds from the mode, and what is added to
/// the logarithm of the largest.
inline constexpr double kBoundPoints[] = {-3, -1.5, 1.5, 3};
inline constexpr double kBoundMargin = .1;

/// After so many rounds the last proposal stands.
inline constexpr int kMostRoundsOfDraw = 100;

/// Log density of proposals, relative to that at their centre.
inline double log_proposal(double squared_length, Index dimension) {
  return -.5 * static_cast<double>(dimension + 4) * std::log1p(squared_length / 4);
}

/// A proposal in standard coordinates, and how far below its bound the log ratio may be.
struct Proposal {
  Proposal(const double* normal, Index dimension) : z(dimension) {
    const Eigen::Map<const SmallVector> numbers(normal, dimension);
    const Eigen::Map<const Eigen::Vector4d> chi(normal + dimension);
    z = numbers * (2 / chi.norm());
    // Exponential: minus the logarithm of a uniform number.
    slack =
        .5 * (normal[dimension + 4] * normal[dimension + 4] + normal[dimension + 5] * normal[dimension + 5]);
  }
  static Index normals(Index dimension) { return dimension + 6; }

  SmallVector z;
  double slack;
};

/// The normal numbers of the proposals of neighbouring groups, which depend on the seed, the draw, the level,
/// the round and the groups' places alone.
class ProposalNoise {
 public:
  struct Source {
    std::uint64_t seed;
    std::uint32_t draw;
    std::size_t level;
  };
  ProposalNoise(const Source& source, Index first_group, Index groups, Index dimension)
      : source_(source), first_(first_group), dimension_(dimension) {
    fill(0, first_group, groups);
    first_round_ = numbers_;
  }
  /// Of a group among these; the numbers of all in the first round are there already.
  Proposal at(Index g, int round) {
    const Index width = Proposal::normals(dimension_);
    if (round == 0) return {first_round_.data() + g * width, dimension_};
    fill(round, first_ + g, 1);
    return {numbers_.data(), dimension_};
  }

 private:
  void fill(int round, Index group, Index groups) {
    const Index width = Proposal::normals(dimension_), begin = group * width;
    numbers_.resize(groups * width);
    proposal_noise(source_.seed, source_.draw, source_.level, round, {begin, begin + numbers_.size()},
                   numbers_.data());
  }

  Source source_;
  Index first_, dimension_;
  Vector first_round_, numbers_;
};

/// The groups whose draws have not been accepted yet.
class PendingDraws {
 public:
  PendingDraws(Index groups, Index dimension)
      : dimension_(dimension),
        pending_(static_cast<std::size_t>(groups)),
        slack_(static_cast<std::size_t>(groups)) {
    for (Index g = 0; g < groups; ++g) pending_[static_cast<std::size_t>(g)] = g;
  }

  /// False if none are left, or this were one round too many.
  bool next_round() { return !pending_.empty() && ++round_ < kMostRoundsOfDraw; }
  int round() const { return round_; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Index g : pending_) visit(g);
  }
  /// Neighbours together.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    for (std::size_t k = 0; k < pending_.size();) {
      std::size_t end = k + 1;
      while (end < pending_.size() && pending_[end] == pending_[end - 1] + 1) ++end;
      visit(pending_[k], pending_[end - 1] + 1);
      k = end;
    }
  }
  void set(Index g, const Proposal& proposal) {
    slack_[static_cast<std::size_t>(g)] = proposal.slack - log_proposal(proposal.z.squaredNorm(), dimension_);
  }
  /// `log_density_below_bound(g)`: the log density relative to the mode, less the bound.
  template <class Below>
  void accept(Below&& log_density_below_bound) {
    std::erase_if(pending_, [&](Index g) {
      return log_density_below_bound(g) + slack_[static_cast<std::size_t>(g)] >= 0;
    });
  }

 private:
  Index dimension_;
  int round_ = -1;
  std::vector<Index> pending_;
  std::vector<double> slack_;
};

}  // namespace magva::mixed
