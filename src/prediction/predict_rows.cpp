#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "magva/error.hpp"
#include "magva/predict.hpp"
#include "magva/prediction.hpp"
#include "results/parameter_summary.hpp"
#include "source/model_spec.hpp"
#include "table/design_file.hpp"
#include "table/design_spec.hpp"

namespace magva::prediction {

namespace {

constexpr Index kValuesAtOnce = 4'000'000;  // rows times draws

/// A view of some of the rows.
template <class Scalar>
Rows slice(DenseRows<Scalar> rows, Index begin, Index count) {
  return DenseRows<Scalar>{rows.data + begin * rows.stride, count, rows.cols, rows.stride};
}
Rows slice(SparseRows rows, Index begin, Index count) {
  return SparseRows{rows.starts + begin, rows.columns, rows.values, count, rows.cols};
}

void fill_quantiles(const Matrix& values, Index begin, RowPredictions& out) {
  std::vector<double> row(static_cast<std::size_t>(values.cols()));
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index s = 0; s < values.cols(); ++s) row[static_cast<std::size_t>(s)] = values(i, s);
    std::sort(row.begin(), row.end());
    out.q05(begin + i) = results::quantile(row, .05);
    out.q25(begin + i) = results::quantile(row, .25);
    out.q75(begin + i) = results::quantile(row, .75);
    out.q95(begin + i) = results::quantile(row, .95);
  }
}

NewRows design_file_rows(const std::string& path, const source::ModelSpec& spec) {
  design_file::DesignFile file = design_file::open(path);
  const auto theirs = table::to_json(file.header.spec);
  const auto ours = table::to_json(spec.design);
  if (spec.spline || theirs.at("terms") != ours.at("terms") || theirs.at("response") != ours.at("response"))
    throw DataError(fmt::format(
        "the design file '{}' is not encoded as the data of the fit are: make it with magva convert --like "
        "and the folder of the fit, or predict the table itself",
        path));
  return {std::move(file.design), std::move(file.response), {}};
}

}  // namespace

NewRows encode_new_rows(const table::Table& table, const source::ModelSpec& spec,
                        table::MissingPolicy missing) {
  table::EncodedRows rows = table::encode(spec.design, table, missing);
  Vector response = std::move(rows.y);
  std::vector<Index> row_numbers = std::move(rows.rows);
  return {source::engine_design(spec, std::move(rows)), std::move(response), std::move(row_numbers)};
}

NewRows read_new_rows(const std::string& file, const source::ModelSpec& spec, table::ReadOptions reading,
                      table::MissingPolicy missing) {
  if (design_file::is_design_file(file)) return design_file_rows(file, spec);
  reading.column_kinds = spec.design.column_kinds();
  return encode_new_rows(table::read_table(file, reading), spec, missing);
}

RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
                            Index draws, std::uint64_t seed) {
  const Index n = rows.design.rows();
  const Matrix theta = posterior.draws(draws, seed);
  const bool classes = spec.two_classes();
  const Regression model = source::model_without_data(spec);
  RowPredictions out{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(rows.response.size())};
  const Index step = std::max<Index>(1, kValuesAtOnce / draws);
  for (Index begin = 0; begin < n; begin += step) {
    const Index count = std::min(step, n - begin);
    const Design design = Design::view(
        std::visit([&](const auto& all) { return slice(all, begin, count); }, rows.design.storage()));
    const Matrix expected = expected_response(model, design, theta);
    out.mean.segment(begin, count) = expected.rowwise().mean();
    fill_quantiles(classes
                       ? expected
                       : simulate_response(model, design, theta, seed + static_cast<std::uint64_t>(begin)),
                   begin, out);
    if (rows.response.size() > 0)
      out.log_score.segment(begin, count) =
          log_predictive_density(model, design, rows.response.segment(begin, count), theta);
  }
  return out;
}

}  // namespace magva::prediction
