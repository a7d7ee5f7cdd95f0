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

constexpr std::array kKinds = {&bench::t_tails,  &bench::funnel,  &bench::two_modes,        &bench::log_gamma,
                               &bench::group_sd, &bench::schools, &bench::small_regression, &bench::skewed};

/// The larger of the worst mean's, in posterior sds, and the worst sd's, as a share.
struct LargestError {
  double size = 0;
  Index parameter = 0;
};

LargestError largest_error(const FitResult& fit, const bench::KnownPosterior& truth) {
  const Vector shift = (fit.posterior.best().mean() - truth.mean).cwiseQuotient(truth.sd).cwiseAbs();
  const Vector ratio = (fit.posterior.best().sd().cwiseQuotient(truth.sd).array() - 1).abs();
  LargestError out;
  out.size = shift.cwiseMax(ratio).maxCoeff(&out.parameter);
  return out;
}

const char* verdict(const FitResult& fit) {
  return !fit.trusted ? "not to be trusted" : fit.warnings.empty() ? "trusted" : "usable";
}

void try_one(const bench::KnownPosterior& truth) {
  const FitResult result = fit(*truth.model);
  const LargestError error = largest_error(result, truth);
  const Posterior& best = result.posterior.best();
  fmt::print(
      "{{\"case\": \"{}\", \"detail\": \"{}, {} of {}: mean {:.3g} for {:.3g}, sd {:.3g} for {:.3g}, k-hat "
      "{:.2f}\", \"verdict\": \"{}\", \"error\": {:.3f}}}\n",
      truth.kind, truth.detail, best.shape(), truth.model->parameter_name(error.parameter),
      best.mean()(error.parameter), truth.mean(error.parameter), best.sd()(error.parameter),
      truth.sd(error.parameter), result.khat, verdict(result), error.size);
}

}  // namespace

int main(int count, char** arguments) {
  const int problems = count > 1 ? std::atoi(arguments[1]) : 100;
  std::mt19937_64 generator(count > 2 ? static_cast<std::uint64_t>(std::atoll(arguments[2])) : 1);
  const std::string kind = count > 3 ? arguments[3] : "";  // only these
  for (const bench::KnownPosterior& truth : bench::eight_schools())
    if (kind.empty() || truth.kind == kind) try_one(truth);
  for (int k = 0; k < problems; ++k) {
    const bench::KnownPosterior truth = kKinds[static_cast<std::size_t>(k) % kKinds.size()](generator);
    if (kind.empty() || truth.kind == kind) try_one(truth);
  }
  return 0;
}
