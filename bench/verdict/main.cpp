// Fits densities whose moments are known and prints, for each, its kind, the verdict and the largest error: a
// line of JSON that run.py counts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "known.hpp"
#include "magva/check_gradient.hpp"
#include "magva/fit.hpp"

namespace {

using namespace magva;

constexpr std::array kKinds = {&bench::t_tails,          &bench::funnel,          &bench::two_modes,
                               &bench::log_gamma,        &bench::group_sd,        &bench::schools,
                               &bench::small_regression, &bench::skewed,          &bench::banana,
                               &bench::product,          &bench::only_the_sum,    &bench::bounded,
                               &bench::funnel_with_data, &bench::label_switching, &bench::zero_inflated,
                               &bench::ordered,          &bench::regression,      &bench::binary_groups};

/// At some points around the truth the density's gradient is that of its values.
void check_density(const bench::KnownPosterior& truth) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 3; ++k) {
    Vector at = truth.mean;
    for (Index i = 0; i < at.size(); ++i) at(i) += std::min(1., truth.sd(i)) * normal(generator);
    const GradientCheck check = check_gradient(*truth.model, at);
    if (!check.passed)
      throw std::logic_error(fmt::format("{}, {}: {}", truth.kind, truth.detail, check.sentence));
  }
}

/// The larger of the worst mean's, in posterior sds, and the worst sd's, as a share.
struct LargestError {
  double size = -1;
  std::string detail;

  void add(const std::string& name, double mean, double sd, double true_mean, double true_sd) {
    const double error = std::max(std::abs(mean - true_mean) / true_sd, std::abs(sd / true_sd - 1));
    if (error <= size) return;
    size = error;
    detail =
        fmt::format("{}: mean {:.3g} for {:.3g}, sd {:.3g} for {:.3g}", name, mean, true_mean, sd, true_sd);
  }
};

constexpr Index kQuantityDraws = 40'000;

LargestError largest_error(const Posterior& fitted, const bench::KnownPosterior& truth) {
  LargestError out;
  const Vector mean = fitted.mean(), sd = fitted.sd();
  for (Index i = 0; i < mean.size(); ++i)
    out.add(truth.model->parameter_name(i), mean(i), sd(i), truth.mean(i), truth.sd(i));
  if (!truth.quantity) return out;
  const auto& quantity = *truth.quantity;
  const Vector value = fitted.draws(kQuantityDraws, 7).row(quantity.coordinate).unaryExpr(quantity.of);
  out.add(quantity.name, value.mean(), std::sqrt((value.array() - value.mean()).square().mean()),
          quantity.mean, quantity.sd);
  return out;
}

/// All coordinates, and the quantity.
Quantities quantities_of(const bench::KnownPosterior& truth) {
  const auto& quantity = *truth.quantity;
  Quantities out;
  for (Index i = 0; i < truth.mean.size(); ++i) out.names.push_back(truth.model->parameter_name(i));
  out.names.push_back(quantity.name);
  out.at = [&quantity](ConstMatrixRef theta) {
    Matrix values(theta.rows() + 1, theta.cols());
    values.topRows(theta.rows()) = theta;
    values.bottomRows(1) = theta.row(quantity.coordinate).unaryExpr(quantity.of);
    return values;
  };
  return out;
}

const char* verdict(const FitResult& fit) {
  return !fit.trusted ? "not to be trusted" : fit.warnings.empty() ? "trusted" : "usable";
}

void try_one(const bench::KnownPosterior& truth) {
  try {
    check_density(truth);
  } catch (const std::logic_error& error) {
    fmt::print(stderr, "left out: {}\n", error.what());
    return;
  }
  FitOptions options;
  if (truth.quantity) options.quantities = quantities_of(truth);
  const FitResult result = fit(*truth.model, options);
  const Posterior& best = result.posterior.best();
  const LargestError error = largest_error(best, truth);
  nlohmann::json out;
  out["case"] = truth.kind;
  out["detail"] =
      fmt::format("{}, {}, {}, k-hat {:.2f}", truth.detail, best.shape(), error.detail, result.khat);
  out["verdict"] = verdict(result);
  out["error"] = error.size;
  out["warnings"] = nlohmann::json::array();
  for (const Warning& warning : result.warnings) out["warnings"].push_back(warning.message);
  fmt::print("{}\n", out.dump());
  std::fflush(stdout);  // what is done counts, even if the rest takes too long
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
