#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "magva/error.hpp"
#include "magva/sd_for.hpp"
#include "response/corrected_fit.hpp"
#include "sd_for/covariance_columns.hpp"
#include "sd_for/estimated_sds.hpp"
#include "sd_for/family_response.hpp"
#include "sd_for/sampled_columns.hpp"

namespace magva {

namespace {

/// Apart from the seeds of the assessment.
constexpr std::uint64_t kEstimateSeed = 6;
/// Of draws in each of two estimates of E[-Hessian].
constexpr Index kEstimatePairs = 2;
/// Of a fit with draws estimates take as many gradients as the fit has taken, at most, or so many a
/// parameter, if these are no more than three times as many.
constexpr std::int64_t kEstimateGradients = 50;
/// Of a fit without draws they take as many passes over the data as the fit has taken, or so many
/// multiplications, which take about two seconds.
constexpr double kEstimateWork = 2e10;

using ParameterPlaces = std::unordered_map<std::string, Index>;

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(std::move(part));
  return out;
}

Index parameter_place(const ParameterPlaces& places, const std::string& name) {
  const auto found = places.find(name);
  if (found == places.end())
    throw UsageError(fmt::format(
        "the model has no parameter '{}' whose sd could be asked for: give names as the model has them",
        name));
  return found->second;
}

/// In ascending order, each once.
std::vector<Index> coordinates_of(const Model& model, const std::vector<std::string>& names) {
  ParameterPlaces places;
  for (Index i = 0; i < model.dimension(); ++i) places.emplace(model.parameter_name(i), i);
  std::vector<Index> out;
  for (const std::string& entry : names) {
    const auto parts = places.contains(entry) ? std::vector{entry} : split_at_commas(entry);
    for (const std::string& name : parts) out.push_back(parameter_place(places, name));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// By exact expectations.
SampledColumns exact_columns(Evaluator& evaluator, const Gaussian& q, const std::vector<Index>& coordinates) {
  ExactElbo elbo(*evaluator.model().expectations(), evaluator.workers());
  const ExactObserver go_on = [&](std::int64_t, double) {
    evaluator.control()->poll();
    return true;
  };
  SampledColumns out{{}, Matrix(q.dimension(), static_cast<Index>(coordinates.size())), Vector()};
  for (const Index i : coordinates)
    if (const auto column = response_column(elbo, q, i, go_on)) {
      out.columns.col(static_cast<Index>(out.coordinates.size())) = *column;
      out.coordinates.push_back(i);
    }
  const auto found = static_cast<Index>(out.coordinates.size());
  out.columns.conservativeResize(Eigen::NoChange, found);
  out.se = Vector::Zero(found);
  return out;
}

/// By draws. A correction from which importance weights say that the posterior is further is none.
SampledColumns checked_columns(Evaluator& evaluator, const Gaussian& q, const std::vector<Index>& coordinates,
                               std::uint64_t seed) {
  SampledColumns out = sample_columns(evaluator, q, coordinates, seed);
  if (!out.coordinates.empty() &&
      !no_further(evaluator, q, with_covariance_columns(q, out.coordinates, out.columns), seed))
    out.coordinates.clear();
  return out;
}

/// A converged Gaussian without sds of all parameters.
bool can_be_corrected(const FitResult& result) {
  return result.stopped == StopReason::kConverged && !result.posterior.has_shape() &&
         !result.posterior.has_correction() && !result.posterior.is_sparse();
}

SampledColumns find_columns(Evaluator& evaluator, const FitResult& result,
                            const std::vector<Index>& coordinates, std::uint64_t seed) {
  if (coordinates.empty()) return {};
  if (result.expectations == Expectations::kExact && !result.posterior.is_dense())
    return exact_columns(evaluator, result.posterior, coordinates);
  return checked_columns(evaluator, result.posterior, coordinates, seed);
}

/// Low rank leaves sds to be estimated; where log h is not concave, they may be worse than the Gaussian's
/// own. Of a fit with draws the estimates themselves find that out: means of a few Hessians are then not
/// negative definite.
bool can_be_estimated(const Model& model, const FitResult& result) {
  if (result.posterior.is_dense()) return false;
  return result.expectations == Expectations::kExact ? model.expectations()->log_concave()
                                                     : model.dimension() > kMostResponseDimension;
}

std::optional<SdEstimates> exact_estimates(Evaluator& evaluator, const FitResult& result,
                                           std::uint64_t seed) {
  const Gaussian& q = result.posterior;
  ExactElbo elbo(*evaluator.model().expectations(), evaluator.workers());
  const CurvatureTimes curvature = [&](const Matrix& v) {
    evaluator.control()->poll();
    return curvature_times(elbo, q, v);
  };
  const double of_a_product = static_cast<double>(elbo.expected().terms() * q.dimension()) *
                              static_cast<double>(draws_at_once(q.dimension()));
  const auto affordable = static_cast<std::int64_t>(kEstimateWork / of_a_product);
  return estimate_sds(q, curvature, std::max(affordable, result.gradient_evaluations), seed);
}

std::optional<SdEstimates> sampled_estimates(Evaluator& evaluator, const FitResult& result,
                                             std::uint64_t seed) {
  const Gaussian& q = result.posterior;
  const MeanCurvature one(evaluator, q, kEstimatePairs, seed);
  const MeanCurvature other(evaluator, q, kEstimatePairs, seed + 1);
  const std::int64_t gradients = std::clamp(kEstimateGradients * q.dimension(), result.gradient_evaluations,
                                            3 * result.gradient_evaluations);
  const std::int64_t of_a_product = (one.cost() + other.cost()) * draws_at_once(q.dimension());
  return estimate_sds(
      q, [&](const Matrix& v) { return one.times_unit_columns(v); },
      [&](const Matrix& v) { return other.times_unit_columns(v); }, gradients / of_a_product, seed);
}

struct FoundSds {
  SampledColumns columns;
  std::optional<SdEstimates> estimates;
};

/// What a result with this ending and posterior allows.
FoundSds find_sds(const Model& model, const FitResult& result, const std::vector<Index>& coordinates,
                  const FitOptions& options, const std::vector<Observer>& observers) {
  FoundSds out;
  const bool estimated = can_be_estimated(model, result);
  if (!can_be_corrected(result) || (coordinates.empty() && !estimated)) return out;
  Control control({.seconds = options.time_limit - result.seconds}, observers, Phase::kAssessment);
  control.go_on_from({{Phase::kAssessment, 0, result.gradient_evaluations, result.seconds, result.elbo},
                      static_cast<double>(result.gradient_evaluations)});
  Evaluator evaluator(model, choose_threads(options.threads, model), &control);
  try {
    control.enter(Phase::kAssessment);
    out.columns = find_columns(evaluator, result, coordinates, options.seed);
    if (estimated)
      out.estimates = result.expectations == Expectations::kExact
                          ? exact_estimates(evaluator, result, options.seed + kEstimateSeed)
                          : sampled_estimates(evaluator, result, options.seed + kEstimateSeed);
  } catch (const Stopped&) {  // the other sds stay as they are
  }
  return out;
}

}  // namespace

void check_sd_names(const Model& model, const std::vector<std::string>& names) {
  coordinates_of(model, names);
}

SdCorrection correct_sds(const Model& model, FitResult& result, const std::vector<std::string>& names,
                         const FitOptions& options, const std::vector<Observer>& observers) {
  const std::vector<Index> coordinates = coordinates_of(model, names);
  SdCorrection out;
  out.all = result.posterior.has_correction() && !result.posterior.has_shape();
  if (out.all) return out;
  FoundSds sds = find_sds(model, result, coordinates, options, observers);
  out.estimates = std::move(sds.estimates);
  const SampledColumns& found = sds.columns;
  for (const Index i : coordinates) {
    const bool corrected = std::binary_search(found.coordinates.begin(), found.coordinates.end(), i);
    (corrected ? out.parameters : out.failed).push_back(model.parameter_name(i));
  }
  if (found.coordinates.empty()) return out;
  out.se = found.se.maxCoeff();
  result.posterior = result.posterior.with_correction(
      with_covariance_columns(result.posterior, found.coordinates, found.columns));
  return out;
}

}  // namespace magva
