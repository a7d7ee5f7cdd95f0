#pragma once
// Predictions of regressions by formulas, and what all predictions share.
#include "magva/formula_model.hpp"
#include "magva/prediction.hpp"

namespace magva::prediction {

inline constexpr Index kValuesAtOnce = 4'000'000;  // rows times draws

/// A view of some of the rows, while the design lives.
Design rows_from(const Design& design, Index begin, Index count);
RowPredictions empty_predictions(Index rows, Index responses);
/// Quantiles along the rows of `values`, which are those from `begin` on.
void fill_quantiles(const Matrix& values, Index begin, double level, RowPredictions& out);

NewRows encode_formula_rows(const table::Table& table, const source::FormulaModel& model,
                            table::MissingPolicy missing);
RowPredictions predict_formula_rows(const source::FormulaModel& model, const NewRows& rows,
                                    const Gaussian& posterior, const PredictOptions& options);

/// `rows` are those of the fit.
std::optional<CheckInput> formula_check_input(const source::FormulaModel& model,
                                              std::shared_ptr<const NewRows> rows, const Gaussian& posterior,
                                              const PredictOptions& options);

/// Of an ordered or categorical response.
RowPredictions predict_classes(const source::FormulaModel& model, const NewRows& rows,
                               const Gaussian& posterior, const PredictOptions& options);

}  // namespace magva::prediction
