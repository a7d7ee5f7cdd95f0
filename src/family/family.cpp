#include "family/family.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "family/full_rank.hpp"
#include "family/low_rank.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

constexpr std::array kFamilies = {
    std::pair{FamilyKind::kMeanField, "mean-field"}, std::pair{FamilyKind::kVafc, "vafc"},
    std::pair{FamilyKind::kStiefel, "stiefel"},      std::pair{FamilyKind::kGrassmann, "grassmann"},
    std::pair{FamilyKind::kFixedRank, "fixed-rank"}, std::pair{FamilyKind::kFullRank, "full-rank"},
};

constexpr std::array kEstimators = {std::pair{Estimator::kEntropy, "entropy"},
                                    std::pair{Estimator::kPath, "path"}};

template <class Table>
const char* name_in(const Table& table, auto kind) {
  for (const auto& [k, text] : table)
    if (k == kind) return text;
  return "unknown";
}

template <class Table>
auto parse_in(const Table& table, const char* what, std::string_view text) {
  std::string all;
  for (const auto& [kind, known] : table) {
    if (text == known) return kind;
    all += all.empty() ? known : fmt::format(", {}", known);
  }
  throw UsageError(fmt::format("there is no {} '{}': choose one of {}", what, text, all));
}

}  // namespace

const char* name(FamilyKind kind) { return name_in(kFamilies, kind); }
FamilyKind parse_family(std::string_view text) { return parse_in(kFamilies, "family", text); }
const char* name(Estimator estimator) { return name_in(kEstimators, estimator); }
Estimator parse_estimator(std::string_view text) { return parse_in(kEstimators, "estimator", text); }

std::unique_ptr<Family> make_family(const FamilyOptions& options, Index dimension, Index max_draws,
                                    std::uint64_t seed, Workers& workers) {
  if (options.kind == FamilyKind::kFullRank)
    return std::make_unique<FullRank>(options, dimension, max_draws, workers);
  return std::make_unique<LowRank>(options, dimension, max_draws, seed, workers);
}

}  // namespace magva
