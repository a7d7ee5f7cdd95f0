#include "report/regression_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <variant>

#include "magva/formula_model.hpp"
#include "magva/priors.hpp"
#include "results/parameter_summary.hpp"
#include "source/formula_reporter.hpp"

namespace magva::report {

namespace {

using source::FormulaModel;

constexpr std::size_t kMostGroups = 40;  // of a panel; of more, the lowest and the highest
constexpr std::size_t kMostPanels = 8;
constexpr std::size_t kMostRows = 4000;  // as points
constexpr Index kCurvePoints = 80;
constexpr Index kCurveDraws = 400;
constexpr Index kSmoothCurveDegree = 3;

std::string short_label(const std::string& name) {
  return name.size() <= 22 ? name : name.substr(0, 20) + "..";
}

const FormulaModel* formula_of(const results::StoredFit& fit) {
  return fit.spec && fit.spec->formula ? fit.spec->formula.get() : nullptr;
}

struct GroupInterval {
  std::string level;
  double low, median, high;
};

Panel group_panel(const std::string& group, const std::string& effect, std::vector<GroupInterval> all,
                  std::size_t number) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.median > b.median; });
  const std::size_t levels = all.size();
  if (levels > kMostGroups) all.erase(all.begin() + kMostGroups / 2, all.end() - kMostGroups / 2);
  Panel panel{.name = fmt::format("groups-{}", number),
              .title = fmt::format("{}: {}", group, effect),
              .x_label = "median, 90 % interval",
              .y_label = "",
              .description = fmt::format("Effects of the groups of {} in order.", group)};
  if (levels > all.size())
    panel.title += fmt::format(", the {} highest and lowest of {}", kMostGroups / 2, levels);
  panel.series = {{"", colour::kGrey, Mark::dashed, {0, 0}, {-1e6, 1e6}},
                  {"", colour::kBlue, Mark::interval, {}, {}}};
  Series& intervals = panel.series.back();
  for (const GroupInterval& one : all) {
    panel.y_names.push_back(short_label(one.level));
    intervals.x.push_back(one.median);
    intervals.y.push_back(static_cast<double>(panel.y_names.size()));
    intervals.low.push_back(one.low);
    intervals.high.push_back(one.high);
  }
  panel.width = 440;
  panel.height = static_cast<int>(90 + 18 * all.size());
  return panel;
}

/// Draws of a smooth term's coefficients, a row each.
Matrix smooth_coefficients(const results::StoredFit& fit, const FormulaModel& model,
                           const formula::SmoothSpec& smooth) {
  const auto reporter = source::make_reporter(*fit.spec);
  const Index draws = model.draws ? std::min(kCurveDraws, model.draws->values.cols()) : kCurveDraws;
  const Matrix values = reporter->report(fit.posterior.best().draws(draws, 1), 1);
  std::unordered_map<std::string, Index> row;
  for (const source::Quantity& quantity : reporter->quantities())
    row.emplace(quantity.name, static_cast<Index>(row.size()));
  Matrix out(smooth.columns(), draws);
  for (Index k = 0; k < smooth.columns(); ++k)
    out.row(k) = values.row(row.at(fmt::format("{}[{}]", smooth.name, k + 1)));
  return out;
}

/// The columns of a smooth term at values of its predictor, as the design has them.
RowMatrix smooth_design(const FormulaModel& model, const formula::SmoothSpec& smooth, Index first,
                        const Vector& at) {
  const SmoothBasis basis(BSplineBasis(smooth.functions, kSmoothCurveDegree, smooth.lower, smooth.upper),
                          smooth.transform, smooth.means);
  RowMatrix columns = basis(at);
  for (Index k = 0; k < columns.cols(); ++k)
    columns.col(k) =
        (columns.col(k).array() - model.design.centre(first + k)) / model.design.scale(first + k);
  return columns;
}

/// Columns [first, first + count) of a design's row.
Eigen::RowVectorXd row_part(const Design& design, Index row, Index first, Index count) {
  return std::visit(
      [&](const auto& x) -> Eigen::RowVectorXd {
        Eigen::RowVectorXd out = Eigen::RowVectorXd::Zero(count);
        if constexpr (!std::is_same_v<std::decay_t<decltype(x)>, SparseRows>)
          for (Index k = 0; k < count; ++k) out(k) = static_cast<double>(x.data[row * x.stride + first + k]);
        return out;
      },
      design.storage());
}

Index stride_over(Index rows) {
  return std::max<Index>(1, (rows + static_cast<Index>(kMostRows) - 1) / static_cast<Index>(kMostRows));
}

/// What rows leave to a curve: response - prediction + curve, where they are on one scale.
Series partial_residuals(const PredictiveCheck& check, Index first, const RowMatrix& ends,
                         const formula::SmoothSpec& smooth, const Vector& coefficients) {
  Series points{"partial residuals", colour::kGrey, Mark::points, {}, {}};
  // The first column is a straight line over the predictor, by which its values are known.
  const double low = ends(0, 0), high = ends(1, 0);
  for (Index i = 0; i < check.response.size(); i += stride_over(check.response.size())) {
    const Eigen::RowVectorXd columns = row_part(check.data->design, i, first, coefficients.size());
    points.x.push_back(smooth.lower + (columns(0) - low) / (high - low) * (smooth.upper - smooth.lower));
    points.y.push_back(check.response(i) - check.rows.mean(i) + columns.dot(coefficients));
  }
  return points;
}

