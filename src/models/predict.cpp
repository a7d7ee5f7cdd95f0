#include "magva/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "magva/error.hpp"
#include "models/design_kernel.hpp"
#include "models/likelihood.hpp"

namespace magva {

namespace {
void require_fitting(const Regression& model, const Design& design, ConstMatrixRef draws) {
  if (design.cols() != model.coefficient_count())
    throw DataError(fmt::format("the rows to predict have {} columns but the model has {} coefficients",
                                design.cols(), model.coefficient_count()));
  if (draws.rows() != model.dimension())
    throw UsageError(
        fmt::format("the draws have {} coordinates but the model has {}", draws.rows(), model.dimension()));
}
}  // namespace

Matrix linear_predictor(const Regression& model, const Design& design, ConstMatrixRef draws) {
  require_fitting(model, design, draws);
  const auto kernel = detail::make_kernel(design);
  Vector packed(kernel->packed_size(draws.cols()));
  Vector beta(model.coefficient_count());
  for (Index s = 0; s < draws.cols(); ++s) {
    model.coefficients(draws.col(s), beta);
    kernel->pack(beta.data(), s, draws.cols(), packed.data());
  }
  Matrix eta(design.rows(), draws.cols());
  const Index step = kernel->block_rows();
  for (Index i = 0; i < eta.rows(); i += step)
    kernel->multiply({nullptr, i, std::min(step, eta.rows() - i)}, packed.data(), draws.cols(),
                     eta.data() + i, eta.rows());
  return eta;
}

Matrix expected_response(const Regression& model, const Design& design, ConstMatrixRef draws) {
  const Likelihood& likelihood = model.likelihood();
  Matrix mean = linear_predictor(model, design, draws);
  for (Index s = 0; s < draws.cols(); ++s) {
    const Shape shape = detail::shape_at(likelihood, draws.col(s));
    for (double& value : mean.col(s)) value = likelihood.mean(value, shape);
  }
  return mean;
}

Vector predictive_mean(const Regression& model, const Design& design, ConstMatrixRef draws) {
  return expected_response(model, design, draws).rowwise().mean();
}

Vector log_predictive_density(const Regression& model, const Design& design, ConstVectorRef response,
                              ConstMatrixRef draws) {
  if (response.size() != design.rows())
    throw DataError(
        fmt::format("there are {} rows to score but {} responses", design.rows(), response.size()));
  for (const std::string& problem : model.likelihood().validate(response)) throw DataError(problem);
  Matrix log_density = linear_predictor(model, design, draws);
  for (Index s = 0; s < draws.cols(); ++s)
    model.likelihood().log_density(response, log_density.col(s),
                                   detail::shape_at(model.likelihood(), draws.col(s)));
  const Vector largest = log_density.rowwise().maxCoeff();
  const Vector mean = (log_density.colwise() - largest).array().exp().rowwise().mean();
  return largest.array() + mean.array().log();
}

Matrix simulate_response(const Regression& model, const Design& design, ConstMatrixRef draws,
                         std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Matrix y = linear_predictor(model, design, draws);
  for (Index s = 0; s < draws.cols(); ++s) {
    const Shape shape = detail::shape_at(model.likelihood(), draws.col(s));
    for (double& value : y.col(s)) value = model.likelihood().simulate(value, shape, generator);
  }
  return y;
}

}  // namespace magva
