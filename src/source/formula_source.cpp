// From a table and a formula to a posterior.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formula/learn.hpp"
#include "magva/class_regression.hpp"
#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/formula_model.hpp"
#include "magva/mixed.hpp"
#include "magva/priors.hpp"
#include "source/class_reporter.hpp"
#include "source/default_priors.hpp"
#include "source/formula_reporter.hpp"
#include "source/prior_statements.hpp"
#include "source/regression_source.hpp"
#include "source/shared_rows.hpp"
#include "source/shared_sources.hpp"
#include "table/message.hpp"

namespace magva::source {

namespace {

using formula::EncodedFormula;
using formula::LearntFormula;
using formula::ResponseForm;
using formula::ResponseType;

/// The family that suits a response if nobody says.
Distribution family_for(const formula::TypeChoice& choice) {
  if (choice.form == ResponseForm::survival) return Distribution::weibull;
  if (choice.form != ResponseForm::values) return Distribution::binomial;
  switch (choice.type) {
    case ResponseType::two_classes:
      return Distribution::bernoulli;
    case ResponseType::classes:
      return Distribution::categorical;
    case ResponseType::count:
      return Distribution::poisson;
    case ResponseType::number:
      break;
  }
  return Distribution::gaussian;
}

ResponseType type_for(Distribution family) {
  switch (family) {
    case Distribution::bernoulli:
      return ResponseType::two_classes;
    case Distribution::ordered:
    case Distribution::categorical:
      return ResponseType::classes;
    case Distribution::binomial:
    case Distribution::poisson:
    case Distribution::negative_binomial:
      return ResponseType::count;
    default:
      return ResponseType::number;
  }
}

void check_form(Distribution family, const formula::TypeChoice& choice) {
  const bool counts = choice.form == ResponseForm::successes || choice.form == ResponseForm::counts;
  if (counts && family != Distribution::binomial)
    throw UsageError(
        fmt::format("{}, which needs the family binomial, not {}", choice.reason, to_string(family)));
  if (choice.form == ResponseForm::survival && !allows_censoring(family))
    throw UsageError(fmt::format("{}, which needs the family weibull or exponential, not {}", choice.reason,
                                 to_string(family)));
}

Distribution chosen_family(const FormulaOptions& options, const formula::TypeChoice& choice,
                           std::vector<std::string>& notes) {
  Distribution family = options.family.value_or(family_for(choice));
  if (!options.family)
    notes.push_back(fmt::format("{}: the family {} was chosen", choice.reason, to_string(family)));
  check_form(family, choice);
  // A binomial response without trials is one of two classes.
  if (family == Distribution::binomial && choice.form == ResponseForm::values)
    family = Distribution::bernoulli;
  return family;
}

/// Whether the linear predictor has the response's own unit.
bool has_unit(Distribution family) {
  return family == Distribution::gaussian || family == Distribution::student_t;
}

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

void check_response(const FormulaModel& model, const EncodedFormula& rows) {
  const std::string& name = model.design.response.name;
  const Vector& y = rows.response;
  if (model.family == Distribution::poisson || model.family == Distribution::negative_binomial)
    if (y.maxCoeff() == 0)
      throw DataError(fmt::format("every count of {} is 0: there is nothing to explain", name));
  if (model.family == Distribution::binomial && (y.maxCoeff() == 0 || (rows.trials - y).maxCoeff() == 0))
    throw DataError(fmt::format("{} has only {}: there is nothing to explain", name,
                                y.maxCoeff() == 0 ? "failures" : "successes"));
  if (model.family == Distribution::gamma && y.minCoeff() <= 0)
    throw DataError(fmt::format("{} has the value {}, but a gamma response is positive", name,
                                table::number_text(y.minCoeff())));
  if (has_unit(model.family) && y.minCoeff() == y.maxCoeff())
    throw DataError(
        fmt::format("{} is {} in every row: there is nothing to explain", name, table::number_text(y(0))));
}

void set_priors(FormulaModel& model, const LearntFormula& learnt, const FormulaOptions& options) {
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

Design design_of(RowMatrix x, bool single_precision) {
  if (!single_precision) return Design::own(std::move(x));
  return Design::own(SingleRowMatrix(x.cast<float>()));
}

SharedDesign shared_formula_design(RowMatrix own, bool single_precision, const table::TableRanks& ranks) {
  if (!single_precision) return share_design(std::move(own), ranks);
  return share_design(SingleRowMatrix(own.cast<float>()), ranks);
}

/// The rows, for checks; their design is shared with the model's.
std::shared_ptr<const ModelRows> kept_rows(const Design& design, const EncodedFormula& rows) {
  if (design.rows() > kMostRowsChecked) return nullptr;
  return std::make_shared<const ModelRows>(
      ModelRows{design, rows.response, {}, rows.offset, rows.trials, rows.status, rows.groups, rows.weights});
}

/// The rows without the intercept's column: cut points are in its place.
Design without_intercept(const Design& design) {
  return std::visit(
      [&](auto x) -> Design {
        if constexpr (std::is_same_v<decltype(x), SparseRows>) {
          throw std::logic_error("the design of a formula is dense");
        } else {
          ++x.data;
          --x.cols;
          return Design::view(x, std::make_shared<const Design>(design));
        }
      },
      design.storage());
}

void check_ordered(const FormulaModel& model) {
  if (model.family == Distribution::ordered && !model.design.fixed.intercept)
    throw UsageError(
        "the cut points of an ordered response are in the intercept's place: leave out '0 +' or '- 1'");
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

void add_group_model(ModelSource& source, std::shared_ptr<const FormulaModel> model, EncodedFormula rows,
                     const FormulaOptions& options) {
  if (options.batch || options.start_file)
    throw UsageError("batch, start_file: they have no meaning for a formula with groups");
  check_ordered(*model);
  const Design design = design_of(std::move(rows.x), options.single_precision);
  source.rows = kept_rows(design, rows);
  const bool ordered = model->family == Distribution::ordered;
  MixedData data{ordered ? without_intercept(design) : design,
                 std::move(rows.response),
                 std::move(rows.trials),
                 std::move(rows.status),
                 std::move(rows.offset),
                 std::move(rows.weights),
                 {},
                 class_coefficient_names(*model)};
  for (std::size_t t = 0; t < rows.groups.size(); ++t) {
    const formula::GroupSpec& group = model->design.groups[t];
    data.terms.push_back({group.name, group.levels, std::move(rows.groups[t].group),
                          std::move(rows.groups[t].z), effect_names(model->design, group), group.correlated});
  }
  source.mixed =
      model->family == Distribution::categorical
          ? make_mixed_categorical(std::move(data), group_priors(*model), model->design.response.classes)
          : make_mixed(std::move(data), group_priors(*model), model->response_family());
  source.model = std::shared_ptr<const Model>(source.mixed, &source.mixed->model());
  source.reporter = make_group_reporter(model, source.mixed);
  source.notes.push_back(source.mixed->describe());
  source.start = source.model->start();
}

/// `rows` are of all ranks, but for their design, which is this one's.
void add_plain_model(ModelSource& source, std::shared_ptr<const FormulaModel> model, EncodedFormula rows,
                     const FormulaOptions& options, const table::TableRanks& ranks) {
  const SharedDesign shared = shared_formula_design(std::move(rows.x), options.single_precision, ranks);
  source.has_all_rows = shared.has_all;
  if (shared.has_all) source.rows = kept_rows(shared.design, rows);
  RegressionData data{shared.design, std::move(rows.response), std::move(rows.weights),
                      coefficient_names(*model)};
  data.offset = std::move(rows.offset);
  data.trials = std::move(rows.trials);
  data.status = std::move(rows.status);
  const auto regression = std::make_shared<const Regression>(
      std::move(data), make_likelihood(model->response_family()), model->coefficient_prior());
  RegressionOptions how;
  how.batch = options.batch;
  how.seed = options.seed;
  how.start_file = options.start_file;
  set_regression(source, regression, how);
  source.reporter = make_plain_reporter(model, regression);
}

void add_class_model(ModelSource& source, std::shared_ptr<const FormulaModel> model, EncodedFormula rows,
                     const FormulaOptions& options) {
  if (options.batch || options.start_file || options.single_precision)
    throw UsageError(
        fmt::format("batch, start_file, single_precision: they have no meaning for the family {}",
                    to_string(model->family)));
  check_ordered(*model);
  const Design design = Design::own(std::move(rows.x));
  source.rows = kept_rows(design, rows);
  RegressionData data{model->family == Distribution::ordered ? without_intercept(design) : design,
                      std::move(rows.response), std::move(rows.weights), class_coefficient_names(*model)};
  data.offset = std::move(rows.offset);
  const auto regression =
      std::make_shared<const ClassRegression>(make_class_regression(*model, std::move(data)));
  source.model = regression;
  source.start = regression->start();
  source.reporter = make_class_reporter(model, regression);
}

}  // namespace

namespace {

/// All but the design.
void gather_rows(EncodedFormula& rows, const table::TableRanks& ranks) {
  for (Vector* values : {&rows.response, &rows.trials, &rows.status, &rows.offset, &rows.weights})
    *values = ranks.gather(std::move(*values));
}

void check_can_be_shared(const FormulaModel& model, const table::TableRanks& ranks) {
  if (!ranks.alone() && model.has_classes())
    throw UsageError(
        fmt::format("mpirun is for regressions with one linear predictor: fit the family {} without it",
                    to_string(model.family)));
}

/// What is left of a table once a formula is learnt from it.
struct EncodedByFormula {
  std::shared_ptr<FormulaModel> model;
  LearntFormula learnt;
  std::vector<std::string> notes;
  DataRecord data;
};

EncodedByFormula encode_by_formula(const table::Table& own, Index rows_of_all, const FormulaOptions& options,
                                   const table::TableRanks& ranks) {
  options.validate();
  const formula::TypeChoice choice = formula::choose_type(formula::parse(options.formula), own, ranks);
  EncodedByFormula out{std::make_shared<FormulaModel>(), {}, {}, record_of(own, rows_of_all)};
  FormulaModel& model = *out.model;
  model.family = chosen_family(options, choice, out.notes);
  model.link = options.link.value_or(default_link(model.family));
  check_link(model.family, model.link);
  check_can_be_shared(model, ranks);
  formula::LearnOptions learning{options.formula, type_for(model.family), options.positive_class,
                                 options.weights, options.excluded,       options.missing};
  learning.centre = !options.prior_variance;
  learning.standardise = options.standardise || wants_horseshoe(options.priors);
  out.learnt = formula::learn(own, learning, ranks);
  for (std::string& note : out.learnt.rows.notes) out.notes.push_back(std::move(note));
  return out;
}

ModelSource source_of_formula(EncodedByFormula encoded, const FormulaOptions& options,
                              const table::TableRanks& ranks) {
  ModelSource source;
  source.notes = std::move(encoded.notes);
  LearntFormula& learnt = encoded.learnt;
  const std::shared_ptr<FormulaModel>& model = encoded.model;
  model->design = std::move(learnt.spec);
  gather_rows(learnt.rows, ranks);
  check_response(*model, learnt.rows);
  set_priors(*model, learnt, options);
  const Index n = learnt.rows.response.size();
  if (model->grouped())
    add_group_model(source, model, std::move(learnt.rows), options);
  else if (model->has_classes())
    add_class_model(source, model, std::move(learnt.rows), options);
  else
    add_plain_model(source, model, std::move(learnt.rows), options, ranks);
  source.priors = formula_prior_records(*model);
  source.description =
      fmt::format("{}, {} parameters, {} rows", model->description(), source.model->dimension(), n);
  source.data = std::move(encoded.data);
  ModelSpec spec;
  spec.formula = model;
  source.spec = std::move(spec);
  return source;
}

}  // namespace

ModelSource make_formula_source(const table::Table& table, const FormulaOptions& options) {
  const table::TableRanks alone;
  return source_of_formula(encode_by_formula(table, table.rows, options, alone), options, alone);
}

ModelSource make_shared_formula_source(table::TableShare table, const FormulaOptions& options) {
  EncodedByFormula encoded = encode_by_formula(table.rows, table.rows_of_all, options, table.ranks);
  table.rows = {};  // its memory is needed for the rows of the share
  return source_of_formula(std::move(encoded), options, table.ranks);
}

}  // namespace magva::source
