#include "prediction/predict_rows.hpp"

#include <algorithm>
#include <variant>

#include "magva/predict.hpp"
#include "results/parameter_summary.hpp"

namespace magva::prediction {

namespace {

constexpr Index kNumbersAtOnce = 4'000'000;  // rows times draws

/// A look at some of the rows.
Rows slice(DenseRows<double> rows, Index begin, Index count) {
  return DenseRows<double>{rows.data + begin * rows.stride, count, rows.cols, rows.stride};
}
Rows slice(DenseRows<float> rows, Index begin, Index count) {
  return DenseRows<float>{rows.data + begin * rows.stride, count, rows.cols, rows.stride};
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

}  // namespace

RowPredictions predict_rows(const source::Recipe& recipe, const NewRows& rows, const Gaussian& posterior,
                            Index draws, std::uint64_t seed) {
  const Index n = rows.design.rows();
  const Matrix theta = posterior.draws(draws, seed);
  const bool classes = recipe.model == "logistic";
  const Regression model = source::model_without_data(recipe);
  RowPredictions out{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(rows.response.size())};
  const Index step = std::max<Index>(1, kNumbersAtOnce / draws);
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
