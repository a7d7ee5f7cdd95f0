// The rows of a fit at draws from its posterior, for checks.
#include "magva/diagnostics.hpp"
#include "magva/mixed.hpp"
#include "magva/predict.hpp"
#include "magva/prediction.hpp"
#include "prediction/predict_formula.hpp"
#include "source/model_spec.hpp"

namespace magva::prediction {

namespace {

/// The family of a regression that no formula describes; null for P-splines.
std::shared_ptr<const ResponseFamily> family_of(const source::ModelSpec& spec, const Vector& response) {
  using source::RegressionKind;
  const Distribution family = spec.model == RegressionKind::logistic  ? Distribution::bernoulli
                              : spec.model == RegressionKind::poisson ? Distribution::poisson
                                                                      : Distribution::gaussian;
  if (spec.spline) return nullptr;
  return make_response_family(family, default_link(family), default_own_parameters(family, response));
}

std::optional<CheckInput> table_check_input(const source::ModelSpec& spec,
                                            std::shared_ptr<const NewRows> rows, const Gaussian& posterior,
                                            const PredictOptions& options) {
  CheckInput input;
  input.family = family_of(spec, rows->response);
  if (!input.family) return std::nullopt;
  const auto model = std::make_shared<const Regression>(source::model_without_data(spec));
  const auto theta = std::make_shared<const Matrix>(posterior.best().draws(options.draws, options.seed));
  input.rows = {rows->response.data(), nullptr, nullptr, rows->response.size()};
  input.predictor = [model, theta, rows](Index first, MatrixRef eta) {
    eta = linear_predictor(*model, rows_from(rows->design, first, eta.rows()), *theta);
  };
  input.own = theta->bottomRows(input.family->own_count());
  input.seed = options.seed;
  return input;
}

/// Whether draws can be taken for the posterior's: nearly equal weights correct nothing, and their k-hat,
/// which is that of noise, would be read as the rows'. The KL divergence is then below an eighth of a nat.
bool close(const Vector& log_weights) {
  constexpr double kCloseSpread = .5;
  const double n = static_cast<double>(log_weights.size());
  const double variance = (log_weights.array() - log_weights.mean()).square().sum() / n;
  return variance < kCloseSpread * kCloseSpread;
}

}  // namespace

std::optional<CheckInput> check_input(const source::ModelSource& source, const Gaussian& posterior,
                                      Index draws, std::uint64_t seed) {
  if (!source.rows || !source.spec || source.rows->response.size() == 0) return std::nullopt;
  PredictOptions options;
  options.draws = draws;
  options.seed = seed;
  const auto spec = source::stored_spec(source, posterior);
  std::optional<CheckInput> input = spec->formula
                                        ? formula_check_input(*spec->formula, source.rows, posterior, options)
                                        : table_check_input(*spec, source.rows, posterior, options);
  if (input && source.rows->weights.size() > 0) input->row_weights = source.rows->weights.data();
  // Draws of a fit with groups are resampled already.
  if (input && !source.mixed) {
    const Posterior& drawn = posterior.best();
    const Matrix theta = drawn.draws(draws, seed);
    Vector log_weights = log_densities(*source.model, theta) - drawn.log_density(theta);
    if (!close(log_weights)) input->log_weights = std::move(log_weights);
  }
  return input;
}

}  // namespace magva::prediction
