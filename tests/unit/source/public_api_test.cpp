// From a CSV file to predictions of new rows, with what a user includes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "magva/draws.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/fit_folder.hpp"
#include "magva/model_source.hpp"
#include "magva/prediction.hpp"
#include "magva/stan.hpp"
#include "magva/table.hpp"
#include "magva/version.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

/// y = 1 + 2 x + (group b: 3) + a disturbance of at most .3 that no column explains.
std::string write_csv(const std::filesystem::path& file, int first, int rows, bool with_response) {
  std::ofstream out(file);
  out << "x,group,again" << (with_response ? ",y\n" : "\n");
  for (int i = first; i < first + rows; ++i) {
    const double x = std::sin(1.7 * i), disturbance = .3 * std::cos(12.9 * i);
    const bool b = i % 3 == 0;
    out << x << ',' << (b ? 'b' : 'a') << ',' << x;
    if (with_response) out << ',' << 1 + 2 * x + (b ? 3 : 0) + disturbance;
    out << '\n';
  }
  return file.string();
}

source::ModelSource linear_source(const std::string& file) {
  table::ReadOptions reading;
  reading.digest = true;
  table::DesignOptions design;
  design.response = "y";
  return source::make_table_source(table::read_table(file, reading), design, {});
}

FitOptions quick() {
  FitOptions options;
  options.threads = 1;
  options.starts = 1;
  return options;
}

TEST(PublicApi, FitsSavesLoadsAndPredicts) {
  const test::TemporaryFolder folder;
  const source::ModelSource source = linear_source(write_csv(folder.path() / "data.csv", 0, 200, true));
  ASSERT_TRUE(source.spec.has_value());
  EXPECT_EQ(source.spec->model, source::RegressionKind::linear);
  EXPECT_EQ(source.spec->design.names(), (std::vector<std::string>{"(Intercept)", "x", "group[b]"}));
  const FitResult result = source::fit(source, quick());
  EXPECT_EQ(result.stopped, StopReason::kConverged);
  results::save_fit(folder.path() / "fit", source, result);

  const results::StoredFit fit = results::load_fit(folder.path() / "fit");
  EXPECT_EQ(fit.record.stopped, "converged");
  EXPECT_EQ(fit.record.version, version());
  EXPECT_EQ(fit.record.data.sha256, source.data.sha256);
  ASSERT_EQ(fit.record.parameters.size(), 4U);
  // The disturbance has an sd of .21: a standard error of at most .05 for each of 200 rows' coefficients.
  EXPECT_NEAR(fit.record.parameters[0].mean, 1, .2);
  EXPECT_NEAR(fit.record.parameters[1].mean, 2, .2);
  EXPECT_NEAR(fit.record.parameters[2].mean, 3, .2);
  EXPECT_EQ(fit.posterior.mean(), result.posterior.mean());

  ASSERT_TRUE(fit.spec.has_value());
  const auto rows = prediction::read_new_rows(write_csv(folder.path() / "new.csv", 500, 30, true), *fit.spec);
  const auto predictions = prediction::predict_rows(*fit.spec, rows, fit.posterior);
  const prediction::Scores scores = prediction::score(predictions, rows.response, fit.spec->two_classes());
  EXPECT_EQ(scores.rows, 30);
  EXPECT_LT(scores.rmse.value(), .3);  // the largest disturbance

  const auto unseen =
      prediction::read_new_rows(write_csv(folder.path() / "plain.csv", 0, 5, false), *fit.spec);
  EXPECT_EQ(unseen.response.size(), 0);
  EXPECT_EQ(prediction::predict_rows(*fit.spec, unseen, fit.posterior).log_score.size(), 0);
}

TEST(PublicApi, DrawsOfAStoredFitAreThoseOfItsSource) {
  const test::TemporaryFolder folder;
  const source::ModelSource source = linear_source(write_csv(folder.path() / "data.csv", 0, 60, true));
  results::save_fit(folder.path() / "fit", source, source::fit(source, quick()));
  const results::StoredFit fit = results::load_fit(folder.path() / "fit");
  const Matrix theta = fit.posterior.draws(10, 1);
  const results::Draws stored = results::take_draws(*source::make_reporter(*fit.spec), theta, 1);
  const results::Draws with_densities = results::take_draws(source, fit.posterior, theta, 1);
  EXPECT_EQ(stored.names, with_densities.names);
  EXPECT_EQ(stored.values, with_densities.values);
  EXPECT_EQ(stored.log_p.size(), 0);
  EXPECT_TRUE(with_densities.log_p.allFinite());
}

TEST(PublicApi, ADesignFileGivesTheModelOfItsTable) {
  const test::TemporaryFolder folder;
  const std::string csv = write_csv(folder.path() / "data.csv", 0, 60, true);
  source::ConvertOptions convert;
  convert.file = csv;
  convert.design.response = "y";
  convert.out = (folder.path() / "data.magva").string();
  const source::Converted converted = source::convert_table(convert);
  EXPECT_EQ(converted.rows, 60);
  EXPECT_EQ(converted.columns, 3);
  const source::ModelSource from_file = source::make_design_file_source(convert.out, {});
  const source::ModelSource from_table = linear_source(csv);
  EXPECT_EQ(from_file.description, from_table.description);
  EXPECT_EQ(from_file.notes, from_table.notes);
  EXPECT_EQ(from_file.start, from_table.start);
}

TEST(PublicApi, InvalidOptionsAreUsageErrors) {
  source::RegressionOptions options;
  options.model = source::RegressionKind::pspline;
  EXPECT_THROW(options.validate(), UsageError);  // no covariate
  options.covariate = "x";
  EXPECT_NO_THROW(options.validate());
  options.model = source::RegressionKind::linear;
  EXPECT_THROW(options.validate(), UsageError);
  options = {};
  options.prior_variance = 0;
  EXPECT_THROW(options.validate(), UsageError);
  EXPECT_THROW(source::parse_prior_kind("norml"), UsageError);
}

}  // namespace
}  // namespace magva
