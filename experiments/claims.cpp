#include "experiments/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"

namespace magva::experiments {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::reproduced:
      return "reproduced";
    case Verdict::not_reproduced:
      return "not reproduced";
    case Verdict::not_decidable:
      return "not decidable";
  }
  return "";
}

Verdict holds(bool condition) { return condition ? Verdict::reproduced : Verdict::not_reproduced; }

Verdict is_negative(const MeanSd& difference) {
  const double bound = 2 * difference.standard_error();
  if (difference.count < 10) return Verdict::not_decidable;
  if (difference.mean < -bound) return Verdict::reproduced;
  return difference.mean > bound ? Verdict::not_reproduced : Verdict::not_decidable;
}

std::string describe_difference(const MeanSd& d, int places, const char* of_what) {
  return fmt::format("{:+.{}f} (standard error {:.{}f}, {} {})", d.mean, places, d.standard_error(), places,
                     d.count, of_what);
}

Claim if_measurable(Claim claim, const std::vector<double>& figures) {
  if (std::all_of(figures.begin(), figures.end(), [](double figure) { return std::isfinite(figure); }))
    return claim;
  claim.measured = "not measurable: the runs are too short for this figure, or diverge";
  claim.verdict = Verdict::not_decidable;
  return claim;
}

report::Table claim_table(const std::vector<Claim>& claims) {
  report::Table table{{{"claim", "The paper's claim", false},
                       {"measured", "What we measured", false},
                       {"verdict", "Verdict", false},
                       {"why", "Why", false}},
                      {}};
  for (const Claim& claim : claims)
    table.rows.push_back({claim.claim, claim.measured, to_string(claim.verdict), claim.why});
  return table;
}

void save_claims(const std::vector<Claim>& claims, const std::filesystem::path& folder) {
  report::save(claim_table(claims), folder, "claims");
  nlohmann::json all = nlohmann::json::array();
  for (const Claim& claim : claims)
    all.push_back({{"claim", claim.claim},
                   {"measured", claim.measured},
                   {"verdict", static_cast<int>(claim.verdict)},
                   {"why", claim.why}});
  io::write_text(folder / "claims.json", [&](std::ostream& out) { out << all.dump(1) << '\n'; });
}

std::vector<Claim> read_claims(const std::filesystem::path& folder) {
  std::vector<Claim> claims;
  const auto path = folder / "claims.json";
  if (!std::filesystem::exists(path)) return claims;
  for (const auto& entry : nlohmann::json::parse(io::read_text(path)))
    claims.push_back({entry.at("claim"), entry.at("measured"),
                      static_cast<Verdict>(entry.at("verdict").get<int>()), entry.at("why")});
  return claims;
}

}  // namespace magva::experiments
