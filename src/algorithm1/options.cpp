#include "algorithm1/options.hpp"

#include <fmt/format.h>

namespace magva {

namespace {
constexpr Index kMostDraws = 10'000;  // in an iteration: their Gram matrix is kept
}

std::vector<std::string> FitterOptions::validate(Index dimension) const {
  std::vector<std::string> found;
  const auto require = [&](bool fine, const char* field, auto value, std::string_view rule) {
    if (!fine) found.push_back(fmt::format("{} is {} and must be {}", field, value, rule));
  };
  const auto append = [&](std::vector<std::string> more) {
    found.insert(found.end(), more.begin(), more.end());
  };

  require(dimension > 0, "the model's dimension", dimension, "positive");
  require(rank >= 0, "rank", rank, "0 or more");
  const bool has_rank = family != FamilyKind::kMeanField && family != FamilyKind::kFullRank;
  if (has_rank)
    require(rank <= dimension, "rank", rank, fmt::format("at most {}, the number of parameters", dimension));
  require(initial_factor_scale > 0 && initial_factor_scale < 1e100, "initial_factor_scale",
          initial_factor_scale, "positive");
  require(initial_residual_scale > 0 && initial_residual_scale < 1e100, "initial_residual_scale",
          initial_residual_scale, "positive");
  append(factor_rule.validate("factor_rule"));
  append(mean_rule.validate("mean_rule"));
  append(scale_rule.validate("scale_rule"));
  require(draws >= 1 && draws <= kMostDraws, "draws", draws, fmt::format("between 1 and {}", kMostDraws));
  if (antithetic) require(draws % 2 == 0, "draws", draws, "even where draws are antithetic");
  require(average_last >= 0 && average_last <= 1, "average_last", average_last, "between 0 and 1");
  require(threads >= 1 && threads <= 1024, "threads", threads, "between 1 and 1024");
  require(max_iterations >= 1, "max_iterations", max_iterations, "positive");
  require(time_limit > 0, "time_limit", time_limit, "positive");
  require(max_rejected_in_a_row >= 1, "max_rejected_in_a_row", max_rejected_in_a_row, "positive");
  return found;
}

}  // namespace magva
