// Probabilities of ordered and categorical responses.
#include <algorithm>
#include <cmath>

#include "magva/class_regression.hpp"
#include "magva/error.hpp"
#include "prediction/predict_formula.hpp"
#include "source/class_reporter.hpp"

namespace magva::prediction {

namespace {

/// The rows as the model takes them: cut points are in the place of an ordered response's intercept.
Design class_design(const source::FormulaModel& model, const NewRows& rows, Index begin, Index count) {
  auto x = std::get<DenseRows<double>>(rows.design.storage());
  x.data += begin * x.stride;
  x.rows = count;
  if (model.family == Distribution::ordered) {
    ++x.data;
    --x.cols;
  }
  return Design::view(x);
}

/// Fills in what some rows' probabilities, one matrix per draw, say.
void fill_classes(const std::vector<Matrix>& draws, const NewRows& rows, Index begin, double level,
                  RowPredictions& out) {
  const Index count = draws.front().rows(), size = static_cast<Index>(draws.size());
  for (const Matrix& draw : draws)
    out.probabilities.middleRows(begin, count) += draw / static_cast<double>(size);
  Matrix likeliest(count, size);
  for (Index i = 0; i < count; ++i) {
    Index best = 0;
    out.probabilities.row(begin + i).maxCoeff(&best);
    out.mean(begin + i) = static_cast<double>(best);
    for (Index s = 0; s < size; ++s) likeliest(i, s) = draws[static_cast<std::size_t>(s)](i, best);
    if (rows.response.size() > 0)
      out.log_score(begin + i) =
          std::log(out.probabilities(begin + i, static_cast<Index>(rows.response(begin + i))));
  }
  fill_quantiles(likeliest, begin, level, out);
}

}  // namespace

RowPredictions predict_classes(const source::FormulaModel& model, const NewRows& rows,
                               const Gaussian& posterior, const PredictOptions& options) {
  if (options.scale == PredictionScale::link)
    throw UsageError("classes are predicted by their probabilities: leave out --scale link");
  const ClassRegression regression = source::class_regression_without_data(model);
  const Matrix theta = posterior.best().draws(options.draws, options.seed);
  if (theta.rows() != regression.dimension())
    throw DataError("the posterior is not that of this model: fit again");
  const Index n = rows.design.rows();
  RowPredictions out = empty_predictions(n, rows.response.size());
  out.probabilities = Matrix::Zero(n, regression.classes());
  const Index step = std::max<Index>(1, kValuesAtOnce / (options.draws * regression.classes()));
  for (Index begin = 0; begin < n; begin += step) {
    const Index count = std::min(step, n - begin);
    const Design design = class_design(model, rows, begin, count);
    const Vector offset = rows.offset.size() > 0 ? Vector(rows.offset.segment(begin, count)) : Vector();
    std::vector<Matrix> draws;
    for (Index s = 0; s < theta.cols(); ++s)
      draws.push_back(regression.probabilities(design, offset, theta.col(s)));
    fill_classes(draws, rows, begin, options.level, out);
  }
  return out;
}

}  // namespace magva::prediction
