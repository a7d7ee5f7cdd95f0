#include "prediction/predict_rows.hpp"

#include <algorithm>

#include "magva/model/predict.hpp"
#include "results/parameter_summary.hpp"

namespace magva::prediction {

namespace {

constexpr Index kNumbersAtOnce = 4'000'000;  // rows times draws

input::Design slice(const input::Design& all, Index begin, Index count) {
  input::Design part;
  if (all.x.size() > 0)
    part.x = all.x.middleRows(begin, count);
  else
    part.sparse_x = all.sparse_x.middleRows(begin, count);
  part.names = all.names;
  if (all.y.size() > 0) part.y = all.y.segment(begin, count);
  part.rows.assign(all.rows.begin() + begin, all.rows.begin() + begin + count);
  return part;
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

RowPredictions predict_rows(const source::Recipe& recipe, const input::Design& rows,
                            const Gaussian& posterior, Index draws, std::uint64_t seed) {
  const Index n = rows.size();
  const Matrix theta = posterior.draws(draws, seed);
  const bool classes = recipe.model == "logistic";
  RowPredictions out{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(rows.y.size())};
  const Index step = std::max<Index>(1, kNumbersAtOnce / draws);
  for (Index begin = 0; begin < n; begin += step) {
    const input::Design part = slice(rows, begin, std::min(step, n - begin));
    const Regression model = source::build_regression(recipe, part);
    const Design design = source::engine_design(recipe, part);
    const Matrix expected = expected_response(model, design, theta);
    out.mean.segment(begin, part.size()) = expected.rowwise().mean();
    fill_quantiles(classes
                       ? expected
                       : simulate_response(model, design, theta, seed + static_cast<std::uint64_t>(begin)),
                   begin, out);
    if (part.y.size() > 0)
      out.log_score.segment(begin, part.size()) = log_predictive_density(model, design, part.y, theta);
  }
  return out;
}

}  // namespace magva::prediction
