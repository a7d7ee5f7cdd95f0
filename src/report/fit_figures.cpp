#include "report/fit_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace magva::report {

namespace {

constexpr std::size_t kTracePoints = 400;

int height_for(std::size_t rows) { return static_cast<int>(90 + 20 * rows); }

std::string shortened(const std::string& name) {
  return name.size() <= 22 ? name : name.substr(0, 20) + "..";
}

/// From a tenth of the run on: the first steps would set the scale.
Range later_range(const std::vector<double>& values) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t i = values.size() / 10; i < values.size(); ++i)
    if (std::isfinite(values[i])) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
  if (!(low <= high)) return {0, 1};
  const double margin = .08 * (high - low) + 1e-3 * std::abs(high) + 1e-9;
  return {low - margin, high + margin};
}

/// Names from the top with one interval each: lows, highs and a point.
Panel interval_panel(std::string name, std::string title, std::string label) {
  Panel panel{.name = std::move(name),
              .title = std::move(title),
              .x_label = std::move(label),
              .y_label = "",
              .description = ""};
  panel.series = {{"", colour::kGrey, Mark::dashed, {0, 0}, {-1e6, 1e6}},
                  {"", colour::kBlue, Mark::interval, {}, {}}};
  panel.width = 440;
  return panel;
}

void add_interval(Panel& panel, const std::string& name, double point, double low, double high) {
  panel.y_names.push_back(shortened(name));
  Series& series = panel.series.back();
  series.x.push_back(point);
  series.y.push_back(static_cast<double>(panel.y_names.size()));
  series.low.push_back(low);
  series.high.push_back(high);
}

template <class Value>
std::vector<std::size_t> largest(std::size_t count, std::size_t kept, Value&& value) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  order.resize(std::min(kept, count));
  return order;
}

}  // namespace

std::vector<Panel> trace_panels(const std::vector<results::TraceRow>& trace) {
  const std::size_t window = std::max<std::size_t>(1, (trace.size() + kTracePoints - 1) / kTracePoints);
  Series line{"", colour::kVermillion, Mark::line, {}, {}};
  for (std::size_t first = 0; first < trace.size(); first += window) {
    double sum = 0, count = 0;
    const std::size_t end = std::min(first + window, trace.size());
    for (std::size_t i = first; i < end; ++i)
      if (std::isfinite(trace[i].elbo)) {
        sum += trace[i].elbo;
        ++count;
      }
    line.x.push_back(static_cast<double>(trace[end - 1].iteration));
    line.y.push_back(count > 0 ? sum / count : std::nan(""));
  }
  const auto known = [](double elbo) { return std::isfinite(elbo); };
  if (std::count_if(line.y.begin(), line.y.end(), known) < 2) return {};
  Panel panel{.name = "trace",
              .title = "ELBO by iteration",
              .x_label = "iteration",
              .y_label = "ELBO",
              .description = "The estimates of the ELBO during the fit.",
              .series = {line},
              .y_range = later_range(line.y)};
  panel.width = 560;
  panel.height = 320;
  return {panel};
}

std::vector<Panel> interval_panels(const results::StoredFit& fit, const FitReportOptions& options) {
  const auto& all = fit.record.parameters;
  const auto distance = [&](std::size_t i) { return all[i].sd > 0 ? std::abs(all[i].mean) / all[i].sd : 0; };
  Panel panel = interval_panel("intervals", "Clearest parameters: median, 90 % interval", "value");
  for (const std::size_t i : largest(all.size(), options.parameters, distance))
    add_interval(panel, all[i].name, all[i].q50, all[i].q05, all[i].q95);
  panel.description = "Medians and 90 % intervals of the parameters that differ most clearly from zero.";
  panel.height = height_for(panel.y_names.size());
  panel.width = 560;
  return panel.y_names.empty() ? std::vector<Panel>{} : std::vector{panel};
}

std::vector<Panel> loading_panels(const results::StoredFit& fit, const FitReportOptions& options) {
  std::vector<Panel> panels;
  if (fit.posterior.is_full_rank()) return panels;
  const Matrix& w = fit.posterior.factors();
  for (Index f = 0; f < std::min(options.factors, w.cols()); ++f) {
    const auto share = static_cast<std::size_t>(f) < fit.record.factor_shares.size()
                           ? 100 * fit.record.factor_shares[static_cast<std::size_t>(f)]
                           : 0;
    Panel panel = interval_panel(fmt::format("factor-{}", f + 1),
                                 fmt::format("Factor {}: {:.1f} % of the variance", f + 1, share), "loading");
    const auto size = [&](std::size_t i) { return std::abs(w(static_cast<Index>(i), f)); };
    for (const std::size_t i : largest(fit.names.size(), options.loadings, size)) {
      const double loading = w(static_cast<Index>(i), f);
      add_interval(panel, fit.names[i], loading, std::min(0., loading), std::max(0., loading));
    }
    panel.description = fmt::format("The largest loadings of factor {}.", f + 1);
    panel.height = height_for(panel.y_names.size());
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::vector<Panel> check_panels(const PredictiveCheck& check) {
  if (!check.scores) return {};
  if (!check.scores->calibration.empty()) {
    Series diagonal{"perfect", colour::kGrey, Mark::dashed, {0, 1}, {0, 1}};
    Series bins{"bins of rows", colour::kBlue, Mark::steady_points, {}, {}};
    for (const auto& bin : check.scores->calibration) {
      bins.x.push_back(bin.predicted);
      bins.y.push_back(bin.observed);
    }
    Panel panel{.name = "calibration",
                .title = "Calibration",
                .x_label = fmt::format("predicted probability of {}", shortened(check.positive)),
                .y_label = "observed share",
                .description = "Observed shares against predicted probabilities.",
                .series = {diagonal, bins},
                .x_range = Range{0, 1},
                .y_range = Range{0, 1.02}};
    panel.width = panel.height = 380;
    return {panel};
  }
  Series points{"", colour::kBlue, Mark::points, {}, {}};
  points.x.assign(check.rows.mean.begin(), check.rows.mean.end());
  points.y.assign(check.response.begin(), check.response.end());
  const double low = std::min(check.rows.mean.minCoeff(), check.response.minCoeff()),
               high = std::max(check.rows.mean.maxCoeff(), check.response.maxCoeff());
  Series diagonal{"", colour::kGrey, Mark::dashed, {low, high}, {low, high}};
  Panel panel{.name = "observed",
              .title = "Observed against predicted",
              .x_label = "predicted mean",
              .y_label = "observed",
              .description = "Observed responses against predicted means.",
              .series = {diagonal, points}};
  panel.width = panel.height = 380;
  return {panel};
}

}  // namespace magva::report