Panel smooth_panel(const results::StoredFit& fit, const FormulaModel& model, std::size_t number, Index first,
                   const PredictiveCheck& check) {
  const formula::SmoothSpec& smooth = model.design.smooths[number];
  const Vector grid = Vector::LinSpaced(kCurvePoints, smooth.lower, smooth.upper);
  const Matrix coefficients = smooth_coefficients(fit, model, smooth);
  const Matrix curves = smooth_design(model, smooth, first, grid) * coefficients;
  Series band{"90 %", colour::kBlue, Mark::band, {}, {}};
  Series curve{"mean", colour::kBlue, Mark::line, {}, {}};
  for (Index i = 0; i < kCurvePoints; ++i) {
    std::vector<double> values(curves.row(i).begin(), curves.row(i).end());
    std::sort(values.begin(), values.end());
    band.x.push_back(grid(i));
    band.y.push_back(curves.row(i).mean());
    band.low.push_back(results::quantile(values, .05));
    band.high.push_back(results::quantile(values, .95));
    curve.x.push_back(grid(i));
    curve.y.push_back(curves.row(i).mean());
  }
  Panel panel{.name = fmt::format("smooth-{}", number + 1),
              .title = smooth.name,
              .x_label = smooth.name.substr(2, smooth.name.size() - 3),
              .y_label = "partial effect",
              .description = fmt::format("The curve {} with its 90 % band.", smooth.name),
              .series = {band, curve}};
  const Vector ends = (Vector(2) << smooth.lower, smooth.upper).finished();
  if (check.data && check.scores && model.link == Link::identity)
    panel.series.insert(panel.series.begin(),
                        partial_residuals(check, first, smooth_design(model, smooth, first, ends), smooth,
                                          coefficients.rowwise().mean()));
  panel.key_below = true;
  panel.width = 420;
  panel.height = 320;
  return panel;
}

}  // namespace

std::vector<Panel> group_panels(const results::StoredFit& fit) {
  std::vector<Panel> panels;
  const FormulaModel* model = formula_of(fit);
  if (model == nullptr) return panels;
  std::unordered_map<std::string, const results::ParameterSummary*> by_name;
  for (const results::ParameterSummary& parameter : fit.record.parameters)
    by_name.emplace(parameter.name, &parameter);
  for (const formula::GroupSpec& group : model->design.groups)
    for (const std::string& effect : source::effect_names(model->design, group)) {
      std::vector<GroupInterval> all;
      for (const std::string& level : group.levels) {
        const auto found = by_name.find(fmt::format("{}[{}]: {}", group.name, level, effect));
        if (found != by_name.end())
          all.push_back({level, found->second->q05, found->second->q50, found->second->q95});
      }
      if (!all.empty() && panels.size() < kMostPanels)
        panels.push_back(group_panel(group.name, effect, std::move(all), panels.size() + 1));
    }
  return panels;
}

std::vector<Panel> smooth_panels(const results::StoredFit& fit, const PredictiveCheck& check) {
  std::vector<Panel> panels;
  const FormulaModel* model = formula_of(fit);
  if (model == nullptr || model->has_classes()) return panels;
  auto first = static_cast<Index>(model->design.names().size());
  for (std::size_t k = 0; k < std::min(kMostPanels, model->design.smooths.size()); ++k) {
    panels.push_back(smooth_panel(fit, *model, k, first, check));
    first += model->design.smooths[k].columns();
  }
  return panels;
}

std::vector<Panel> predictor_panels(const results::StoredFit& fit, const PredictiveCheck& check) {
  std::vector<Panel> panels;
  const FormulaModel* model = formula_of(fit);
  if (model == nullptr || model->has_classes() || !check.data || !check.scores) return panels;
  const std::vector<std::string> names = model->design.names();
  const Index rows = check.response.size();
  for (std::size_t j = 0; j < names.size() && panels.size() < kMostPanels; ++j) {
    const auto column = static_cast<Index>(j);
    Series points{"", colour::kBlue, Mark::points, {}, {}};
    std::set<double> distinct;
    for (Index i = 0; i < rows; i += stride_over(rows)) {
      const double x = row_part(check.data->design, i, column, 1)(0) * model->design.scale(column) +
                       model->design.centre(column);
      points.x.push_back(x);
      points.y.push_back(check.response(i) - check.rows.mean(i));
      if (distinct.size() < 3) distinct.insert(x);
    }
    if (distinct.size() < 3) continue;  // an indicator, or the intercept
    const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
    Series zero{"", colour::kGrey, Mark::dashed, {*low, *high}, {0, 0}};
    Panel panel{.name = fmt::format("predictor-{}", panels.size() + 1),
                .title = fmt::format("Residuals by {}", short_label(names[j])),
                .x_label = names[j],
                .y_label = "observed - predicted mean",
                .description = fmt::format("Residuals against {}.", names[j]),
                .series = {points, zero}};
    panel.width = 380;
    panel.height = 280;
    panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace magva::report
