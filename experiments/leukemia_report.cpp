// The tables and figures of the leukemia experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/leukemia_results.hpp"
#include "experiments/paper.hpp"
#include "experiments/section.hpp"

namespace magva::experiments {

namespace {

using report::decimals;

std::string errors_of(double mean, Index rows) {
  const bool whole = std::abs(mean - std::round(mean)) < 1e-9;
  return fmt::format("{}/{}", decimals(mean, whole ? 0 : 1), rows);
}

std::string span(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low == *high ? decimals(*low, 0) : fmt::format("{}-{}", decimals(*low, 0), decimals(*high, 0));
}

report::Table error_table(const LeukemiaResults& results, const LeukemiaVariant& variant) {
  report::Table table{{{"method", "Method", false},
                       {"training_errors", "Training errors"},
                       {"training_errors_paper", "Paper"},
                       {"test_errors", "Test errors"},
                       {"test_errors_range", "over seeds"},
                       {"test_errors_paper", "Paper"},
                       {"seconds", "Seconds"},
                       {"seconds_paper", "Paper"},
                       {"times_faster", "Times faster"},
                       {"lower_bound", "Lower bound"},
                       {"remark", "Test errors, in a word", false}},
                      {}};
  const Index training_rows = results.experiment().data().training_y.size(),
              test_rows = results.experiment().data().test_y.size();
  for (const Method& method : variant.methods) {
    const LeukemiaOutcome ours = results.outcome(variant, method, results.settings().iterations);
    const auto paper = paper_leukemia(method.id);
    const double test = mean_sd(ours.test).mean;
    table.rows.push_back({method.label, errors_of(mean_sd(ours.training).mean, training_rows),
                          errors_of(paper->training, 38), errors_of(test, test_rows), span(ours.test),
                          errors_of(paper->test, 34), decimals(ours.seconds.mean, 1),
                          decimals(paper->seconds, 0), decimals(paper->seconds / ours.seconds.mean, 0),
                          decimals(ours.elbo.mean, 0), compare_errors(test, paper->test)});
  }
  table.rows.push_back({slang().label, "-", "-", "-", "", "-", "-", "-", "", "",
                        "needs a Gaussian prior; the paper's did not end"});
  return table;
}

/// Errors, bound and log tau as the fits go on.
report::Table course_table(const LeukemiaResults& results) {
  report::Table table{{{"start", "Log tau from"},
                       {"method", "Method", false},
                       {"iteration", "Iteration"},
                       {"training_errors", "Training errors"},
                       {"test_errors", "Test errors"},
                       {"aml_called_all", "of them AML called ALL"},
                       {"lower_bound", "Lower bound"},
                       {"log_tau", "Mean of log tau"}},
                      {}};
  for (const LeukemiaVariant& variant : Leukemia::variants()) {
    if (variant.longest <= 1) continue;
    for (const Method& method : variant.methods)
      for (const std::int64_t iteration : results.experiment().checkpoints(variant, method)) {
        const LeukemiaOutcome at = results.outcome(variant, method, iteration);
        table.rows.push_back({decimals(variant.start_log_tau, 0), method.label, fmt::format("{}", iteration),
                              span(at.training), span(at.test), span(at.aml_called_all),
                              decimals(at.elbo.mean, 0), decimals(at.log_tau.mean, 2)});
      }
  }
  return table;
}

const char* colour_of(std::size_t i) {
  static constexpr const char* colours[] = {report::colour::kPurple, report::colour::kOrange,
                                            report::colour::kBlue, report::colour::kVermillion};
  return colours[i % 4];
}

/// The methods that every variant follows past the paper's iterations.
std::vector<Method> followed() { return Leukemia::followed_methods(); }

/// One row of panels, one panel per start of log tau: something by iteration, for each method and seed.
template <typename Value>
std::vector<report::Panel> course_panels(const LeukemiaResults& results, const std::string& name,
                                         const std::string& y_label, const Value& value) {
  std::vector<report::Panel> out;
  double low = INFINITY, high = -INFINITY;
  for (const LeukemiaVariant& variant : Leukemia::variants()) {
    if (variant.longest <= 1) continue;
    const auto iterations = results.experiment().checkpoints(variant, followed().front());
    report::Panel panel{.name = fmt::format("{}-{}", name, variant.id),
                        .title = fmt::format("log tau from {}", variant.start_log_tau),
                        .x_label = "iteration",
                        .y_label = y_label,
                        .description = fmt::format("By iteration, {}: {}.", variant.label, y_label),
                        .x_range = report::Range{0, static_cast<double>(iterations.back())},
                        .key_below = true,
                        .width = 400,
                        .height = 300};
    const auto methods = followed();
    for (std::size_t m = 0; m < methods.size(); ++m)
      for (Index r = 0; r < results.settings().repetitions; ++r) {
        report::Series series{r == 0 ? methods[m].label : "", colour_of(m), report::Mark::line, {}, {}};
        for (const Json& at : results.run(variant, methods[m], r).at("at")) {
          series.x.push_back(number(at.at("iteration")));
          series.y.push_back(value(at));
          if (!std::isfinite(series.y.back())) continue;
          low = std::min(low, series.y.back());
          high = std::max(high, series.y.back());
        }
        panel.series.push_back(std::move(series));
      }
    out.push_back(std::move(panel));
  }
  const double margin = .05 * std::max(high - low, 1.);
  for (report::Panel& panel : out) panel.y_range = report::Range{low - margin, high + margin};
  return out;
}

std::vector<report::Panel> bound_panels(const LeukemiaResults& results) {
  const LeukemiaVariant& variant = Leukemia::variants().front();
  std::vector<report::Panel> out;
  std::vector<CurveBand> shown;
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann}) {
    report::Panel panel{.name = fmt::format("lower-bound-{}", name(manifold)),
                        .title = manifold == FamilyKind::kStiefel ? "Stiefel" : "Grassmann",
                        .x_label = "iteration",
                        .y_label = "lower bound",
                        .description = "Lower bounds by iteration, one line per rule, with mean-field's.",
                        .key_below = true,
                        .width = 560,
                        .height = 380};
    const auto add = [&](const Method& method, const char* colour, report::Mark mark) {
      shown.push_back(band(results.curves(variant, method), results.settings().window));
      panel.series.push_back({method.id == "mean-field" ? "mean-field" : method.label, colour, mark,
                              shown.back().iteration, shown.back().mean});
    };
    add(mean_field(), report::colour::kGrey, report::Mark::dashed);
    const auto methods = rules_on(manifold);
    for (std::size_t i = 0; i < methods.size(); ++i) add(methods[i], colour_of(i), report::Mark::line);
    panel.x_range = report::Range{0, variant.longest * static_cast<double>(results.settings().iterations)};
    out.push_back(std::move(panel));
  }
  for (report::Panel& panel : out) panel.y_range = shared_range(shown);
  return out;
}

