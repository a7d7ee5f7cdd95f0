#include "rows.hpp"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <random>

#include "magva/check.hpp"
#include "magva/correct.hpp"
#include "magva/error.hpp"
#include "magva/formula_model.hpp"
#include "magva/prediction.hpp"
#include "magva/stored_check.hpp"
#include "source/formula_reporter.hpp"
#include "table_builder.hpp"

namespace magva::python {

namespace {

/// The arrays of RowPredictions by name, and the rows that they are for.
nb::dict predict(const Fit& fit, const TableBuilder& builder, bool drop_missing, Index draws,
                 std::uint64_t seed, double level, bool link_scale, bool correct) {
  if (!fit.source().spec) throw UsageError("this fit is of a model that cannot predict rows of a table");
  prediction::PredictOptions options{.draws = draws, .seed = seed, .level = level};
  if (link_scale) options.scale = prediction::PredictionScale::link;
  options.validate();
  prediction::RowPredictions rows;
  prediction::NewRows encoded{Design::own(RowMatrix()), {}, {}};
  {
    const nb::gil_scoped_release unlocked;
    const auto spec = source::stored_spec(fit.source(), fit.posterior());
    encoded = prediction::encode_new_rows(
        builder.table, *spec, drop_missing ? table::MissingPolicy::drop : table::MissingPolicy::refuse);
    if (correct)
      options.theta = importance_corrected_draws(*fit.source().model, fit.posterior().best(), draws, seed);
    rows = prediction::predict_rows(*spec, encoded, fit.posterior(), options);
  }
  nb::dict out;
  out["row"] = encoded.row_numbers;
  out["mean"] = rows.mean;
  out["lower"] = rows.lower;
  out["upper"] = rows.upper;
  out["probabilities"] = rows.probabilities;
  out["log_score"] = rows.log_score;
  out["observed"] = encoded.response;
  return out;
}

/// The checks of a fit that has its data; Python's lock is not needed.
results::StoredCheck check(const Fit& fit, Index draws, std::uint64_t seed) {
  const auto input = prediction::check_input(fit.source(), fit.posterior(), draws, seed);
  if (!input) throw UsageError("leave-one-out cross-validation needs a regression with its data");
  Workers workers(1);
  return results::stored_check(*input, check_fit(*input, workers), fit.source().spec->response_name());
}

nb::dict loo(const Fit& fit, Index draws, std::uint64_t seed) {
  LooResult result;
  {
    const nb::gil_scoped_release unlocked;
    result = check(fit, draws, seed).check.loo;
  }
  nb::dict out;
  out["elpd"] = result.elpd;
  out["elpd_se"] = result.elpd_se;
  out["p_loo"] = result.p_loo;
  out["p_loo_se"] = result.p_loo_se;
  out["rows"] = result.rows;
  out["high_k"] = result.high_k;
  return out;
}

/// The best first: name, elpd and its standard error, p_loo, high_k, difference to the best and its error.
nb::list compare_by_loo(const std::vector<std::pair<std::string, const Fit*>>& fits, Index draws,
                        std::uint64_t seed) {
  std::vector<results::RankedModel> ranked;
  {
    const nb::gil_scoped_release unlocked;
    std::vector<std::pair<std::string, results::StoredCheck>> checks;
    for (const auto& [name, fit] : fits) checks.emplace_back(name, check(*fit, draws, seed));
    ranked = results::rank_models(checks);
  }
  nb::list rows;
  for (const auto& model : ranked)
    rows.append(nb::make_tuple(model.name, model.elpd, model.elpd_se, model.p_loo, model.high_k,
                               model.difference, model.difference_se));
  return rows;
}

/// Of the rows of a fit, at draws from its posterior: a row per draw, a column per row of the data.
struct RowDraws {
  RowMatrix log_likelihood;
  RowMatrix simulated;
};

RowDraws draw_rows(const CheckInput& input) {
  const Index n = input.rows.rows;
  const Index draws = input.draws();
  const auto rows = input.distributions(0, n);
  std::mt19937_64 generator(input.seed);
  RowDraws out{rows->log_likelihoods().transpose(), RowMatrix(draws, n)};
  for (Index i = 0; input.row_weights && i < n; ++i) out.log_likelihood.col(i) *= input.row_weights[i];
  for (Index s = 0; s < draws; ++s)
    for (Index i = 0; i < n; ++i) out.simulated(s, i) = rows->simulate(i, s, generator);
  return out;
}

/// The responses of the fit's own rows, their log likelihoods, and responses that the model simulates. Null
/// if the fit has not its rows; the responses alone if the model cannot be checked.
std::optional<nb::dict> observations(const Fit& fit, Index draws, std::uint64_t seed) {
  const source::ModelSource& source = fit.source();
  if (!source.rows || !source.spec || source.rows->response.size() == 0) return std::nullopt;
  std::optional<RowDraws> drawn;
  {
    const nb::gil_scoped_release unlocked;
    if (const auto input = prediction::check_input(source, fit.posterior(), draws, seed))
      drawn = draw_rows(*input);
  }
  nb::dict out;
  out["name"] = source.spec->response_name();
  out["observed"] = Vector(source.rows->response);
  if (drawn) {
    out["log_likelihood"] = std::move(drawn->log_likelihood);
    out["simulated"] = std::move(drawn->simulated);
  }
  return out;
}

std::vector<std::string> response_classes(const Fit& fit) {
  const auto& spec = fit.source().spec;
  return spec ? spec->classes() : std::vector<std::string>{};
}

/// Of a fit with groups, draws out of those that it has stored, as predictions take them, and at most as many
/// as there are. Null: draws of theta say everything.
std::optional<Matrix> stored_draws(const Fit& fit, Index count, std::uint64_t seed) {
  const nb::gil_scoped_release unlocked;
  const auto stored = fit.source().reporter->joint_draws(fit.posterior());
  if (!stored) return std::nullopt;
  const auto spec = source::stored_spec(fit.source(), fit.posterior());
  return source::make_reporter(*spec)->report(Matrix(0, std::min(count, stored->values.cols())), seed);
}

/// The terms (effects | group) of a formula: name, levels, effects.
nb::list group_terms(const Fit& fit) {
  nb::list all;
  const auto& spec = fit.source().spec;
  if (!spec || !spec->formula) return all;
  for (const formula::GroupSpec& group : spec->formula->design.groups)
    all.append(nb::make_tuple(group.name, group.levels, source::effect_names(spec->formula->design, group)));
  return all;
}

}  // namespace

void bind_rows(nb::module_& module, nb::class_<Fit>& type) {
  type.def_prop_ro("classes", response_classes)
      .def_prop_ro("group_terms", group_terms)
      .def("predict", predict, nb::arg("table"), nb::arg("drop_missing"), nb::arg("draws"), nb::arg("seed"),
           nb::arg("level"), nb::arg("link_scale"), nb::arg("correct"))
      .def("loo", loo, nb::arg("draws"), nb::arg("seed"))
      .def("observations", observations, nb::arg("draws"), nb::arg("seed"))
      .def("stored_draws", stored_draws, nb::arg("count"), nb::arg("seed"));
  module.def("compare_by_loo", compare_by_loo, nb::arg("fits"), nb::arg("draws"), nb::arg("seed"));
}

}  // namespace magva::python
