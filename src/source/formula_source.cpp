// From a table and a formula to a posterior.
#include <fmt/format.h>

#include "formula/learn.hpp"
#include "magva/class_regression.hpp"
#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/formula_model.hpp"
#include "magva/mixed.hpp"
#include "source/class_reporter.hpp"
#include "source/formula_family.hpp"
#include "source/formula_priors.hpp"
#include "source/formula_reporter.hpp"
#include "source/prior_statements.hpp"
#include "source/regression_source.hpp"
#include "source/shared_rows.hpp"
#include "source/shared_sources.hpp"

namespace magva::source {

namespace {

using formula::EncodedFormula;
using formula::LearntFormula;

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

/// Rows times squared columns that Laplace's method takes without groups.
constexpr double kMostWorkOfSmooths = 5e6;

/// Given the sds of smooth terms the posterior is nearly Gaussian, but not together with them.
bool integrates_smooths(const FormulaModel& model, const EncodedFormula& rows, const FormulaOptions& options,
                        const table::TableRanks& ranks) {
  if (model.design.smooths.empty() || !model.horseshoes.empty() || options.joint_smooths || options.batch ||
      options.start_file || !ranks.alone())
    return false;
  if (model.family == Distribution::gaussian) return true;
  const auto n = static_cast<double>(rows.x.rows()), p = static_cast<double>(rows.x.cols());
  return model.family != Distribution::student_t && n * p * p <= kMostWorkOfSmooths;
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
  if (model->grouped() || integrates_smooths(*model, learnt.rows, options, ranks))
    add_group_model(source, model, std::move(learnt.rows), options);
  else if (model->has_classes())
    add_class_model(source, model, std::move(learnt.rows), options);
  else
    add_plain_model(source, model, std::move(learnt.rows), options, ranks);
  source.priors = formula_prior_records(*model);
  source.description = fmt::format("{}, {} parameter{}, {} rows", model->description(),
                                   source.model->dimension(), source.model->dimension() == 1 ? "" : "s", n);
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
