// What is written about the ionosphere experiment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/atomic_file.hpp"
#include "experiments/ionosphere.hpp"
#include "experiments/paper_figures.hpp"
#include "experiments/remarks.hpp"
#include "experiments/statistics.hpp"
#include "report/figure.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace magva::experiments {

namespace {

using report::decimals;

struct FoldErrors {
  double training, test;  ///< mean over the folds, per cent
  double seconds;         ///< of all folds together
};

FoldErrors fold_errors(const Journal& journal, const Method& method, Cuts cuts, std::size_t folds) {
  FoldErrors out{};
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const Json& run = journal.at(Ionosphere::fold_key(method, cuts, fold));
    const auto rate = [&](const char* part) { return 100 * number(run[part][0]) / number(run[part][1]); };
    out.training += rate("training") / static_cast<double>(folds);
    out.test += rate("test") / static_cast<double>(folds);
    out.seconds += number(run["seconds"]);
  }
  return out;
}

struct MethodCurves {
  Method method;
  CurveBand curve;
  std::vector<double> ends;
  double factor_share;  ///< mean over the repetitions

  MeanSd end() const { return mean_sd(ends); }
};

std::vector<MethodCurves> method_curves(const Journal& journal, const IonosphereSettings& settings) {
  std::vector<MethodCurves> out;
  for (const Method& method : Ionosphere::curve_methods()) {
    std::vector<std::vector<double>> curves;
    std::vector<double> ends, shares;
    for (Index r = 0; r < settings.repetitions; ++r) {
      const Json& run = journal.at(Ionosphere::curve_key(method, r));
      curves.push_back(numbers(run["curve"]));
      ends.push_back(number(run["elbo"]));
      shares.push_back(number(run["factor_share"]));
    }
    out.push_back({method, band(curves, settings.window), ends, mean_sd(shares).mean});
  }
  return out;
}

report::Table error_table(const Ionosphere& experiment, const Journal& journal) {
  report::Table table{{{"method", "Method", false},
                       {"training_error_percent", "Training error %"},
                       {"training_error_percent_paper", "Paper"},
                       {"test_error_percent", "Test error %"},
                       {"test_error_percent_paper", "Paper"},
                       {"seconds", "Seconds"},
                       {"seconds_paper", "Paper"},
                       {"times_faster", "Times faster"},
                       {"remark", "In a word", false}},
                      {}};
  for (const Method& method : Ionosphere::table_methods()) {
    const FoldErrors ours = fold_errors(journal, method, Cuts::allRows, experiment.folds());
    const auto paper = paper_ionosphere(method.id);
    const auto beside = [&](double PaperErrors::*figure) {
      return paper ? decimals((*paper).*figure, 2) : "";
    };
    table.rows.push_back({method.label, decimals(ours.training, 2), beside(&PaperErrors::training),
                          decimals(ours.test, 2), beside(&PaperErrors::test), decimals(ours.seconds, 2),
                          beside(&PaperErrors::seconds),
                          paper ? decimals(paper->seconds / ours.seconds, 0) : "",
                          paper ? compare_rates(ours.training, paper->training, ours.test, paper->test)
                                : "not in the paper's table"});
  }
  return table;
}

report::Table cuts_table(const Ionosphere& experiment, const Journal& journal) {
  report::Table table{{{"method", "Method", false},
                       {"training_error_all_rows", "Training %, cuts from all rows"},
                       {"training_error_training_rows", "Training %, cuts from training rows"},
                       {"test_error_all_rows", "Test %, cuts from all rows"},
                       {"test_error_training_rows", "Test %, cuts from training rows"}},
                      {}};
  for (const Method& method : Ionosphere::table_methods()) {
    const FoldErrors all = fold_errors(journal, method, Cuts::allRows, experiment.folds());
    const FoldErrors own = fold_errors(journal, method, Cuts::trainingRows, experiment.folds());
    table.rows.push_back({method.label, decimals(all.training, 2), decimals(own.training, 2),
                          decimals(all.test, 2), decimals(own.test, 2)});
  }
  return table;
}

report::Table bound_table(const std::vector<MethodCurves>& curves) {
  report::Table table{{{"method", "Method", false},
                       {"lower_bound", "Lower bound at the end"},
                       {"lower_bound_sd", "Sd over repetitions"},
                       {"factor_share_percent", "Variance carried by factors %"},
                       {"remark", "Against mean-field", false}},
                      {}};
  const MeanSd reference = curves.front().end();
  for (const MethodCurves& method : curves)
    table.rows.push_back(
        {method.method.label, decimals(method.end().mean, 1), decimals(method.end().sd, 1),
         decimals(100 * method.factor_share, 1),
         &method == &curves.front() ? "" : compare_bounds(ends(method.ends, reference.mean), reference)});
  return table;
}

