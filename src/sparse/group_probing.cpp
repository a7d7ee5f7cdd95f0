#include "sparse/group_probing.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Groups of one partition, and partitions: with 100,000 coordinates and eight that a derivative depends on,
/// a tenth of one more is listed in vain.
constexpr std::size_t kGroups = 256;
constexpr std::size_t kPartitions = 4;
/// Gradients that are evaluated together.
constexpr std::size_t kGroupsAtOnce = 64;
/// A group that changes more than this share of the derivatives holds a coordinate on which many depend, and
/// a derivative that changes with more than this share of the other groups belongs to such a coordinate.
constexpr double kManyDerivatives = .5;
constexpr double kManyGroups = .1;
/// Fewer groups without such a coordinate tell nothing; a derivative that changes with more of them, once
/// such coordinates are left out, or more such coordinates than this share of all make the Hessian dense.
constexpr std::size_t kFewestGroups = 64;
constexpr std::size_t kMostGroups = kGroups / 8;
constexpr double kMostHubs = 1. / 16;

using Groups = std::bitset<kGroups>;

class GroupProbing {
 public:
  GroupProbing(Evaluator& evaluator, ConstVectorRef at, ConstVectorRef gradient, ConstVectorRef scale,
               std::uint64_t seed)
      : evaluator_(evaluator),
        m_(at.size()),
        at_(at),
        gradient_(gradient),
        noise_(seed, NoiseStream::kRandomPoint),
        amounts_(moves(scale)),
        is_hub_(static_cast<std::size_t>(m_), 0) {}

  std::vector<std::vector<Index>> run() {
    Partition first = partition(0);
    if (!probe(first) || !find_hubs(first)) return {};
    std::vector<Partition> partitions;
    for (std::uint64_t k = 0; k < kPartitions; ++k) {
      partitions.push_back(partition(k + 1));
      if (!probe(partitions.back())) return {};
    }
    std::vector<std::vector<Index>> out(static_cast<std::size_t>(m_));
    for (Index i = 0; i < m_; ++i) {
      if (is_hub(i)) continue;
      if (partitions.front().changed[slot(i)].count() > kMostGroups) return {};
      for (const Index j : coordinates_of(i, partitions)) out[slot(j)].push_back(i);
    }
    if (!probe_hubs(out)) return {};
    return out;
  }

 private:
  struct Partition {
    std::vector<std::uint16_t> group;                 // of each coordinate
    std::array<std::vector<Index>, kGroups> members;  // hubs left out
    std::vector<Groups> changed;                      // of each derivative: with which groups
  };

  static std::size_t slot(Index i) { return static_cast<std::size_t>(i); }
  bool is_hub(Index i) const { return is_hub_[slot(i)] != 0; }

  /// All different, so that the changes of two coordinates that are moved together do not cancel.
  Vector moves(ConstVectorRef scale) const {
    Matrix z(m_, 1);
    noise_.fill(1, 0, z);
    return scale.array() * (.5 + z.col(0).array().abs());
  }

  Partition partition(std::uint64_t number) const {
    Partition out{std::vector<std::uint16_t>(slot(m_)), {}, std::vector<Groups>(slot(m_))};
    Matrix z(m_, 1);
    noise_.fill(2 + number, 0, z);
    for (Index i = 0; i < m_; ++i) {
      // The lower digits of a normal number are uniform.
      const double digits = std::abs(z(i)) * 1e6;
      out.group[slot(i)] = static_cast<std::uint16_t>(
          static_cast<std::uint64_t>(digits * static_cast<double>(kGroups)) % kGroups);
      if (!is_hub(i)) out.members[out.group[slot(i)]].push_back(i);
    }
    return out;
  }

  bool changed(Index i, double after) const {
    return std::abs(after - gradient_(i)) > kRounding * (std::abs(gradient_(i)) + std::abs(after));
  }

