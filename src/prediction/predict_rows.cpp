#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "magva/error.hpp"
#include "magva/predict.hpp"
#include "magva/prediction.hpp"
#include "prediction/predict_formula.hpp"
#include "source/model_spec.hpp"
#include "table/design_file.hpp"
#include "table/design_spec.hpp"

namespace magva::prediction {

namespace {

NewRows design_file_rows(const std::string& path, const source::ModelSpec& spec) {
  design_file::DesignFile file = design_file::open(path);
  const auto theirs = table::to_json(file.header.spec);
  const auto ours = table::to_json(spec.design);
  if (spec.formula || spec.spline || theirs.at("terms") != ours.at("terms") ||
      theirs.at("response") != ours.at("response"))
    throw DataError(fmt::format(
        "the design file '{}' is not encoded as the data of the fit are: make it with magva convert --like "
        "and the folder of the fit, or predict the table itself",
        path));
  return {std::move(file.design), std::move(file.response), {}};
}

/// A view of some of the rows.
template <class Scalar>
Rows slice(DenseRows<Scalar> rows, Index begin, Index count) {
  return DenseRows<Scalar>{rows.data + begin * rows.stride, count, rows.cols, rows.stride};
}
Rows slice(SparseRows rows, Index begin, Index count) {
  return SparseRows{rows.starts + begin, rows.columns, rows.values, count, rows.cols};
}

}  // namespace

Design rows_from(const Design& design, Index begin, Index count) {
  return Design::view(
      std::visit([&](const auto& all) { return slice(all, begin, count); }, design.storage()));
}

NewRows encode_new_rows(const table::Table& table, const source::ModelSpec& spec,
                        table::MissingPolicy missing) {
  if (spec.formula) return encode_formula_rows(table, *spec.formula, missing);
  table::EncodedRows rows = table::encode(spec.design, table, missing);
  Vector response = std::move(rows.y);
  std::vector<Index> row_numbers = std::move(rows.rows);
  return {source::engine_design(spec, std::move(rows)), std::move(response), std::move(row_numbers)};
}

NewRows read_new_rows(const std::string& file, const source::ModelSpec& spec, table::ReadOptions reading,
                      table::MissingPolicy missing) {
  if (design_file::is_design_file(file)) return design_file_rows(file, spec);
  reading.column_kinds = spec.column_kinds();
  return encode_new_rows(table::read_table(file, reading), spec, missing);
}

Matrix PredictOptions::draws_of(const Gaussian& posterior) const {
  return theta.size() > 0 ? theta : posterior.best().draws(draws, seed);
}

void PredictOptions::validate() const {
  if (draws < 2) throw UsageError("draws: there must be at least 2");
  if (!(level > 0 && level < 1)) throw UsageError("level: must lie between 0 and 1");
}

RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
                            const PredictOptions& options) {
  options.validate();
  if (spec.formula) return predict_formula_rows(*spec.formula, rows, posterior, options);
  const Index n = rows.design.rows();
  const Matrix theta = options.draws_of(posterior);
  const bool link = options.scale == PredictionScale::link;
  const Regression model = source::model_without_data(spec);
  RowPredictions out = empty_predictions(n, rows.response.size());
  const Index step = std::max<Index>(1, kValuesAtOnce / options.draws);
  for (Index begin = 0; begin < n; begin += step) {
    const Index count = std::min(step, n - begin);
    const Design design = rows_from(rows.design, begin, count);
    const Matrix expected =
        link ? linear_predictor(model, design, theta) : expected_response(model, design, theta);
    out.mean.segment(begin, count) = expected.rowwise().mean();
    const bool of_the_mean = link || spec.two_classes();
    fill_quantiles(of_the_mean ? expected
                               : simulate_response(model, design, theta,
                                                   options.seed + static_cast<std::uint64_t>(begin)),
                   begin, options.level, out);
    if (rows.response.size() > 0)
      out.log_score.segment(begin, count) =
          log_predictive_density(model, design, rows.response.segment(begin, count), theta);
  }
  return out;
}

RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
                            Index draws, std::uint64_t seed) {
  PredictOptions options;
  options.draws = draws;
  options.seed = seed;
  return predict_rows(spec, rows, posterior, options);
}

}  // namespace magva::prediction
