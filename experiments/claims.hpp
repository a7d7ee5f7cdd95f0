#pragma once
// The paper's claims, what was measured, and whether the one follows from the other.
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/statistics.hpp"
#include "report/table.hpp"

namespace magva::experiments {

enum class Verdict { reproduced, not_reproduced, not_decidable };
const char* to_string(Verdict verdict);

struct Claim {
  std::string claim;     ///< the paper's, in short, with its place
  std::string measured;  ///< from this run's numbers
  Verdict verdict;
  std::string why;
};

/// Reproduced if the condition holds, otherwise not.
Verdict holds(bool condition);

/// Reproduced if a mean difference is below 0 by more than two standard errors, not if it is above 0 by as
/// much, otherwise (or from fewer than ten values) not decidable.
Verdict is_negative(const MeanSd& difference);
/// "-.0123 (standard error .0040, 20 splits)".
std::string describe_difference(const MeanSd& difference, int places, const char* of_what);

/// The claim as it is if all figures behind it are finite; otherwise not decidable, since the runs are too
/// short or diverge.
Claim if_measurable(Claim claim, const std::vector<double>& figures);

report::Table claim_table(const std::vector<Claim>& claims);
/// claims.csv, claims.md and claims.json.
void save_claims(const std::vector<Claim>& claims, const std::filesystem::path& folder);
/// From claims.json; none if there is no such file.
std::vector<Claim> read_claims(const std::filesystem::path& folder);

}  // namespace magva::experiments
