// The tables and figures of the ionosphere experiment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "experiments/folds.hpp"
#include "experiments/ionosphere_results.hpp"
#include "experiments/paper.hpp"
#include "experiments/section.hpp"

namespace magva::experiments {

namespace {

using report::decimals;

report::Table error_table(const IonosphereResults& results) {
  report::Table table{{{"method", "Method", false},
                       {"training_error_percent", "Training error %"},
                       {"training_error_percent_sd", "sd"},
                       {"training_error_percent_paper", "Paper"},
                       {"test_error_percent", "Test error %"},
                       {"test_error_percent_sd", "sd"},
                       {"test_error_percent_paper", "Paper"},
                       {"seconds", "Seconds"},
                       {"seconds_paper", "Paper"},
                       {"times_faster", "Times faster"},
                       {"remark", "Test error, in a word", false}},
                      {}};
  for (const Method& method : Ionosphere::error_methods()) {
    const MeanSd training = mean_sd(results.over_splits(method, "training_percent"));
    const MeanSd test = mean_sd(results.over_splits(method, "test_percent"));
    const double seconds = median(results.over_splits(method, "seconds"));
    const auto paper = paper_ionosphere(method.id);
    table.rows.push_back({method.label, decimals(training.mean, 2), decimals(training.sd, 2),
                          decimals(paper->training, 2), decimals(test.mean, 2), decimals(test.sd, 2),
                          decimals(paper->test, 2), decimals(seconds, 2), decimals(paper->seconds, 2),
                          decimals(paper->seconds / seconds, 0), compare_rates(test, paper->test)});
  }
  return table;
}

report::Table first_split_table(const IonosphereResults& results) {
  report::Table table{{{"method", "Method", false},
                       {"training_error_all_rows", "Training %, cuts from all rows"},
                       {"training_error_training_rows", "Training %, cuts from training rows"},
                       {"test_error_all_rows", "Test %, cuts from all rows"},
                       {"test_error_training_rows", "Test %, cuts from training rows"}},
                      {}};
  std::vector<Method> methods = Ionosphere::error_methods();
  for (Method& method : Ionosphere::further_error_methods()) methods.push_back(std::move(method));
  for (const Method& method : methods) {
    const auto figure = [&](Cuts cuts, const char* field) {
      return decimals(results.first_split(method, cuts, field), 2);
    };
    table.rows.push_back({method.label, figure(Cuts::all_rows, "training_percent"),
                          figure(Cuts::training_rows, "training_percent"),
                          figure(Cuts::all_rows, "test_percent"),
                          figure(Cuts::training_rows, "test_percent")});
  }
  return table;
}

report::Table bound_table(const IonosphereResults& results) {
  report::Table table{{{"method", "Method", false},
                       {"lower_bound", "Lower bound at the end"},
                       {"lower_bound_sd", "sd over repetitions"},
                       {"factor_share_percent", "Variance carried by factors %"},
                       {"iterations_to_own_end", "Iterations to within 3 nats of its own end"},
                       {"iterations_to_mean_field", "to within 3 nats of mean-field's end"},
                       {"oscillation", "Oscillation, nats"},
                       {"microseconds", "Microseconds per iteration"},
                       {"remark", "Against mean-field", false}},
                      {}};
  const MeanSd reference = results.mean_field_bound();
  for (const Method& method : Ionosphere::curve_methods()) {
    const Ends end = results.bound(method);
    table.rows.push_back(
        {method.label, decimals(end.kept.mean, 1), decimals(end.kept.sd, 1),
         decimals(100 * mean_sd(numbers(results.curve_runs(method), "factor_share")).mean, 1),
         iterations_or_never(results.iterations_to_own_end(method)),
         iterations_or_never(results.iterations_to_mean_field(method)),
         decimals(results.mean_oscillation(method), 2), decimals(results.microseconds(method), 1),
         method.family == FamilyKind::kMeanField ? "" : compare_bounds(end, reference)});
  }
  table.rows.push_back({"magva's default, p = 4", decimals(results.default_bound(), 1), "", "", "", "", "",
                        "", fmt::format("{:.1f} above", results.default_bound() - reference.mean)});
  return table;
}

std::vector<report::Panel> bound_panels(const IonosphereResults& results) {
  std::vector<report::Panel> out;
  std::vector<CurveBand> shown;
  const CurveBand reference = band(results.curves(mean_field()), results.settings().window);
  for (const Method& method : Ionosphere::curve_methods()) {
    if (method.family == FamilyKind::kMeanField || method.id.ends_with("-sgd")) continue;
    const CurveBand c = band(results.curves(method), results.settings().window);
    if (method.id != printed_stiefel_adadelta().id) shown.push_back(c);
    out.push_back(
        {.name = "lower-bound-" + method.id,
         .title = method.label,
         .x_label = "iteration",
         .y_label = "lower bound",
         .description = fmt::format("Lower bound of {} by iteration, ending at {}.", method.label,
                                    describe(results.bound(method))),
         .series = {{"one sd", report::colour::kGrey, report::Mark::band, c.iteration, c.mean, c.low, c.high},
                    {"mean-field", report::colour::kBlue, report::Mark::dashed, reference.iteration,
                     reference.mean},
                    {"mean", report::colour::kVermillion, report::Mark::line, c.iteration, c.mean}},
         .x_range = report::Range{0, static_cast<double>(results.settings().iterations)}});
  }
  const report::Range y = shared_range(shown);
  for (report::Panel& panel : out) panel.y_range = y;
  return out;
}

/// Test errors of each method over the splits: intervals of two sds, and the paper's figures.
report::Panel ranking_panel(const IonosphereResults& results) {
  report::Panel panel{.name = "test-errors",
                      .title = "Test error over splits, two sds, and the paper's",
                      .x_label = "test error, per cent",
                      .y_label = "",
                      .description =
                          "Test errors of each method: mean and two standard deviations over splits, beside "
                          "the paper's figure.",
                      .width = 680,
                      .height = 380};
  report::Series ours{"ours", report::colour::kBlue, report::Mark::interval, {}, {}};
  report::Series paper{"paper", report::colour::kVermillion, report::Mark::steady_points, {}, {}};
  for (const Method& method : Ionosphere::error_methods()) {
    const MeanSd test = mean_sd(results.over_splits(method, "test_percent"));
    panel.y_names.push_back(method.label);
    const auto y = static_cast<double>(panel.y_names.size());
    ours.x.push_back(test.mean);
    ours.y.push_back(y);
    ours.low.push_back(test.mean - 2 * test.sd);
    ours.high.push_back(test.mean + 2 * test.sd);
    paper.x.push_back(paper_ionosphere(method.id)->test);
    paper.y.push_back(y);
  }
  panel.series = {ours, paper};
  return panel;
}

std::string what_was_run(const Ionosphere& experiment) {
  const IonosphereSettings& s = experiment.config();
  return fmt::format(
      "Logistic regression, N(0, {}) on every coefficient, {} radar returns, 34 attributes expanded to {} "
      "indicators by "
      "MDLP. Five folds, {} splits made by counter-based random numbers from seed {} (folds.csv){}; p = {}, "
      "{} iterations, one "
      "draw each, alpha .05, beta .95, epsilon 1e-6; mu, d1 and d2 by ADADELTA unless 'plain SGD' is said. "
      "VAFC with the "
      "path-derivative estimator of its authors; with the closed-form entropy of the paper's methods beside "
      "it. Start, "
      "which the paper does not print: mu = 0, d2 = {}, d1 (or the length of B's columns, if B is free) = "
      "{}, B at random. "
      "Seconds are of one processor core, all five folds together, median over splits; whether the paper's "
      "are of one "
      "fold or of all it does not say.",
      s.prior_variance, experiment.rows(), experiment.columns(), s.splits, s.seed,
      experiment.folds_given() ? ", and the folds that were given in a file" : "", s.rank, s.iterations,
      s.start.residual_scale, s.start.factor_scale);
}

std::string who_is_misclassified(const IonosphereResults& results) {
  const Index splits = results.settings().splits;
  std::vector<Index> always;
  Index ever = 0;
  std::vector<std::vector<Index>> counts;
  for (const Method& method : table_methods()) counts.push_back(results.times_wrong(method));
  for (Index row = 0; row < results.experiment().rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (std::all_of(counts.begin(), counts.end(), [&](const auto& count) { return count[at] == splits; }))
      always.push_back(row + 1);
    if (std::any_of(counts.begin(), counts.end(), [&](const auto& count) { return count[at] > 0; })) ++ever;
  }
  return fmt::format(
      "Misclassified by all ten methods (SLANG apart) in all {} splits: {} of {} rows ({}); by any in any: "
      "{}.",
      splits, always.size(), results.experiment().rows(), fmt::join(always, ", "), ever);
}

}  // namespace

std::vector<std::string> Ionosphere::write(const Journal& journal,
                                           const std::filesystem::path& folder) const {
  const IonosphereResults results(*this, journal);
  std::vector<std::vector<int>> generated;
  for (const Split& split : splits_)
    if (split.name != "given") generated.push_back(split.folds);
  write_folds(generated, folder / "folds.csv");

  Section section(folder, "Ionosphere", "ionosphere", what_was_run(*this));
  section.part("Error rates and time",
               fmt::format("Mean and sd over {} splits; the paper's figures are of one. {}", settings_.splits,
                           who_is_misclassified(results)));
  section.table(error_table(results), "table");
  section.panels({ranking_panel(results)});
  section.part(
      "One split, and cuts fitted inside each training fold",
      fmt::format(
          "{}. MDLP on all rows, as in the paper, sees the labels of the rows it is tested on. With cuts "
          "from "
          "each fold's training rows alone the expansions have {} columns, and the test errors are what a "
          "user would see on new data. The last rows are variants.",
          folds_given_ ? "The folds as given in a file" : "The first split",
          fmt::join(fold_columns(), ", ")));
  section.table(first_split_table(results), "cuts");
  section.part(
      "Lower bounds (Figure 2)",
      fmt::format(
          "All rows, {} repetitions with seeds of their own. The line is the mean over repetitions, the band "
          "one "
          "standard deviation; each point averages the single-draw estimates of {} iterations. All panels "
          "share their scales. Convergence and oscillation are defined as in the simulation. A run diverges "
          "if "
          "its bound is not finite or ends {:.0f} nats or more below mean-field's mean.",
          settings_.repetitions, settings_.window, kDivergenceGap));
  section.panels(bound_panels(results));
  section.table(bound_table(results), "lower-bounds");
  save_claims(ionosphere_claims(results), folder);
  return section.write();
}

}  // namespace magva::experiments
