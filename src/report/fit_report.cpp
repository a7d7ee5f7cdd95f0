#include "report/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "magva/diagnostics.hpp"
#include "report/check_figures.hpp"
#include "report/fit_figures.hpp"
#include "report/page.hpp"
#include "report/regression_figures.hpp"
#include "report/table.hpp"

namespace magva::report {

namespace {

using results::FitRecord;

std::string number(const std::optional<double>& value, int places) {
  return value ? decimals(*value, places) : "not known";
}

std::string sentence_case(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Table facts(const FitRecord& r) {
  Table table{{{"what", "", false}, {"value", "", false}}, {}};
  const auto add = [&](std::string what, std::string value) {
    table.rows.push_back({std::move(what), std::move(value)});
  };
  add("Data", fmt::format("{}: {} rows, {} columns", r.data.file, r.data.rows, r.data.columns));
  add("Family", fmt::format("{}, rank {}", r.family, r.rank));
  add("ELBO", fmt::format("{} (standard error {})", number(r.elbo, 2), number(r.elbo_se, 3)));
  if (r.khat) add("k-hat", fmt::format("{:.2f}: {}", *r.khat, describe_khat(*r.khat)));
  add("Stopped", fmt::format("{}: {}", r.stopped, r.stop_detail));
  add("Effort", fmt::format("{} iterations, {} gradient evaluations, {:.1f} s", r.iterations,
                            r.gradient_evaluations, r.seconds));
  if (r.rejected_draws > 0) add("Rejected draws", std::to_string(r.rejected_draws));
  return table;
}

std::string verdict(const FitRecord& r) {
  if (r.trusted.value_or(false))
    return r.warnings.empty() ? "No check speaks against this fit."
                              : "The fit is usable; the warnings say where to take care.";
  return r.warnings.empty() ? "This fit is not to be trusted yet."
                            : "This fit is not to be trusted; the warnings say why.";
}

Table parameter_table(const FitRecord& r, std::size_t shown) {
  Table table{{{"name", "Parameter", false},
               {"mean", "Mean"},
               {"sd", "Sd"},
               {"q05", "5 %"},
               {"q50", "50 %"},
               {"q95", "95 %"}},
              {}};
  std::vector<results::ParameterSummary> all = r.parameters;
  const auto distance = [](const auto& p) { return p.sd > 0 ? std::abs(p.mean) / p.sd : 0; };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return distance(a) > distance(b); });
  all.resize(std::min(shown, all.size()));
  for (const auto& p : all)
    table.rows.push_back({p.name, decimals(p.mean, 3), decimals(p.sd, 3), decimals(p.q05, 3),
                          decimals(p.q50, 3), decimals(p.q95, 3)});
  return table;
}

std::string check_words(const PredictiveCheck& check) {
  if (!check.scores) return check.missing;
  const prediction::Scores& s = *check.scores;
  std::string words = fmt::format("{}: {} rows, mean log score {:.4f}", check.source, s.rows, s.log_score);
  if (s.error_rate) words += fmt::format(", {:.2f} % of the likelier classes wrong", 100 * *s.error_rate);
  if (s.rmse) words += fmt::format(", root mean squared error {:.4g}", *s.rmse);
  if (s.coverage50 && s.coverage90)
    words += fmt::format("; 50 % intervals hold {:.1f} % of the responses, 90 % intervals {:.1f} %",
                         100 * *s.coverage50, 100 * *s.coverage90);
  return words + ". These rows made the fit: new rows will be predicted less well.";
}

struct Figures {
  std::vector<Panel> trace, intervals, priors, loadings, check, model_check, groups, smooths, predictors;
  std::vector<Panel> all() const {
    std::vector<Panel> together;
    for (const auto* group :
         {&trace, &intervals, &priors, &loadings, &check, &model_check, &groups, &smooths, &predictors})
      together.insert(together.end(), group->begin(), group->end());
    return together;
  }
};

}  // namespace

std::string write_fit_report(const results::StoredFit& fit, const PredictiveCheck& check,
                             const FitReportOptions& options, const std::filesystem::path& page,
                             const std::filesystem::path& folder) {
  const FitRecord& r = fit.record;
  const auto stored = results::load_check(fit.folder.path() / results::kCheckFile);
  const Figures figures{trace_panels(results::Trace::read(fit.folder.trace()).rows()),
                        interval_panels(fit, options),
                        prior_panels(r, options.parameters),
                        loading_panels(fit, options),
                        check_panels(check),
                        stored ? model_check_panels(*stored) : std::vector<Panel>{},
                        group_panels(fit),
                        smooth_panels(fit, check),
                        predictor_panels(fit, check)};
  const std::string complaint = draw(figures.all(), folder);
  PageText text{.title = sentence_case(r.model),
                .lead = paragraph(verdict(r)) + bullet_list(r.warnings) + facts(r).html(),
                .body = {}};
  if (!r.notes.empty()) text.lead += heading(3, "Notes on the data") + bullet_list(r.notes);
  if (!figures.trace.empty())
    text.body.push_back(
        heading(2, "How the fit went") +
        paragraph(
            "Estimates from the draws of the iterations, averaged over short windows. The first tenth of the "
            "run may lie below the frame.") +
        html(figures.trace, folder));
  text.body.push_back(heading(2, "Parameters") +
                      paragraph(fmt::format(
                          "{} in all. Those that differ most clearly from zero, by |mean| / sd, come first.",
                          r.parameters.size())) +
                      html(figures.intervals, folder) + html(figures.priors, folder) +
                      parameter_table(r, options.parameters).html());
  if (!figures.smooths.empty())
    text.body.push_back(heading(2, "Smooth terms") + html(figures.smooths, folder));
  if (!figures.groups.empty())
    text.body.push_back(heading(2, "Group effects") +
                        paragraph("The groups in order: how far each is from the population.") +
                        html(figures.groups, folder));
  if (stored)
    text.body.push_back(
        heading(2, "Does the model fit?") + paragraph(stored->check.describe()) +
        paragraph(
            "Each row is predicted from the others (leave-one-out). Where the model is right, the observed "
            "histogram lies inside the grey band, and so does the calibration curve.") +
        html(figures.model_check, folder));
  if (!figures.loadings.empty())
    text.body.push_back(
        heading(2, "Factors") +
        paragraph(
            "Each factor is a direction in which parameters vary together: those with loadings of the same "
            "sign rise together. Loadings are in the units of the coordinates that were fitted.") +
        html(figures.loadings, folder));
  text.body.push_back(heading(2, "Predictive check") + paragraph(check_words(check)) +
                      html(figures.check, folder) + html(figures.predictors, folder));
  save_page(text, page);
  return complaint;
}

}  // namespace magva::report