report::Table default_table(const LeukemiaResults& results) {
  report::Table table{{{"standardised_over", "Standardised over", false},
                       {"training_errors", "Training errors"},
                       {"test_errors", "Test errors"},
                       {"lower_bound", "Lower bound"},
                       {"log_tau", "Mean of log tau"},
                       {"seconds", "Seconds"},
                       {"detail", "Why it stopped", false}},
                      {}};
  for (const Standardisation standardisation : results.settings().default_fits) {
    const Json& run = results.default_run(standardisation);
    table.rows.push_back(
        {standardisation == Standardisation::all_samples ? "all 72 samples" : "38 training samples",
         errors_of(static_cast<double>(run.at("training").size()),
                   results.experiment().data().training_y.size()),
         errors_of(static_cast<double>(run.at("test").size()), results.experiment().data().test_y.size()),
         decimals(number(run.at("elbo")), 0), decimals(number(run.at("log_tau")), 2),
         decimals(number(run.at("seconds")), 1), run.at("detail").get<std::string>()});
  }
  return table;
}

std::string what_was_run(const Leukemia& experiment) {
  const LeukemiaSettings& s = experiment.config();
  const Index probes = experiment.data().training_x.cols() - 1;
  return fmt::format(
      "Logistic regression with a horseshoe prior on {} probes ({} parameters), {} training and {} test "
      "samples, "
      "standardised as in the LIBSVM collection ({}): per sample, then per probe over training and test "
      "samples together. The "
      "paper's 7120 probes could not be told from these. p = {}, {} iterations as in the paper, and further; "
      "{} "
      "seed{}. Start, which the paper does not print: d2 = {}, d1 = {}, the intercept at the log odds of the "
      "classes, other "
      "coefficients 0, log tau as said. Classes of the non-centred form are by the mean probability of {} "
      "draws.",
      probes, 2 * probes + 2, experiment.data().training_y.size(), experiment.data().test_y.size(),
      experiment.data().source, s.rank, s.iterations, s.repetitions, s.repetitions == 1 ? "" : "s",
      s.start.residual_scale, s.start.factor_scale, s.predictive_draws);
}

