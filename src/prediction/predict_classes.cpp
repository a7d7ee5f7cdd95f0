// Probabilities of ordered and categorical responses.
#include <algorithm>
#include <cmath>

#include "magva/class_regression.hpp"
#include "magva/error.hpp"
#include "models/class_likelihood.hpp"
#include "prediction/predict_formula.hpp"
#include "source/class_reporter.hpp"

namespace magva::prediction {

namespace {

/// Draws of each linear predictor. An ordered response's coefficients begin with a 0 in the intercept's
/// place.
class ClassDraws {
 public:
  ClassDraws(const source::FormulaModel& model, const Gaussian& posterior, const PredictOptions& options)
      : classes_(static_cast<Index>(model.design.response.classes.size())),
        likelihood_(model.family == Distribution::ordered ? detail::cumulative_logit_likelihood(classes_)
                                                          : detail::softmax_likelihood(classes_)),
        draws_(model.grouped() || model.draws ? stored_draws(model, options.draws, options.seed)
                                              : gaussian_draws(model, posterior, options)) {}

  Index classes() const { return classes_; }
  Index size() const { return draws_.front().size(); }
  const Matrix& own() const { return draws_.front().own; }
  /// The linear predictors of rows, a matrix with a column per draw for each.
  std::vector<Matrix> predictors(const NewRows& rows, Index begin, Index count,
                                 std::mt19937_64& generator) const {
    std::vector<Matrix> eta;
    for (const FormulaDraws& one : draws_)
      eta.push_back(linear_predictors(one, rows, begin, count, generator));
    return eta;
  }
  /// Column s * classes + k: of class k in draw s.
  void probabilities(const std::vector<Matrix>& eta, MatrixRef out) const {
    Vector one(static_cast<Index>(eta.size())), p(classes_);
    for (Index s = 0; s < size(); ++s)
      for (Index i = 0; i < out.rows(); ++i) {
        for (std::size_t c = 0; c < eta.size(); ++c) one(static_cast<Index>(c)) = eta[c](i, s);
        likelihood_->probabilities(one.data(), own().col(s).data(), p.data());
        out.row(i).segment(s * classes_, classes_) = p.transpose();
      }
  }

 private:
  static std::vector<FormulaDraws> gaussian_draws(const source::FormulaModel& model,
                                                  const Gaussian& posterior, const PredictOptions& options) {
    const ClassRegression regression = source::class_regression_without_data(model);
    const Matrix theta = options.draws_of(posterior);
    if (theta.rows() != regression.dimension())
      throw DataError("the posterior is not that of this model: fit again");
    const Index columns = model.design.centre.size();
    std::vector<FormulaDraws> draws(static_cast<std::size_t>(regression.predictors()));
    for (FormulaDraws& one : draws) one.coefficients = Matrix::Zero(columns, theta.cols());
    draws[0].own.resize(regression.cut_points(theta.col(0)).size(), theta.cols());
    for (Index s = 0; s < theta.cols(); ++s) {
      const Matrix beta = regression.coefficients(theta.col(s));
      for (std::size_t c = 0; c < draws.size(); ++c)
        draws[c].coefficients.col(s).tail(beta.rows()) = beta.col(static_cast<Index>(c));
      draws[0].own.col(s) = regression.cut_points(theta.col(s));
    }
    return draws;
  }

  Index classes_;
  std::shared_ptr<const detail::ClassLikelihood> likelihood_;
  std::vector<FormulaDraws> draws_;
};

/// Fills in what some rows' probabilities, as ClassDraws gives them, say.
void fill_classes(const Matrix& draws, const NewRows& rows, Index begin, double level, RowPredictions& out) {
  const Index count = draws.rows(), classes = out.probabilities.cols(), size = draws.cols() / classes;
  for (Index s = 0; s < size; ++s)
    out.probabilities.middleRows(begin, count) +=
        draws.middleCols(s * classes, classes) / static_cast<double>(size);
  Matrix likeliest(count, size);
  for (Index i = 0; i < count; ++i) {
    Index best = 0;
    out.probabilities.row(begin + i).maxCoeff(&best);
    out.mean(begin + i) = static_cast<double>(best);
    for (Index s = 0; s < size; ++s) likeliest(i, s) = draws(i, s * classes + best);
    if (rows.response.size() > 0)
      out.log_score(begin + i) =
          std::log(out.probabilities(begin + i, static_cast<Index>(rows.response(begin + i))));
  }
  fill_quantiles(likeliest, begin, level, out);
}

}  // namespace

CheckInput class_check_input(const source::FormulaModel& model, std::shared_ptr<const NewRows> rows,
                             const Gaussian& posterior, const PredictOptions& options) {
  const auto draws = std::make_shared<const ClassDraws>(model, posterior, options);
  CheckInput input;
  input.rows = {rows->response.data(), nullptr, nullptr, rows->response.size()};
  input.seed = options.seed;
  if (model.family == Distribution::ordered) {
    input.family = model.response_family();
    input.own = draws->own();
    input.predictor = [draws, rows](Index first, MatrixRef eta) {
      std::mt19937_64 unused(1);
      eta = draws->predictors(*rows, first, eta.rows(), unused).front();
    };
    return input;
  }
  input.own = Matrix(0, draws->size());
  input.classes = draws->classes();
  input.probabilities = [draws, rows](Index first, MatrixRef probabilities) {
    std::mt19937_64 unused(1);
    draws->probabilities(draws->predictors(*rows, first, probabilities.rows(), unused), probabilities);
  };
  return input;
}

RowPredictions predict_classes(const source::FormulaModel& model, const NewRows& rows,
                               const Gaussian& posterior, const PredictOptions& options) {
  if (options.scale == PredictionScale::link)
    throw UsageError("classes are predicted by their probabilities: leave out --scale link");
  const ClassDraws draws(model, posterior, options);
  const Index n = rows.design.rows();
  RowPredictions out = empty_predictions(n, rows.response.size());
  out.probabilities = Matrix::Zero(n, draws.classes());
  std::mt19937_64 generator(options.seed);
  const Index step = std::max<Index>(1, kValuesAtOnce / (draws.size() * draws.classes()));
  for (Index begin = 0; begin < n; begin += step) {
    const Index count = std::min(step, n - begin);
    Matrix probabilities(count, draws.size() * draws.classes());
    draws.probabilities(draws.predictors(rows, begin, count, generator), probabilities);
    fill_classes(probabilities, rows, begin, options.level, out);
  }
  return out;
}

}  // namespace magva::prediction
