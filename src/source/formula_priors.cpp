#include "source/formula_priors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "magva/class_regression.hpp"
#include "magva/priors.hpp"
#include "source/class_reporter.hpp"
#include "source/default_priors.hpp"
#include "source/formula_family.hpp"
#include "source/formula_reporter.hpp"
#include "source/prior_statements.hpp"

namespace magva::source {

namespace {

using formula::EncodedFormula;

PredictorScale predictor_scale(const FormulaModel& model, const EncodedFormula& rows) {
  if (has_unit(model.family)) {
    if (rows.offset.size() > 0) return identity_scale(rows.response - rows.offset);
    return identity_scale(rows.response);
  }
  if (model.link == Link::log) return log_scale(rows.response, rows.offset);
  return {0, kPriorScale};
}

/// The sds of group effects: half-Student-t with 3 degrees of freedom and the scale of the response
/// (Bürkner's brms), or of the link, for each unit of what an effect multiplies.
std::vector<Vector> default_sd_scales(const FormulaModel& model, const EncodedFormula& rows,
                                      const PredictorScale& response) {
  const double unit = has_unit(model.family) ? response.scale / kPriorScale : kPriorScale;
  std::vector<Vector> all;
  for (const formula::EncodedGroup& group : rows.groups) {
    if (group.z.cols() == 0) {
      all.push_back(Vector::Constant(1, unit));
      continue;
    }
    Vector scales(group.z.cols());
    for (Index k = 0; k < scales.size(); ++k) {
      const Vector column = group.z.col(k);
      const double spread = std::sqrt((column.array() - column.mean()).square().mean());
      scales(k) = spread > 0 ? unit / spread : unit;
    }
    all.push_back(std::move(scales));
  }
  return all;
}

/// The line of a smooth term has a prior of its own; what bends it has an sd.
void add_smooth_records(const FormulaModel& model, std::vector<PriorRecord>& records) {
  auto at = static_cast<std::ptrdiff_t>(model.design.names().size());
  for (std::size_t k = 0; k < model.design.smooths.size(); ++k) {
    const formula::SmoothSpec& smooth = model.design.smooths[k];
    for (std::ptrdiff_t j = 1; j < smooth.columns(); ++j) {
      PriorRecord& record = records[static_cast<std::size_t>(at + j)];
      record = {record.parameter, fmt::format("normal(0, sd({}))", smooth.name), 0, std::nullopt};
    }
    at += smooth.columns();
    records.push_back({fmt::format("sd({})", smooth.name),
                       PositivePrior::half_student_t(3, model.smooth_scales[k]).to_string(), 0,
                       std::nullopt});
  }
}

/// Of classes: the same for each linear predictor, and the cut points'.
std::vector<PriorRecord> class_prior_records(const FormulaModel& model,
                                             const std::vector<PriorRecord>& coefficients) {
  std::vector<PriorRecord> records;
  const std::vector<std::string>& classes = model.design.response.classes;
  if (model.family == Distribution::ordered) {
    records.assign(coefficients.begin() + 1, coefficients.end());
    for (std::size_t k = 1; k < classes.size(); ++k)
      records.push_back({cut_name(k), "student_t(3, 0, 2.5)", 0, std::nullopt});
    return records;
  }
  for (std::size_t k = 1; k < classes.size(); ++k)
    for (PriorRecord record : coefficients) {
      record.parameter = class_coefficient_name(classes[k], record.parameter);
      records.push_back(std::move(record));
    }
  return records;
}

/// Of the sds and correlations of one linear predictor's group effects.
void add_group_records(const FormulaModel& model, const std::string& prefix,
                       std::vector<PriorRecord>& records) {
  for (std::size_t t = 0; t < model.design.groups.size(); ++t) {
    const formula::GroupSpec& group = model.design.groups[t];
    std::vector<std::string> effects = effect_names(model.design, group);
    for (std::string& effect : effects) effect = prefix + effect;
    for (std::size_t k = 0; k < effects.size(); ++k) {
      const double scale = model.sd_scales[t](static_cast<Index>(k));
      records.push_back({fmt::format("sd({}: {})", group.name, effects[k]),
                         PositivePrior::half_student_t(3, scale).to_string(), 0, std::nullopt});
      for (std::size_t l = 0; l < k && group.correlated; ++l)
        records.push_back({fmt::format("cor({}: {}, {})", group.name, effects[l], effects[k]),
                           fmt::format("lkj({:g})", model.lkj), 0, std::nullopt});
    }
  }
}

}  // namespace

void set_priors(FormulaModel& model, const formula::LearntFormula& learnt, const FormulaOptions& options) {
  const PredictorScale response = predictor_scale(model, learnt.rows);
  const DesignMoments moments{learnt.moments.mean, learnt.moments.sd};
  model.priors = model.design.fixed.intercept ? default_priors(moments, response, true)
                                              : default_priors_through_zero(moments, response);
  model.priors.scale = model.priors.scale.cwiseProduct(model.design.scale).eval();
  if (options.prior_variance) {
    model.priors.location.setZero();
    model.priors.scale.setConstant(std::sqrt(*options.prior_variance));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  model.priors.degrees_of_freedom = Vector::Constant(model.priors.size(), infinity);
  if (!model.has_classes())
    model.own = default_own_parameters(model.family, learnt.rows.response, learnt.rows.weights);
  model.sd_scales = default_sd_scales(model, learnt.rows, response);
  const double unit = has_unit(model.family) ? response.scale / kPriorScale : kPriorScale;
  model.smooth_scales.assign(model.design.smooths.size(), unit);
  apply_priors(options.priors, model);
}

MixedPriors group_priors(const FormulaModel& model) {
  // An ordered response's design has lost its first column, the intercept.
  const Index lost = model.family == Distribution::ordered ? 1 : 0;
  const Index columns = model.priors.size() - lost;
  MixedPriors priors;
  priors.location = model.priors.location.tail(columns);
  priors.scale = model.priors.scale.tail(columns);
  priors.degrees_of_freedom = model.priors.degrees_of_freedom.tail(columns);
  priors.sd_scale = model.sd_scales;
  priors.lkj = model.lkj;
  auto column = static_cast<Index>(model.design.names().size()) - lost;
  for (std::size_t k = 0; k < model.design.smooths.size(); ++k) {
    const formula::SmoothSpec& smooth = model.design.smooths[k];
    // Its first column is a straight line, with a prior of its own.
    priors.smooths.push_back({smooth.name, column + 1, smooth.columns() - 1, model.smooth_scales[k]});
    column += smooth.columns();
  }
  for (const FormulaModel::Horseshoe& horseshoe : model.horseshoes)
    priors.horseshoes.push_back(
        {horseshoe.first - lost, horseshoe.count, horseshoe.global_scale, horseshoe.slab_scale});
  return priors;
}

std::vector<PriorRecord> formula_prior_records(const FormulaModel& model) {
  IndependentPriors priors = model.priors;
  priors.location = priors.location.cwiseQuotient(model.design.scale);
  priors.scale = priors.scale.cwiseQuotient(model.design.scale);
  std::vector<PriorRecord> records = prior_records(priors, coefficient_names(model));
  for (const FormulaModel::Horseshoe& horseshoe : model.horseshoes)
    for (Index j = horseshoe.first; j < horseshoe.first + horseshoe.count; ++j) {
      PriorRecord& record = records[static_cast<std::size_t>(j)];
      record = {record.parameter, describe_prior(block_of(horseshoe)), 0, std::nullopt};
    }
  add_smooth_records(model, records);
  if (model.design.fixed.intercept && model.design.centre.tail(model.design.centre.size() - 1).any()) {
    records[0].text += " at the predictors' means";
    records[0].scale.reset();
  }
  if (model.has_classes()) records = class_prior_records(model, records);
  for (const OwnParameter& own : model.own)
    records.push_back({own.name, own.prior.to_string(), 0, std::nullopt});
  for (const std::string& prefix : predictor_prefixes(model)) add_group_records(model, prefix, records);
  return records;
}

}  // namespace magva::source
