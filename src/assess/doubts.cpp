#include "assess/doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

/// Parameters that a warning names, at most.
constexpr std::size_t kNamed = 3;
/// An error of a marginal counts if it is beyond so many standard errors.
constexpr double kMarginalErrors = 2;

std::string describe(const Doubt& doubt) {
  const double ratio = doubt.sd_ratio;
  std::string sd;
  if (std::abs(std::log(ratio)) > kDoubt / 2)
    sd = fmt::format("its sd is {:.2g} times that of the approximation", ratio);
  std::string mean;
  if (std::abs(doubt.shift) > kDoubt / 2 || sd.empty())
    mean =
        fmt::format("its mean is {:.2g} sds {}", std::abs(doubt.shift), doubt.shift > 0 ? "higher" : "lower");
  return fmt::format("{} ({})", doubt.parameter,
                     fmt::join(std::vector<std::string>{sd, mean}, sd.empty() || mean.empty() ? "" : ", "));
}

}  // namespace

bool add_doubt(Doubt doubt, Assessment& out) {
  if (std::any_of(out.doubts.begin(), out.doubts.end(),
                  [&](const Doubt& other) { return other.parameter == doubt.parameter; }))
    return false;
  out.doubts.push_back(std::move(doubt));
  return true;
}

double size_of(const Doubt& doubt) {
  return std::max(std::abs(doubt.shift), std::abs(std::log(doubt.sd_ratio)));
}

std::string describe(const std::vector<Doubt>& doubts) {
  std::vector<std::string> named;
  for (std::size_t k = 0; k < std::min(kNamed, doubts.size()); ++k) named.push_back(describe(doubts[k]));
  std::string out = fmt::format("{}", fmt::join(named, "; "));
  if (doubts.size() > kNamed) out += fmt::format("; and {} more parameters", doubts.size() - kNamed);
  return out;
}

bool in_doubt(const MarginalError& error) {
  return error.effective_draws > 0 ? error.size() - kMarginalErrors * error.se > kDoubt
                                   : std::log(error.sd_ratio) > kUselessDoubt;
}

}  // namespace magva
