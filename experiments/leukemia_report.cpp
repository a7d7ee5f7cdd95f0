// What is written about the leukemia experiment.
#include <fmt/format.h>

#include <cmath>

#include "core/atomic_file.hpp"
#include "experiments/leukemia.hpp"
#include "experiments/paper_figures.hpp"
#include "experiments/remarks.hpp"
#include "experiments/statistics.hpp"
#include "report/figure.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace magva::experiments {

namespace {

using report::decimals;

struct Outcomes {
  MeanSd training, test, elbo, seconds;
  CurveBand curve;
  Index training_rows, test_rows;
};

Outcomes outcomes(const Journal& journal, const LeukemiaSettings& settings,
                  const LeukemiaCoordinates& coordinates, const Method& method) {
  std::vector<double> training, test, elbo, seconds;
  std::vector<std::vector<double>> curves;
  Outcomes out{};
  for (Index r = 0; r < settings.repetitions; ++r) {
    const Json& run = journal.at(Leukemia::key(coordinates, method, r));
    training.push_back(number(run["training"][0]));
    test.push_back(number(run["test"][0]));
    elbo.push_back(number(run["elbo"]));
    seconds.push_back(number(run["seconds"]));
    curves.push_back(numbers(run["curve"]));
    out.training_rows = run["training"][1].get<Index>();
    out.test_rows = run["test"][1].get<Index>();
  }
  out.training = mean_sd(training);
  out.test = mean_sd(test);
  out.elbo = mean_sd(elbo);
  out.seconds = mean_sd(seconds);
  out.curve = band(curves, settings.window);
  return out;
}

std::string errors_of(double mean, Index rows) {
  const bool whole = std::abs(mean - std::round(mean)) < 1e-9;
  return fmt::format("{}/{}", decimals(mean, whole ? 0 : 1), rows);
}

report::Table error_table(const Journal& journal, const LeukemiaSettings& settings,
                          const LeukemiaCoordinates& coordinates) {
  report::Table table{{{"method", "Method", false},
                       {"training_errors", "Training errors"},
                       {"training_errors_paper", "Paper"},
                       {"test_errors", "Test errors"},
                       {"test_errors_paper", "Paper"},
                       {"seconds", "Seconds"},
                       {"seconds_paper", "Paper"},
                       {"times_faster", "Times faster"},
                       {"lower_bound", "Lower bound"},
                       {"remark", "Test errors, in a word", false}},
                      {}};
  for (const Method& method : engine_methods()) {
    const Outcomes ours = outcomes(journal, settings, coordinates, method);
    const auto paper = paper_leukemia(method.id);
    table.rows.push_back({method.label, errors_of(ours.training.mean, ours.training_rows),
                          paper ? errors_of(paper->training, 38) : "",
                          errors_of(ours.test.mean, ours.test_rows), paper ? errors_of(paper->test, 34) : "",
                          decimals(ours.seconds.mean, 1), paper ? decimals(paper->seconds, 0) : "",
                          paper ? decimals(paper->seconds / ours.seconds.mean, 0) : "",
                          decimals(ours.elbo.mean, 0),
                          paper ? compare_errors(ours.test.mean, paper->test) : ""});
  }
  table.rows.push_back({slang().label, "-", "-", "-", "-", "-", "-", "", "",
                        "needs a Gaussian prior; the paper's did not end"});
  return table;
}

std::vector<report::Panel> panels(const Journal& journal, const LeukemiaSettings& settings,
                                  const LeukemiaCoordinates& coordinates) {
  std::vector<report::Panel> out;
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann}) {
    report::Panel panel{.name = fmt::format("lower-bound-{}-{}", coordinates.id, name(manifold)),
                        .title = manifold == FamilyKind::kStiefel ? "Stiefel" : "Grassmann",
                        .x_label = "iteration",
                        .y_label = "lower bound",
                        .description = "Lower bounds by iteration, one line a rule, with mean-field's."};
    std::vector<CurveBand> shown;
    const auto add = [&](const Method& method, const char* colour, report::Mark mark,
                         const std::string& title) {
      shown.push_back(outcomes(journal, settings, coordinates, method).curve);
      panel.series.push_back({title, colour, mark, shown.back().iteration, shown.back().mean, {}, {}});
    };
    add(mean_field(), report::colour::kPurple, report::Mark::dashed, "mean-field");
    static constexpr const char* colours[] = {report::colour::kOrange, report::colour::kBlue,
                                              report::colour::kGreen, report::colour::kVermillion};
    const auto methods = rules_on(manifold);
    for (std::size_t i = 0; i < methods.size(); ++i)
      add(methods[i], colours[i], report::Mark::line, methods[i].label);
    panel.y_range = shared_range(shown);
    panel.x_range = report::Range{0, static_cast<double>(settings.iterations)};
    panel.width = 560;
    panel.height = 360;
    out.push_back(std::move(panel));
  }
  return out;
}

std::string what_was_run(const Leukemia& experiment) {
  const LeukemiaSettings& s = experiment.config();
  const Index probes = experiment.data().training_x.cols() - 1;
  return fmt::format(
      "Logistic regression with a horseshoe prior on {} probes ({} parameters), {} training and {} test "
      "samples, "
      "standardised as in the LIBSVM collection ({}); the paper's 7120 probes could not be told from these. "
      "p = {}, {} "
      "iterations, {} repetition{}. Start: d2 = {}, d1 = {}, coefficients 0. Classes of the non-centred form "
      "are by the mean probability of {} draws.",
      probes, 2 * probes + 2, experiment.data().training_y.size(), experiment.data().test_y.size(),
      experiment.data().source, s.rank, s.iterations, s.repetitions, s.repetitions == 1 ? "" : "s",
      s.start.residual_scale, s.start.factor_scale, s.predictive_draws);
}

}  // namespace

std::vector<std::string> Leukemia::write(const Journal& journal, const std::filesystem::path& folder) const {
  std::string html = report::heading(2, "Leukemia", "leukemia") + report::paragraph(what_was_run(*this)) +
                     report::bullet_list(leukemia_remarks());
  std::vector<report::Panel> all;
  for (const LeukemiaCoordinates& coordinates : settings_.coordinates)
    for (report::Panel& panel : panels(journal, settings_, coordinates)) all.push_back(std::move(panel));
  const std::string complaint = report::draw(all, folder / "figures");
  for (const LeukemiaCoordinates& coordinates : settings_.coordinates) {
    const report::Table table = error_table(journal, settings_, coordinates);
    const bool first = &coordinates == &settings_.coordinates.front();
    report::save(table, folder, first ? "table" : "table-" + coordinates.id);
    html += report::heading(3, "Horseshoe " + coordinates.label) + table.html() +
            report::html(panels(journal, settings_, coordinates), folder / "figures");
  }
  io::write_text(folder / "section.html", [&](std::ostream& out) { out << html; });
  return complaint.empty() ? std::vector<std::string>{} : std::vector{complaint};
}

}  // namespace magva::experiments