std::vector<report::Panel> panels(const std::vector<MethodCurves>& curves) {
  std::vector<CurveBand> shown;
  for (const MethodCurves& method : curves)
    if (method.method.id != literal_stiefel_adadelta().id) shown.push_back(method.curve);
  const report::Range y = shared_range(shown);
  const CurveBand& reference = curves.front().curve;
  std::vector<report::Panel> out;
  for (const MethodCurves& method : curves) {
    if (method.method.family == FamilyKind::kMeanField) continue;
    const CurveBand& c = method.curve;
    report::Panel panel{
        .name = "lower-bound-" + method.method.id,
        .title = method.method.label,
        .x_label = "iteration",
        .y_label = "lower bound",
        .description =
            fmt::format("Lower bound of {} by iteration, ending at {}, sd {}.", method.method.label,
                        decimals(method.end().mean, 1), decimals(method.end().sd, 1)),
        .series = {{"one sd", report::colour::kGrey, report::Mark::band, c.iteration, c.mean, c.low, c.high},
                   {"mean-field",
                    report::colour::kBlue,
                    report::Mark::dashed,
                    reference.iteration,
                    reference.mean,
                    {},
                    {}},
                   {"mean", report::colour::kVermillion, report::Mark::line, c.iteration, c.mean, {}, {}}},
        .x_range = report::Range{0, c.iteration.empty() ? 1 : c.iteration.back()},
        .y_range = y};
    out.push_back(std::move(panel));
  }
  return out;
}

std::string what_was_run(const Ionosphere& experiment) {
  const IonosphereSettings& s = experiment.config();
  return fmt::format(
      "Logistic regression, N(0, {}) on every coefficient, 351 radar returns, 34 attributes expanded to {} "
      "indicators by "
      "MDLP. {} folds ({}), p = {}, {} iterations, one draw each, alpha .05, beta .95, epsilon 1e-6; mu, d1 "
      "and d2 by "
      "ADADELTA, which the paper leaves open. Start, which the paper does not print: mu = 0, d2 = {}, d1 (or "
      "the length of "
      "B's columns, where B is free) = {}, B at random. Seconds are of one processor core, all folds "
      "together.",
      s.prior_variance, experiment.columns(), experiment.folds(),
      experiment.folds_given() ? "as given in a file" : "stratified, from the seed", s.rank, s.iterations,
      s.start.residual_scale, s.start.factor_scale);
}

}  // namespace

std::vector<std::string> Ionosphere::write(const Journal& journal,
                                           const std::filesystem::path& folder) const {
  const auto curves = method_curves(journal, settings_);
  const report::Table errors = error_table(*this, journal), cuts = cuts_table(*this, journal),
                      bounds = bound_table(curves);
  report::save(errors, folder);
  report::save(cuts, folder, "cuts");
  report::save(bounds, folder, "lower-bounds");
  const auto figures = panels(curves);
  const std::string complaint = report::draw(figures, folder / "figures");

  std::string html = report::heading(2, "Ionosphere", "ionosphere") + report::paragraph(what_was_run(*this));
  html += report::heading(3, "Error rates and time") + errors.html();
  html += report::bullet_list(ionosphere_remarks());
  html += report::heading(3, "The honest variant: cuts fitted inside each training fold") +
          report::paragraph(fmt::format(
              "MDLP on all rows sees the labels of the rows it is tested on. With cuts from each fold's "
              "training rows alone "
              "the expansions have {} columns, and the test errors are what a user would see on new data.",
              fmt::join(fold_columns(), ", "))) +
          cuts.html();
  html += report::heading(3, "Lower bounds") +
          report::paragraph(fmt::format("All rows, {} repetitions with seeds of their own. The line is the "
                                        "mean over repetitions, the band one standard "
                                        "deviation; each point averages the single-draw estimates of {} "
                                        "iterations. All panels share their scales.",
                                        settings_.repetitions, settings_.window)) +
          report::html(figures, folder / "figures") + bounds.html();
  io::write_text(folder / "section.html", [&](std::ostream& out) { out << html; });
  return complaint.empty() ? std::vector<std::string>{} : std::vector{complaint};
}

}  // namespace magva::experiments
