// Fits densities whose moments are known and prints, for each, its kind, the verdict and the largest error: a
// line of JSON that run.py counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "known.hpp"
#include "magva/fit.hpp"

namespace {

using namespace magva;

constexpr std::array kKinds = {&bench::t_tails, &bench::funnel, &bench::two_modes, &bench::log_gamma,
                               &bench::group_sd};

/// The larger of the worst mean's, in posterior sds, and the worst sd's, as a share.
double largest_error(const FitResult& fit, const bench::KnownPosterior& truth) {
  const Vector shift = (fit.posterior.best().mean() - truth.mean).cwiseQuotient(truth.sd).cwiseAbs();
  const Vector ratio = (fit.posterior.best().sd().cwiseQuotient(truth.sd).array() - 1).abs();
  return std::max(shift.maxCoeff(), ratio.maxCoeff());
}

const char* verdict(const FitResult& fit) {
  return !fit.trusted ? "not to be trusted" : fit.warnings.empty() ? "trusted" : "usable";
}

}  // namespace

int main(int count, char** arguments) {
  const int problems = count > 1 ? std::atoi(arguments[1]) : 100;
  std::mt19937_64 generator(count > 2 ? static_cast<std::uint64_t>(std::atoll(arguments[2])) : 1);
  for (int k = 0; k < problems; ++k) {
    const bench::KnownPosterior truth = kKinds[static_cast<std::size_t>(k) % kKinds.size()](generator);
    const FitResult result = fit(*truth.model);
    fmt::print("{{\"case\": \"{}\", \"detail\": \"{}\", \"verdict\": \"{}\", \"error\": {:.3f}}}\n",
               truth.kind, truth.detail, verdict(result), largest_error(result, truth));
  }
  return 0;
}
