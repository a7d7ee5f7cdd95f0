// What is written about the simulation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "core/atomic_file.hpp"
#include "experiments/remarks.hpp"
#include "experiments/simulation.hpp"
#include "experiments/statistics.hpp"
#include "report/figure.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace magva::experiments {

namespace {

using report::decimals;

constexpr double kRoomForFailure = 120;  // nats below mean-field that the panels of fixed rank show

struct Bounds {
  CurveBand curve;
  std::vector<double> ends;
};

Bounds bounds(const Journal& journal, const SimulationSettings& settings, const Method& method, Index rank) {
  std::vector<std::vector<double>> curves;
  std::vector<double> ends;
  for (Index r = 0; r < settings.repetitions; ++r) {
    const Json& run = journal.at(Simulation::key(method, rank, r));
    curves.push_back(numbers(run["curve"]));
    ends.push_back(number(run["elbo"]));
  }
  return {band(curves, settings.window), ends};
}

struct MethodBounds {
  Method method;
  std::vector<Bounds> by_rank;
};

std::vector<MethodBounds> all_bounds(const Journal& journal, const SimulationSettings& settings) {
  std::vector<MethodBounds> out;
  for (const FamilyKind manifold : Simulation::manifolds())
    for (const Method& method : Simulation::methods_on(manifold)) {
      out.push_back({method, {}});
      for (const Index rank : settings.ranks)
        out.back().by_rank.push_back(bounds(journal, settings, method, rank));
    }
  return out;
}

const char* rank_colour(std::size_t i) {
  static constexpr const char* colours[] = {report::colour::kOrange, report::colour::kBlue,
                                            report::colour::kGreen};
  return colours[i % 3];
}

report::Table bound_table(const SimulationSettings& settings, const std::vector<MethodBounds>& methods,
                          const MeanSd& reference) {
  report::Table table{{{"method", "Method", false}}, {}};
  for (const Index rank : settings.ranks) {
    table.columns.push_back({fmt::format("lower_bound_p{}", rank), fmt::format("p = {}", rank)});
    table.columns.push_back({fmt::format("lower_bound_p{}_sd", rank), "sd"});
    table.columns.push_back({fmt::format("remark_p{}", rank), "against mean-field", false});
  }
  std::vector<std::string> first{mean_field().label};
  for (std::size_t i = 0; i < settings.ranks.size(); ++i)
    first.insert(first.end(), {decimals(reference.mean, 1), decimals(reference.sd, 1), ""});
  table.rows.push_back(first);
  for (const MethodBounds& method : methods) {
    std::vector<std::string> row{method.method.label};
    for (const Bounds& at : method.by_rank) {
      const Ends end = ends(at.ends, reference.mean);
      row.insert(row.end(),
                 {decimals(end.kept.mean, 1), decimals(end.kept.sd, 1), compare_bounds(end, reference)});
    }
    table.rows.push_back(row);
  }
  return table;
}

/// Which of the paper's methods on the two manifolds do not reach what mean-field reaches.
std::string below_mean_field(const SimulationSettings& settings, const std::vector<MethodBounds>& methods,
                             const MeanSd& reference) {
  std::vector<std::string> below;
  for (const MethodBounds& method : methods) {
    if (method.method.family == FamilyKind::kFixedRank || method.method.optimiser != Optimiser::paper)
      continue;
    std::vector<Index> ranks;
    for (std::size_t i = 0; i < method.by_rank.size(); ++i)
      if (clearly_below(ends(method.by_rank[i].ends, reference.mean), reference))
        ranks.push_back(settings.ranks[i]);
    if (!ranks.empty())
      below.push_back(fmt::format("{} (p = {})", method.method.label, fmt::join(ranks, ", ")));
  }
  if (below.empty()) return "No method on Stiefel or Grassmann ends below mean-field.";
  return fmt::format("Below mean-field end: {}. Why is said under the table.", fmt::join(below, "; "));
}

std::vector<report::Panel> bound_panels(const SimulationSettings& settings,
                                        const std::vector<MethodBounds>& methods, const Bounds& reference,
                                        FamilyKind manifold) {
  std::vector<CurveBand> shown{reference.curve};
  for (const MethodBounds& method : methods)
    if (method.method.family == manifold && manifold != FamilyKind::kFixedRank)
      for (const Bounds& at : method.by_rank) shown.push_back(at.curve);
  report::Range y = shared_range(shown, .1);
  if (manifold == FamilyKind::kFixedRank) y.first -= kRoomForFailure;
  std::vector<report::Panel> out;
  for (const MethodBounds& method : methods) {
    if (method.method.family != manifold) continue;
    report::Panel panel{
        .name = "lower-bound-" + method.method.id,
        .title = method.method.label,
        .x_label = "iteration",
        .y_label = "lower bound",
        .description =
            fmt::format("Lower bound of {} by iteration for each number of factors.", method.method.label),
        .series = {{"p = 0",
                    report::colour::kPurple,
                    report::Mark::dashed,
                    reference.curve.iteration,
                    reference.curve.mean,
                    {},
                    {}}},
        .x_range = report::Range{0, static_cast<double>(settings.iterations)},
        .y_range = y,
        .key_below = true};
    for (std::size_t i = 0; i < method.by_rank.size(); ++i)
      panel.series.push_back({fmt::format("p = {}", settings.ranks[i]),
                              rank_colour(i),
                              report::Mark::line,
                              method.by_rank[i].curve.iteration,
                              method.by_rank[i].curve.mean,
                              {},
                              {}});
    out.push_back(std::move(panel));
  }
  return out;
}

std::vector<double> list(const Vector& values) { return {values.begin(), values.end()}; }

std::vector<report::Panel> fit_panels(const Simulation& experiment, const Journal& journal) {
  const SimulationSettings& settings = experiment.config();
  const std::vector<double> grid = list(Simulation::grid());
  std::vector<double> truth;
  for (const double x : grid) truth.push_back(std::sin(4 * std::numbers::pi * x));
  std::vector<report::Panel> out;
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (const Method& method : rules_on(manifold)) {
      report::Panel panel{.name = "fit-" + method.id,
                          .title = method.label,
                          .x_label = "x",
                          .y_label = "g(x)",
                          .description = fmt::format(
                              "The data, the true function and the functions fitted by {}.", method.label),
                          .series = {{"",
                                      "#b5b5b5",
                                      report::Mark::points,
                                      list(experiment.data().x),
                                      list(experiment.data().y),
                                      {},
                                      {}},
                                     {"true", "#111111", report::Mark::line, grid, truth, {}, {}}},
                          .x_range = report::Range{0, 1},
                          .y_range = report::Range{-2.2, 2.2},
                          .key_below = true};
      const auto add = [&](const Method& fitted, Index rank, const char* colour, report::Mark mark) {
        panel.series.push_back({fmt::format("p = {}", rank),
                                colour,
                                mark,
                                grid,
                                numbers(journal.at(Simulation::key(fitted, rank, 0))["fit"]),
                                {},
                                {}});
      };
      add(mean_field(), 0, report::colour::kPurple, report::Mark::dashed);
      for (std::size_t i = 0; i < settings.ranks.size(); ++i)
        add(method, settings.ranks[i], rank_colour(i), report::Mark::line);
      out.push_back(std::move(panel));
    }
  return out;
}

std::string what_was_run(const SimulationSettings& s) {
  return fmt::format(
      "{} points with x uniform on (0, 1) and y = sin(4 pi x) + noise of sd {}; {:.0f} % outliers with {} "
      "times that "
      "variance. P-spline of 25 cubic B-splines, outlier mixture likelihood (28 parameters), p = 0, 3, 6 and "
      "10, {} "
      "repetitions of {} iterations. Hyper-parameters, which the paper does not print: a_tau = .5, b_tau = "
      ".0088, alpha0 = "
      "beta0 = .01. Start: d2 = {}, d1 (or the length of B's columns, where B is free) = {}, B at random.",
      s.samples, s.noise_sd, 100 * s.outlier_share, s.outlier_scale, s.repetitions, s.iterations,
      s.start.residual_scale, s.start.factor_scale);
}

struct ManifoldSection {
  FamilyKind manifold;
  const char* title;
  const char* text;
};

constexpr ManifoldSection kSections[] = {
    {FamilyKind::kFixedRank, "Fixed rank: the paper's negative result",
     "B free, of full rank, up to a rotation. Curves that are not in the frame lie below it, or are not "
     "finite."},
    {FamilyKind::kStiefel, "Stiefel", "B with orthonormal columns, their scales d1 learnt."},
    {FamilyKind::kGrassmann, "Grassmann",
     "B with orthonormal columns up to a rotation, every scale fixed at 1."}};

}  // namespace

