#include "report/check_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace magva::report {

namespace {

constexpr std::size_t kMostPoints = 4000;  // of a scatter plot

/// Every so many rows, so that a figure stays small.
std::size_t stride_of(Index rows) { return (static_cast<std::size_t>(rows) + kMostPoints - 1) / kMostPoints; }

/// The share of rows whose probability is at most u, minus u: near 0 everywhere if predictions are
/// calibrated.
Panel calibration_panel(const results::StoredCheck& stored) {
  std::vector<double> pit(stored.check.pit.begin(), stored.check.pit.end());
  std::sort(pit.begin(), pit.end());
  const auto n = static_cast<double>(pit.size());
  Series band{"95 % if calibrated", colour::kGrey, Mark::band, {}, {}};
  Series curve{"", colour::kBlue, Mark::line, {}, {}};
  double furthest = 0;
  for (int k = 0; k <= 100; ++k) {
    const double u = k / 100.0;
    const auto at_most = static_cast<double>(std::upper_bound(pit.begin(), pit.end(), u) - pit.begin());
    const double half = 1.36 / std::sqrt(n);  // Kolmogorov's bound for all u at once
    band.x.push_back(u);
    band.y.push_back(0);
    band.low.push_back(std::max(-half, -u));
    band.high.push_back(std::min(half, 1 - u));
    curve.x.push_back(u);
    curve.y.push_back(at_most / n - u);
    furthest = std::max({furthest, std::abs(curve.y.back()), half});
  }
  Panel panel{.name = "pit",
              .title = "Calibration of predictive distributions",
              .x_label = "probability u",
              .y_label = "share of rows below u, minus u",
              .description =
                  "How far the shares of rows below each predictive quantile are from what they should be.",
              .series = {band, curve},
              .x_range = Range{0, 1},
              .y_range = Range{-1.15 * furthest, 1.15 * furthest}};
  panel.key_below = true;
  panel.width = 420;
  panel.height = 320;
  return panel;
}

/// Steps from bin to bin.
Panel histogram_panel(const results::StoredCheck& stored) {
  const PredictiveHistogram& h = stored.check.histogram;
  Series band{"simulated, 90 %", colour::kGrey, Mark::band, {}, {}};
  Series simulated{"simulated, median", colour::kGrey, Mark::dashed, {}, {}};
  Series observed{"observed", colour::kVermillion, Mark::line, {}, {}};
  for (Index b = 0; b < h.observed.size(); ++b)
    for (const double x : {h.edges(b), h.edges(b + 1)}) {
      band.x.push_back(x);
      band.y.push_back(h.median(b));
      band.low.push_back(h.low(b));
      band.high.push_back(h.high(b));
      simulated.x.push_back(x);
      simulated.y.push_back(h.median(b));
      observed.x.push_back(x);
      observed.y.push_back(h.observed(b));
    }
  Panel panel{.name = "predictive",
              .title = "Observed and simulated responses",
              .x_label = stored.response_name,
              .y_label = "rows",
              .description = "Histogram of the responses beside those of data sets that the model simulates.",
              .series = {band, simulated, observed},
              .x_range = Range{h.edges(0), h.edges(h.edges.size() - 1)}};
  panel.key_below = true;
  panel.width = 420;
  panel.height = 320;
  return panel;
}

Panel residual_panel(const results::StoredCheck& stored) {
  const FitCheck& check = stored.check;
  Series points{"", colour::kBlue, Mark::points, {}, {}};
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (Index i = 0; i < check.mean.size(); i += static_cast<Index>(stride_of(check.mean.size()))) {
    if (!(std::isfinite(check.mean(i)) && check.sd(i) > 0 && std::isfinite(check.sd(i)))) continue;
    points.x.push_back(check.mean(i));
    points.y.push_back((stored.response(i) - check.mean(i)) / check.sd(i));
    low = std::min(low, check.mean(i));
    high = std::max(high, check.mean(i));
  }
  const auto level = [&](double at) {
    return Series{"", colour::kGrey, Mark::dashed, {low, high}, {at, at}};
  };
  Panel panel{.name = "residuals",
              .title = "Residuals over predictive sds",
              .x_label = "predicted mean",
              .y_label = "(observed - mean) / sd",
              .description = "Standardised residuals against predicted means, with lines at -2, 0 and 2.",
              .series = {points, level(-2), level(0), level(2)}};
  panel.width = 420;
  panel.height = 320;
  return panel;
}

Panel pareto_panel(const LooResult& loo) {
  Series points{"", colour::kBlue, Mark::points, {}, {}};
  for (Index i = 0; i < loo.khat_rows.size(); i += static_cast<Index>(stride_of(loo.khat_rows.size()))) {
    points.x.push_back(static_cast<double>(i + 1));
    points.y.push_back(std::clamp(loo.khat_rows(i), -.5, 2.0));
  }
  const auto rows = static_cast<double>(loo.khat_rows.size());
  Series threshold{"threshold", colour::kVermillion, Mark::dashed, {1, rows}, {loo.threshold, loo.threshold}};
  Panel panel{.name = "pareto-k",
              .title = "Influence: Pareto k of each row",
              .x_label = "row",
              .y_label = "k",
              .description =
                  "Pareto k of each row; above the threshold a row moves the posterior too much for "
                  "leave-one-out by importance sampling.",
              .series = {points, threshold}};
  panel.key_below = true;
  panel.width = 420;
  panel.height = 320;
  return panel;
}

struct ShownPrior {
  double location, scale;
};

/// Normal priors by the parameter's name.
std::map<std::string, ShownPrior> normal_priors(const results::FitRecord& record) {
  std::map<std::string, ShownPrior> out;
  if (!record.details.contains("priors")) return out;
  for (const auto& prior : record.details["priors"])
    if (!prior.at("scale").is_null())
      out[prior.at("parameter")] = {prior.at("location"), prior["scale"].get<double>()};
  return out;
}

}  // namespace

