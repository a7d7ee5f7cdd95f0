// The tables and figures of the simulation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "experiments/paper.hpp"
#include "experiments/rank_example.hpp"
#include "experiments/section.hpp"
#include "experiments/simulation_results.hpp"
#include "report/figure.hpp"

namespace magva::experiments {

namespace {

using report::decimals;
constexpr double kRoomForFailure = 120;  // nats below mean-field that the panels of fixed rank show

const char* rank_colour(std::size_t i) {
  static constexpr const char* colours[] = {report::colour::kOrange, report::colour::kBlue,
                                            report::colour::kGreen};
  return colours[i % 3];
}

report::Table bound_table(const SimulationResults& results, const std::vector<Method>& methods) {
  const SimulationSettings& s = results.settings();
  const MeanSd reference = results.mean_field_bound(kPrinted);
  report::Table table{{{"method", "Method", false}}, {}};
  for (const Index p : s.ranks) {
    table.columns.push_back(
        {fmt::format("lower_bound_p{}_half", p), fmt::format("p = {}, after {}", p, s.iterations / 2)});
    table.columns.push_back({fmt::format("lower_bound_p{}", p), fmt::format("after {}", s.iterations)});
    table.columns.push_back({fmt::format("lower_bound_p{}_sd", p), "sd"});
    table.columns.push_back({fmt::format("remark_p{}", p), "against mean-field", false});
  }
  std::vector<std::string> first{mean_field().label};
  for (std::size_t i = 0; i < s.ranks.size(); ++i)
    first.insert(first.end(), {decimals(results.mean_field_bound(kPrinted, "elbo_half").mean, 1),
                               decimals(reference.mean, 1), decimals(reference.sd, 1), ""});
  table.rows.push_back(first);
  for (const Method& method : methods) {
    std::vector<std::string> row{method.label};
    for (const Index p : s.ranks) {
      const Ends end = results.bound(kPrinted, method, p);
      row.insert(row.end(),
                 {decimals(results.bound(kPrinted, method, p, "elbo_half").kept.mean, 1),
                  decimals(end.kept.mean, 1), decimals(end.kept.sd, 1), compare_bounds(end, reference)});
    }
    table.rows.push_back(row);
  }
  return table;
}

report::Table prior_table(const SimulationResults& results) {
  const SimulationSettings& s = results.settings();
  report::Table table{{{"method", "Method, minus mean-field", false}}, {}};
  const std::pair<WeibullSupport, const char*> supports[] = {{kPrinted, "1/tau^2 > 1"},
                                                             {WeibullSupport::positive, "1/tau^2 > 0"}};
  for (const auto& [support, words] : supports)
    for (const Index p : s.ranks)
      table.columns.push_back({fmt::format("gap_{}_p{}", support == kPrinted ? "printed" : "positive", p),
                               fmt::format("{}, p = {}", words, p)});
  for (const Method& method : Simulation::prior_methods()) {
    std::vector<std::string> row{method.label};
    for (const auto& [support, words] : supports)
      for (const Index p : s.ranks)
        row.push_back(decimals(
            results.bound(support, method, p).kept.mean - results.mean_field_bound(support).mean, 1));
    table.rows.push_back(row);
  }
  return table;
}

report::Table convergence_table(const SimulationResults& results) {
  report::Table table{{{"method", "Method", false},
                       {"p", "p"},
                       {"iterations_to_own_end", "Iterations to within 3 nats of its own end"},
                       {"iterations_to_mean_field", "to within 3 nats of mean-field's end"},
                       {"oscillation", "Oscillation, nats"},
                       {"microseconds", "Microseconds per iteration"}},
                      {}};
  const auto add = [&](const Method& method, Index p) {
    table.rows.push_back(
        {method.label, fmt::format("{}", p), iterations_or_never(results.iterations_to_own_end(method, p)),
         iterations_or_never(results.iterations_to_mean_field(method, p)),
         decimals(results.mean_oscillation(method, p), 2), decimals(results.microseconds(method, p), 1)});
  };
  add(mean_field(), 0);
  for (const FamilyKind manifold : Simulation::manifolds())
    for (const Method& method : rules_on(manifold))
      for (const Index p : results.settings().ranks) add(method, p);
  return table;
}

report::Table robustness_table(const SimulationResults& results) {
  const SimulationSettings& s = results.settings();
  report::Table table{{{"method", "Method", false}, {"p", "p"}}, {}};
  for (const double a : s.outlier_scales)
    table.columns.push_back({fmt::format("rmse_a{}", a), fmt::format("rmse, a = {}", a)});
  for (const double a : s.outlier_scales)
    table.columns.push_back({fmt::format("turning_a{}", a), fmt::format("at turning points, a = {}", a)});
  for (std::size_t i = 1; i < s.outlier_scales.size(); ++i)
    table.columns.push_back({fmt::format("shift_a{}", s.outlier_scales[i]),
                             fmt::format("moved by outliers, a = {}", s.outlier_scales[i])});
  const auto add = [&](const Method& method, Index p) {
    std::vector<std::string> row{method.label, fmt::format("{}", p)};
    for (const char* what : {"rmse", "turning", "shift"})
      for (std::size_t i = std::string(what) == "shift" ? 1 : 0; i < s.outlier_scales.size(); ++i)
        row.push_back(decimals(mean_sd(results.robustness(method, p, what, i)).mean, 3));
    table.rows.push_back(row);
  };
  add(mean_field(), 0);
  for (const Method& method : manifold_methods())
    for (const Index p : s.ranks) add(method, p);
  return table;
}

/// The panels of one row of the paper's Figure 1a.
std::vector<report::Panel> bound_panels(const SimulationResults& results, const std::vector<Method>& methods,
                                        std::int64_t iterations, double room_below) {
  const SimulationSettings& s = results.settings();
  const CurveBand reference = until(band(results.curves(mean_field(), 0), s.window), iterations);
  std::vector<CurveBand> shown{reference};
  std::vector<report::Panel> out;
  for (const Method& method : methods) {
    report::Panel panel{.name = "lower-bound-" + method.id,
                        .title = method.label,
                        .x_label = "iteration",
                        .y_label = "lower bound",
                        .description = fmt::format(
                            "Lower bound of {} by iteration for each number of factors.", method.label),
                        .series = {{"p = 0", report::colour::kPurple, report::Mark::dashed,
                                    reference.iteration, reference.mean}},
                        .x_range = report::Range{0, static_cast<double>(iterations)},
                        .key_below = true};
    for (std::size_t i = 0; i < s.ranks.size(); ++i) {
      const CurveBand curve = until(band(results.curves(method, s.ranks[i]), s.window), iterations);
      panel.series.push_back({fmt::format("p = {}", s.ranks[i]), rank_colour(i), report::Mark::line,
                              curve.iteration, curve.mean});
      if (room_below == 0) shown.push_back(curve);
    }
    out.push_back(std::move(panel));
  }
  report::Range y = shared_range(shown, .1);
  y.first -= room_below;
  for (report::Panel& panel : out) panel.y_range = y;
  return out;
}

std::vector<double> list(const Vector& values) { return {values.begin(), values.end()}; }

std::vector<report::Panel> fit_panels(const Simulation& experiment, const Journal& journal) {
  const SimulationSettings& settings = experiment.config();
  const std::vector<double> grid = list(Simulation::grid());
  std::vector<double> truth;
  for (const double x : grid) truth.push_back(std::sin(4 * std::numbers::pi * x));
  std::vector<report::Panel> out;
  for (const Method& method : manifold_methods()) {
    report::Panel panel{.name = "fit-" + method.id,
                        .title = method.label,
                        .x_label = "x",
                        .y_label = "g(x)",
                        .description = fmt::format(
                            "The data, the true function and the functions fitted by {}.", method.label),
                        .series = {{"", "#b5b5b5", report::Mark::points, list(experiment.data().x),
                                    list(experiment.data().y)},
                                   {"true", "#111111", report::Mark::line, grid, truth}},
                        .x_range = report::Range{0, 1},
                        .y_range = report::Range{-2.2, 2.2},
                        .key_below = true};
    const auto add = [&](const Method& fitted, Index rank, const char* colour, report::Mark mark) {
      panel.series.push_back({fmt::format("p = {}", rank), colour, mark, grid,
                              numbers(journal.at(Simulation::key(kPrinted, fitted, rank, 0))["fit"])});
    };
    add(mean_field(), 0, report::colour::kPurple, report::Mark::dashed);
    for (std::size_t i = 0; i < settings.ranks.size(); ++i)
      add(method, settings.ranks[i], rank_colour(i), report::Mark::line);
    out.push_back(std::move(panel));
  }
  return out;
}

/// The error of the fitted function by the variance of the outliers.
std::vector<report::Panel> robustness_panels(const SimulationResults& results) {
  const SimulationSettings& s = results.settings();
  std::vector<report::Panel> out;
  Extent shown;
  for (const Index p : s.ranks) {
    report::Panel panel{
        .name = fmt::format("robustness-p{}", p),
        .title = fmt::format("p = {}", p),
        .x_label = "log10 of a",
        .y_label = "rmse of the fit",
        .description = fmt::format("Error of the fitted functions by the outliers' variance, p = {}.", p),
        .y_range = {},
        .key_below = true};
    std::vector<double> x;
    for (const double a : s.outlier_scales) x.push_back(std::log10(a));
    const auto add = [&](const std::string& title, const char* colour, report::Mark mark,
                         const Method& method, Index rank) {
      std::vector<double> y;
      for (std::size_t i = 0; i < x.size(); ++i)
        y.push_back(mean_sd(results.robustness(method, rank, "rmse", i)).mean);
      for (const double value : y) shown.add(value);
      panel.series.push_back({title, colour, mark, x, y});
    };
    add("mean-field", report::colour::kPurple, report::Mark::dashed, mean_field(), 0);
    add("S-RMSProp", report::colour::kBlue, report::Mark::line, rules_on(FamilyKind::kStiefel)[2], p);
    add("G-RMSProp", report::colour::kVermillion, report::Mark::line, rules_on(FamilyKind::kGrassmann)[2], p);
    out.push_back(std::move(panel));
  }
  if (shown.low < shown.high)
    for (report::Panel& panel : out) {
      panel.x_range =
          report::Range{std::log10(s.outlier_scales.front()), std::log10(s.outlier_scales.back())};
      panel.y_range = report::Range{.95 * shown.low, 1.05 * shown.high};
    }
  return out;
}

std::string what_was_run(const SimulationSettings& s) {
  return fmt::format(
      "{} points with x uniform on (0, 1) and y = sin(4 pi x) + noise of sd {}; {:.0f} % outliers with {} "
      "times that "
      "variance. P-spline of 25 cubic B-splines, outlier mixture likelihood (28 parameters), p = 0, 3, 6 and "
      "10, {} "
      "repetitions of {} iterations. The prior's support is the printed one, 1/tau^2 > 1, normalised there; "
      "the "
      "whole Weibull distribution is shown beside it. Hyper-parameters, which the paper does not print: "
      "a_tau = .5, b_tau = "
      ".0088, alpha0 = beta0 = .01. Start, which it does not print either: spline coefficients at the mean "
      "response, "
      "other coordinates 0, d2 = {}, d1 (or the length of B's columns, if B is free) = {}, B at random. mu, "
      "d1 and d2 by "
      "ADADELTA unless 'plain SGD' is said.",
      s.samples, s.noise_sd, 100 * s.outlier_share, s.outlier_scale, s.repetitions, s.iterations,
      s.start.residual_scale, s.start.factor_scale);
}

std::string what_diverges_means() {
  return fmt::format(
      "A run diverges if its lower bound is not finite or ends {:.0f} nats or more below mean-field's mean; "
      "such runs "
      "are counted and left out of the means. 'Same' is within two standard errors, or a tenth.",
      kDivergenceGap);
}

std::vector<Method> plain_sgd_methods() {
  std::vector<Method> out;
  for (const Method& method : manifold_methods()) out.push_back(with_plain_sgd(method));
  return out;
}

std::vector<Method> main_methods() {
  std::vector<Method> out = Simulation::bound_methods();
  std::erase_if(out, [](const Method& method) { return method.id.ends_with("-sgd"); });
  return out;
}

}  // namespace

namespace {

void write_lower_bounds(Section& section, const SimulationResults& results) {
  const std::int64_t all = results.settings().iterations, half = all / 2;
  section.part(
      "Figure 1a, fixed rank",
      fmt::format(
          "B free, of full rank, up to a rotation; the paper's {} iterations and its step, .05. Curves "
          "that are not in the frame lie below it, or are not finite.",
          half));
  section.panels(bound_panels(results, rules_on(FamilyKind::kFixedRank), half, kRoomForFailure));
  section.part(
      "Fixed rank with smaller steps",
      fmt::format("The same geometry with a step of .0005, and with AdaDelta whose accumulators are not "
                  "projected, over {} iterations.",
                  all));
  section.panels(bound_panels(results, fixed_rank_with_small_steps(), all, kRoomForFailure));
  section.part(
      "Figure 1a, Stiefel",
      fmt::format("B with orthonormal columns, their scales d1 learnt; the paper's {} iterations.", all));
  section.panels(bound_panels(results, rules_on(FamilyKind::kStiefel), all, 0));
  section.part(
      "Figure 1a, Grassmann",
      fmt::format("B with orthonormal columns up to a rotation, every scale fixed at 1; the paper's {} "
                  "iterations.",
                  half));
  section.panels(bound_panels(results, rules_on(FamilyKind::kGrassmann), half, 0));
  section.part("Lower bounds",
               "The paper prints no numbers here. Means over repetitions, each from fresh draws of the "
               "fitted Gaussian. " +
                   what_diverges_means() +
                   " 'Decaying steps' shows what the family can do: Adam with decaying steps, ten draws per "
                   "iteration, "
                   "averaged iterates.");
  section.table(bound_table(results, main_methods()), "table");
  section.part("Plain SGD for mu, d1 and d2",
               "\"Euclidean SGD rules\" is all that the paper says of these blocks. Read literally, with its "
               "step of .05:");
  section.table(bound_table(results, plain_sgd_methods()), "plain-sgd");
  section.part("The support of the prior",
               "Lower bound minus mean-field's. The paper prints 1/tau^2 > 1; the Weibull distribution as "
               "such allows all "
               "positive values.");
  section.table(prior_table(results), "prior");
}

void write_convergence(Section& section, const SimulationResults& results) {
  section.part(
      "Convergence, oscillation, time",
      fmt::format(
          "Medians over repetitions. A curve is the mean of single-draw estimates over {} iterations; it "
          "has converged when its average over 100 iterations is within {:.0f} nats of the mean of its last "
          "tenth. Oscillation is the sd of the change from one such point to the next in the last fifth, "
          "over sqrt 2. Times are processor time and depend on the machine.",
          results.settings().window, kConvergedWithin));
  section.table(convergence_table(results), "convergence");
}

void write_fits(Section& section, const Simulation& experiment, const Journal& journal,
                const SimulationResults& results) {
  const SimulationSettings& s = experiment.config();
  section.part("Figure 1b, fitted functions",
               fmt::format("After {} iterations, first repetition. Points beyond the frame are not shown.",
                           s.iterations / 2));
  section.panels(fit_panels(experiment, journal));
  section.part(
      "Robustness",
      fmt::format(
          "{} further data sets, the same x and noise for every variance ratio a; {} iterations. Errors are "
          "against sin(4 pi x); 'turning points' is within .04 of its maxima and minima; 'moved by outliers' "
          "is the rms change of the fit from a = {} to a.",
          s.data_sets, s.iterations / 2, s.outlier_scales.front()));
  section.panels(robustness_panels(results));
  section.table(robustness_table(results), "robustness");
}

}  // namespace

std::vector<std::string> Simulation::write(const Journal& journal,
                                           const std::filesystem::path& folder) const {
  const SimulationResults results(*this, journal);
  Section section(folder, "Simulation", "simulation", what_was_run(settings_));
  write_lower_bounds(section, results);
  write_convergence(section, results);
  write_fits(section, *this, journal, results);
  section.part("The paper's example of a rank-deficient step (section 2.1)", describe(rank_example()));
  save_claims(simulation_claims(results), folder);
  return section.write();
}

}  // namespace magva::experiments