/// What the course of errors and bound says, from its own figures.
std::string what_the_course_means(const LeukemiaResults& results) {
  const LeukemiaVariant& variant = Leukemia::variants().front();
  const Method method = rules_on(FamilyKind::kStiefel)[2];
  const auto iterations = results.experiment().checkpoints(variant, method);
  const LeukemiaOutcome now = results.outcome(variant, method, results.settings().iterations),
                        last = results.outcome(variant, method, iterations.back());
  const double change = mean_sd(last.test).mean - mean_sd(now.test).mean,
               rise = last.elbo.mean - now.elbo.mean;
  std::string text = fmt::format(
      "{} from log tau = 2: after {} iterations {} test errors, a bound of {:.0f} and log tau at {:.2f}; "
      "after {} iterations {}, {:.0f} "
      "and {:.2f}. ",
      method.label, results.settings().iterations, span(now.test), now.elbo.mean, now.log_tau.mean,
      iterations.back(), span(last.test), last.elbo.mean, last.log_tau.mean);
  if (rise > 10 && change >= 1)
    text +=
        "The bound rises while the classifier gets worse: the error rate is a property of when the run is "
        "stopped, not of the method.";
  else if (rise > 10)
    text += "The bound is still rising: the fit has not converged when the paper stops it.";
  else
    text += "The bound does not rise further.";
  return text;
}

}  // namespace

std::vector<std::string> Leukemia::write(const Journal& journal, const std::filesystem::path& folder) const {
  const LeukemiaResults results(*this, journal);
  Section section(folder, "Leukemia", "leukemia", what_was_run(*this));
  section.part("Table 3: log tau from 2, " + fmt::format("{} iterations", settings_.iterations),
               "Errors are means over seeds. Seconds are of one processor core, for one fit.");
  section.table(error_table(results, variants().front()), "table");
  section.part("The error rate over the iterations", what_the_course_means(results));
  const auto count = [](const char* field) {
    return [field](const Json& at) { return static_cast<double>(at.at(field).size()); };
  };
  const auto value = [](const char* field) {
    return [field](const Json& at) { return number(at.at(field)); };
  };
  section.panels(course_panels(results, "test-errors", "test errors", count("test")));
  section.panels(course_panels(results, "bound", "lower bound", value("elbo")));
  section.panels(course_panels(results, "log-tau", "mean of log tau", value("log_tau")));
  section.table(course_table(results), "course");
  section.part("magva's default on the same model",
               "Searches, a low-rank fit to the curvature and natural gradients, to convergence, without any "
               "setting.");
  section.table(default_table(results), "default");
  for (const LeukemiaVariant& variant : variants()) {
    if (variant.longest > 1) continue;
    section.part("Horseshoe " + variant.label,
                 variant.standardisation == Standardisation::training_samples
                     ? "The published data are standardised per probe over all 72 samples, test samples "
                       "included. Here each probe's mean and "
                       "sd are those of the 38 training samples."
                     : "The coefficients themselves as coordinates.");
    section.table(error_table(results, variant), "table-" + variant.id);
  }
  section.part("Lower bounds by iteration", "Log tau from 2; means over seeds.");
  section.panels(bound_panels(results));
  save_claims(leukemia_claims(results), folder);
  return section.write();
}

}  // namespace magva::experiments
