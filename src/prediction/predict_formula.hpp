#pragma once
// Predictions of regressions by formulas, and what all predictions share.
#include <random>

#include "magva/formula_model.hpp"
#include "magva/prediction.hpp"

namespace magva::prediction {

inline constexpr Index kValuesAtOnce = 4'000'000;  // rows times draws

/// A view of some of the rows, while the design lives.
Design rows_from(const Design& design, Index begin, Index count);
RowPredictions empty_predictions(Index rows, Index responses);
/// Quantiles along the rows of `values`, which are those from `begin` on.
void fill_quantiles(const Matrix& values, Index begin, double level, RowPredictions& out);

/// Draws of all that a row's linear predictor and its distribution depend on: one column per draw.
struct FormulaDraws {
  Matrix coefficients;  ///< of the design as it is centred and scaled
  Matrix own;           ///< the family's own values
  /// Of each group term: the effects of the known groups, and Cholesky factors of the effects' covariance,
  /// one per draw.
  std::vector<Matrix> effects;
  std::vector<std::vector<Matrix>> population;

  Index size() const { return coefficients.cols(); }
};

/// What a fit with groups has stored, for each linear predictor.
std::vector<FormulaDraws> stored_draws(const source::FormulaModel& model, Index count, std::uint64_t seed);
/// Linear predictors of rows, a column per draw. Groups that the fit has not seen are drawn.
Matrix linear_predictors(const FormulaDraws& draws, const NewRows& rows, Index begin, Index count,
                         std::mt19937_64& generator);

NewRows encode_formula_rows(const table::Table& table, const source::FormulaModel& model,
                            table::MissingPolicy missing);
RowPredictions predict_formula_rows(const source::FormulaModel& model, const NewRows& rows,
                                    const Gaussian& posterior, const PredictOptions& options);

/// `rows` are those of the fit.
CheckInput formula_check_input(const source::FormulaModel& model, std::shared_ptr<const NewRows> rows,
                               const Gaussian& posterior, const PredictOptions& options);

/// The same for an ordered or categorical response.
CheckInput class_check_input(const source::FormulaModel& model, std::shared_ptr<const NewRows> rows,
                             const Gaussian& posterior, const PredictOptions& options);
RowPredictions predict_classes(const source::FormulaModel& model, const NewRows& rows,
                               const Gaussian& posterior, const PredictOptions& options);

}  // namespace magva::prediction
