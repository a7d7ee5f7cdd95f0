// Linear regressions whose rows are fitted exactly: no lower bound of the residual sd, whatever rounding
// says.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "magva/fit.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

struct Replicated {
  RowMatrix x;
  Vector y;
  Vector weights;
};

/// Fewer rows than columns, some of them with whole weights above 1.
Replicated replicated(std::uint64_t seed) {
  Replicated out{test::design(12, 20, seed), test::normals(12, 1, seed + 1).col(0).array().round(),
                 Vector(12)};
  for (Index i = 0; i < 12; ++i) out.weights(i) = static_cast<double>(1 + (i + static_cast<Index>(seed)) % 4);
  return out;
}

/// Each row as often as its weight says.
Replicated written_out(const Replicated& from) {
  std::vector<Index> rows;
  for (Index i = 0; i < from.y.size(); ++i)
    rows.insert(rows.end(), static_cast<std::size_t>(from.weights(i)), i);
  return {from.x(rows, Eigen::all), from.y(rows), Vector()};
}

FitResult fit_of(const Replicated& data) {
  FitOptions options;
  options.diagnostic_draws = 200;
  return fit(test::regression(test::Kind::unknown_noise, Design::own(data.x), data.y, NormalPriorOptions{},
                              data.weights),
             options);
}

TEST(SaturatedRegression, EndsWhereDoublesEndAndSaysSo) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Replicated data = replicated(10 * seed);
    for (const Replicated& form : {data, written_out(data)}) {
      const FitResult result = fit_of(form);
      EXPECT_EQ(result.stopped, StopReason::kDiverged) << seed;
      EXPECT_NE(result.stop_detail.find("fitted exactly"), std::string::npos) << result.stop_detail;
      EXPECT_FALSE(result.trusted);
      EXPECT_TRUE(std::isfinite(result.elbo));
      EXPECT_TRUE(result.posterior.mean().allFinite());
      EXPECT_TRUE(result.posterior.sd().allFinite());
    }
  }
}

TEST(SaturatedRegression, WeightsAreRepeatedRows) {
  const RowMatrix elsewhere = test::design(9, 20, 77);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Replicated data = replicated(10 * seed);
    const Vector by_weights = elsewhere * fit_of(data).posterior.mean().head(20);
    const Vector by_rows = elsewhere * fit_of(written_out(data)).posterior.mean().head(20);
    EXPECT_LT((by_weights - by_rows).cwiseAbs().maxCoeff(), 1e-7 * by_rows.cwiseAbs().maxCoeff()) << seed;
  }
}

// Residuals of a millionth of the response's sd are no rounding.
TEST(SaturatedRegression, SmallResidualsAreNone) {
  const Index n = 60;
  const RowMatrix x = test::design(n, 5, 3);
  const double noise = 1e-6;
  const Vector eta = x * Vector::LinSpaced(5, -1, 1);
  const FitResult result = fit_of({x, eta + noise * test::normals(n, 1, 4).col(0), Vector()});
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  // log sigma has a standard error of about (2 (n - 5))^-1/2.
  EXPECT_NEAR(result.posterior.mean()(5), std::log(noise), 4 / std::sqrt(2. * (static_cast<double>(n) - 5)));
}

}  // namespace
}  // namespace magva