std::vector<Panel> model_check_panels(const results::StoredCheck& stored) {
  std::vector<Panel> panels = {calibration_panel(stored), residual_panel(stored)};
  if (stored.check.histogram.observed.size() > 0) panels.insert(panels.begin(), histogram_panel(stored));
  if (stored.check.loo.khat_rows.allFinite()) panels.push_back(pareto_panel(stored.check.loo));
  return panels;
}

std::vector<Panel> prior_panels(const results::FitRecord& record, std::size_t most) {
  const auto priors = normal_priors(record);
  Series behind{"prior, 90 %", colour::kGrey, Mark::interval, {}, {}};
  Series posterior{"posterior, 90 %", colour::kBlue, Mark::interval, {}, {}};
  Panel panel{
      .name = "priors",
      .title = "Coefficients over their priors, in prior sds",
      .x_label = "(value - prior mean) / prior sd",
      .y_label = "",
      .description = "Posterior intervals of coefficients in units of their priors, with the priors' own."};
  for (const auto& p : record.parameters) {
    const auto prior = priors.find(p.name);
    if (prior == priors.end() || panel.y_names.size() == most) continue;
    const auto in_prior_sds = [&](double value) {
      return (value - prior->second.location) / prior->second.scale;
    };
    panel.y_names.push_back(p.name.size() <= 22 ? p.name : p.name.substr(0, 20) + "..");
    const auto y = static_cast<double>(panel.y_names.size());
    behind.x.push_back(0);
    behind.y.push_back(y + .18);
    behind.low.push_back(-1.645);
    behind.high.push_back(1.645);
    posterior.x.push_back(in_prior_sds(p.q50));
    posterior.y.push_back(y);
    posterior.low.push_back(in_prior_sds(p.q05));
    posterior.high.push_back(in_prior_sds(p.q95));
  }
  if (panel.y_names.empty()) return {};
  panel.series = {behind, posterior};
  panel.key_below = true;
  panel.width = 560;
  panel.height = static_cast<int>(130 + 20 * panel.y_names.size());
  return {panel};
}

}  // namespace magva::report