std::vector<std::string> Simulation::write(const Journal& journal,
                                           const std::filesystem::path& folder) const {
  const Bounds reference = bounds(journal, settings_, mean_field(), 0);
  const auto methods = all_bounds(journal, settings_);
  const report::Table table = bound_table(settings_, methods, mean_sd(reference.ends));
  report::save(table, folder);
  std::vector<report::Panel> all = fit_panels(*this, journal);
  const auto fits = all;
  std::string html =
      report::heading(2, "Simulation", "simulation") + report::paragraph(what_was_run(settings_));
  std::vector<std::vector<report::Panel>> rows;
  for (const ManifoldSection& section : kSections) {
    rows.push_back(bound_panels(settings_, methods, reference, section.manifold));
    all.insert(all.end(), rows.back().begin(), rows.back().end());
  }
  const std::string complaint = report::draw(all, folder / "figures");
  for (std::size_t i = 0; i < rows.size(); ++i)
    html += report::heading(3, kSections[i].title) + report::paragraph(kSections[i].text) +
            report::html(rows[i], folder / "figures");
  html += report::heading(3, "Lower bounds at the end") +
          report::paragraph(
              "The paper prints no numbers here. Means over repetitions, each from fresh draws of the fitted "
              "Gaussian. 'Same' is within two standard errors, or a tenth.") +
          report::paragraph(below_mean_field(settings_, methods, mean_sd(reference.ends))) + table.html() +
          report::bullet_list(simulation_remarks());
  html += report::heading(3, "Fitted functions") +
          report::paragraph(
              fmt::format("After {} iterations, first repetition. Points beyond the frame are not shown.",
                          std::min(settings_.fit_after, settings_.iterations))) +
          report::html(fits, folder / "figures");
  io::write_text(folder / "section.html", [&](std::ostream& out) { out << html; });
  return complaint.empty() ? std::vector<std::string>{} : std::vector{complaint};
}

}  // namespace magva::experiments
