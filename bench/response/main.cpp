// Sds by linear response of logistic regressions fitted with draws, beside those by exact expectations: the
// fitted Gaussian's and the corrected ones, or above 2,000 columns the estimated ones, as log ratios.
//
//   magva_response ROWS COLUMNS RANK [PRIOR-VARIANCE [SEED]]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "magva/fit.hpp"
#include "magva/regression.hpp"
#include "magva/sd_for.hpp"

namespace {

using namespace magva;

/// Neighbouring columns have a correlation of .7; coefficients have sds of 1 / sqrt(columns).
Regression correlated_logistic(Index rows, Index columns, double variance, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const RowMatrix z = RowMatrix::NullaryExpr(rows, columns + 1, [&] { return normal(generator); });
  RowMatrix x(rows, columns);
  for (Index j = 0; j < columns; ++j) x.col(j) = (z.col(j) + z.col(j + 1)) / std::sqrt(2.);
  x.col(0).setOnes();
  const Vector coefficients = Vector::NullaryExpr(columns, [&] { return normal(generator); }) /
                              std::sqrt(static_cast<double>(columns));
  const Vector eta = x * coefficients;
  const Vector y =
      eta.unaryExpr([&](double e) { return uniform(generator) < 1 / (1 + std::exp(-e)) ? 1. : 0.; });
  NormalPriorOptions prior;
  prior.variance = variance;
  return logistic_regression({Design::own(std::move(x)), y, {}, {}}, prior);
}

void print_ratios(const char* of, const Vector& sd, const Vector& exact) {
  const Vector ratio = sd.cwiseQuotient(exact).array().log();
  fmt::print("{:10} log sd ratio {:+.3f} to {:+.3f}, in the mean {:+.3f}\n", of, ratio.minCoeff(),
             ratio.maxCoeff(), ratio.mean());
}

void print_means(const Gaussian& found, const Gaussian& exact) {
  const Vector shift = (found.mean() - exact.mean()).cwiseQuotient(exact.sd());
  fmt::print("{:10} means within {:.3f} sds\n", "", shift.cwiseAbs().maxCoeff());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    fmt::print(stderr, "magva_response ROWS COLUMNS RANK [PRIOR-VARIANCE [SEED]]\n");
    return 2;
  }
  const Regression model = correlated_logistic(
      std::atoll(arguments[1]), std::atoll(arguments[2]), count > 4 ? std::atof(arguments[4]) : 1,
      count > 5 ? static_cast<std::uint64_t>(std::atoll(arguments[5])) : 1);
  FitOptions options;
  options.shape = ShapeChoice::kGaussian;
  const FitResult exact = fit(model, options);
  if (!exact.posterior.has_correction()) {
    fmt::print("linear response by exact expectations would take too long\n");
    return 1;
  }
  options.expectations = Expectations::kDraws;
  options.rank = std::atoll(arguments[3]);
  FitResult drawn = fit(model, options);
  const Gaussian reference = exact.posterior.corrected();
  print_ratios("fitted", drawn.posterior.sd(), reference.sd());
  print_means(drawn.posterior, reference);
  double se = drawn.sd_se;
  if (drawn.posterior.has_correction()) {
    print_ratios("corrected", drawn.posterior.corrected().sd(), reference.sd());
    print_means(drawn.posterior.corrected(), reference);
  } else if (const auto estimates = correct_sds(model, drawn, {}, options).estimates) {
    print_ratios("estimated", estimates->sd, reference.sd());
    se = estimates->se.maxCoeff();
  }
  fmt::print("standard error of log sd {:.4f}, {} gradients for the fit, {}\n", se,
             drawn.gradient_evaluations, drawn.trusted ? "trusted" : "not to be trusted");
  return 0;
}