  /// The gradients after moves of sets of coordinates, one column per set. False where one is not finite.
  template <class MembersOf>
  bool move_sets(std::size_t first, std::size_t count, const MembersOf& members, Matrix& gradient) const {
    Matrix theta = at_.replicate(1, static_cast<Index>(count));
    for (std::size_t k = 0; k < count; ++k)
      for (const Index i : members(first + k)) theta(i, static_cast<Index>(k)) += amounts_(i);
    Vector log_density(theta.cols());
    gradient.resize(m_, theta.cols());
    evaluator_.evaluate(theta, log_density, gradient);
    return log_density.allFinite();
  }

  bool probe(Partition& partition) const {
    const auto members = [&](std::size_t group) -> const std::vector<Index>& {
      return partition.members[group];
    };
    Matrix gradient;
    for (std::size_t first = 0; first < kGroups; first += kGroupsAtOnce) {
      if (!move_sets(first, kGroupsAtOnce, members, gradient)) return false;
      for (std::size_t k = 0; k < kGroupsAtOnce; ++k)
        for (Index i = 0; i < m_; ++i)
          if (changed(i, gradient(i, static_cast<Index>(k)))) partition.changed[slot(i)].set(first + k);
    }
    return true;
  }

  bool find_hubs(const Partition& all) {
    std::vector<Index> changes(kGroups, 0);
    for (const Groups& groups : all.changed)
      for (std::size_t g = 0; g < kGroups; ++g) changes[g] += groups[g] ? 1 : 0;
    Groups telling;
    for (std::size_t g = 0; g < kGroups; ++g)
      telling[g] = static_cast<double>(changes[g]) <= kManyDerivatives * static_cast<double>(m_);
    if (telling.count() < kFewestGroups) return false;
    const double many = kManyGroups * static_cast<double>(telling.count());
    for (Index i = 0; i < m_; ++i)
      if (static_cast<double>((all.changed[slot(i)] & telling).count()) > many) {
        is_hub_[slot(i)] = 1;
        hubs_.push_back(i);
      }
    return static_cast<double>(hubs_.size()) <= kMostHubs * static_cast<double>(m_);
  }

  std::vector<Index> coordinates_of(Index derivative, const std::vector<Partition>& partitions) const {
    std::vector<Index> out;
    const Groups& first = partitions.front().changed[slot(derivative)];
    for (std::size_t g = 0; g < kGroups; ++g) {
      if (!first[g]) continue;
      for (const Index j : partitions.front().members[g])
        if (j == derivative || std::all_of(partitions.begin() + 1, partitions.end(), [&](const Partition& p) {
              return p.changed[slot(derivative)][p.group[slot(j)]];
            }))
          out.push_back(j);
    }
    if (std::find(out.begin(), out.end(), derivative) == out.end()) out.push_back(derivative);
    return out;
  }

  bool probe_hubs(std::vector<std::vector<Index>>& out) const {
    const auto members = [&](std::size_t k) { return std::array<Index, 1>{hubs_[k]}; };
    Matrix gradient;
    for (std::size_t first = 0; first < hubs_.size(); first += kGroupsAtOnce) {
      const std::size_t count = std::min(kGroupsAtOnce, hubs_.size() - first);
      if (!move_sets(first, count, members, gradient)) return false;
      for (std::size_t k = 0; k < count; ++k)
        for (Index i = 0; i < m_; ++i)
          if (i == hubs_[first + k] || changed(i, gradient(i, static_cast<Index>(k))))
            out[slot(hubs_[first + k])].push_back(i);
    }
    return true;
  }

  Evaluator& evaluator_;
  Index m_;
  Vector at_;
  Vector gradient_;
  Noise noise_;
  Vector amounts_;
  std::vector<char> is_hub_;
  std::vector<Index> hubs_;  // coordinates on which many derivatives depend
};

}  // namespace

std::vector<std::vector<Index>> probe_in_groups(Evaluator& evaluator, ConstVectorRef at,
                                                ConstVectorRef gradient, ConstVectorRef scale,
                                                std::uint64_t seed) {
  return GroupProbing(evaluator, at, gradient, scale, seed).run();
}

}  // namespace magva
