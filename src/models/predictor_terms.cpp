// How the curvatures of a regression change with the Gaussian, by differences of exact expectations.
#include <array>
#include <cmath>

#include "models/design_moments.hpp"
#include "models/expected_regression.hpp"

namespace magva::detail {

namespace {

/// A curvature at five means, -2 to 2 steps from the centre, and its derivatives of fourth order. With the
/// heat equation, d E f'' / d variance = (d^2 E f'' / d mean^2) / 2, they give both derivatives.
struct Stencil {
  std::array<Vector, 5> at;

  Vector by_mean(const Vector& step) const {
    return (at[0] - 8 * at[1] + 8 * at[3] - at[4]).cwiseQuotient(12 * step);
  }
  Vector by_variance(const Vector& step) const {
    return (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]).cwiseQuotient(24 * step.cwiseAbs2());
  }
};

Vector variances(const RowMatrix& rows, const GaussianView& q) {
  Vector out = (rows * q.factors).rowwise().squaredNorm();
  if (q.residual_sd.size() > 0) out += rows.cwiseAbs2() * q.residual_sd.cwiseAbs2();
  return out;
}

/// Steps as wide as errors of 1e-10 in the curvatures ask for; the curvatures vary over 1 + sd.
Vector steps_for(const Vector& variance) { return .05 * (1 + variance.array().sqrt()); }

/// Of the likelihood's rows, filled up as their responses are.
Stencil likelihood_stencil(const RegressionParts& parts, const Vector& mean, const Vector& variance,
                           const Vector& step) {
  const Index filled = padded(mean.size());
  Vector shifted = Vector::Zero(filled);
  Vector spread = Vector::Zero(filled);
  Vector slope(filled);
  Vector curvature(filled);
  spread.head(mean.size()) = variance;
  Stencil out;
  for (int k = 0; k < 5; ++k) {
    shifted.head(mean.size()) = mean + (k - 2) * step;
    const PredictorBlock block{parts.response->data(),
                               parts.weight->data(),
                               shifted.data(),
                               spread.data(),
                               nullptr,
                               filled,
                               parts.status ? parts.status->data() : nullptr};
    parts.likelihood->expect(block, {}, {slope.data(), curvature.data(), nullptr});
    out.at[static_cast<std::size_t>(k)] = -curvature.head(mean.size());
  }
  return out;
}

/// Of the diagonal of a separable prior: a step of all means at once is one of each alone.
Stencil prior_stencil(const ExpectedPrior& prior, const GaussianView& q, const Vector& step) {
  Stencil out;
  for (int k = 0; k < 5; ++k) {
    const Vector mean = q.mean + (k - 2) * step;
    Vector gradient = Vector::Zero(mean.size());
    SymmetricEntries entries;
    prior.expect({mean, q.factors, q.residual_sd}, gradient, entries);
    Vector& diagonal = out.at[static_cast<std::size_t>(k)];
    diagonal = Vector::Zero(mean.size());
    for (const SymmetricEntry& entry : entries)
      if (entry.row == entry.column) diagonal(entry.row) -= entry.value;
  }
  return out;
}

Vector coordinate_sds(const GaussianView& q) {
  Vector out(q.mean.size());
  for (Index i = 0; i < out.size(); ++i) out(i) = std::sqrt(q.covariance(i, i));
  return out;
}

/// A row for each coordinate whose prior is no quadratic.
void append_prior_terms(const Stencil& stencil, const Vector& step, PredictorTerms& terms) {
  const Vector by_mean = stencil.by_mean(step);
  const Vector by_variance = stencil.by_variance(step);
  std::vector<Index> curved;
  for (Index i = 0; i < by_mean.size(); ++i)
    if ((stencil.at[0](i) != stencil.at[2](i)) || (stencil.at[4](i) != stencil.at[2](i))) curved.push_back(i);
  const Index n = terms.rows.rows();
  const auto more = static_cast<Index>(curved.size());
  terms.rows.conservativeResize(n + more, Eigen::NoChange);
  terms.rows.bottomRows(more).setZero();
  terms.by_mean.conservativeResize(n + more);
  terms.by_variance.conservativeResize(n + more);
  for (Index k = 0; k < more; ++k) {
    const Index i = curved[static_cast<std::size_t>(k)];
    terms.rows(n + k, i) = 1;
    terms.by_mean(n + k) = by_mean(i);
    terms.by_variance(n + k) = by_variance(i);
  }
}

}  // namespace

RowMatrix dense_rows(const Design& design) {
  return std::visit(
      [](const auto& x) {
        RowMatrix out = RowMatrix::Zero(x.rows, x.cols);
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, SparseRows>) {
          for (Index i = 0; i < x.rows; ++i)
            for (std::int64_t k = x.starts[i]; k < x.starts[i + 1]; ++k) out(i, x.columns[k]) += x.values[k];
        } else {
          for (Index i = 0; i < x.rows; ++i)
            for (Index j = 0; j < x.cols; ++j) out(i, j) = static_cast<double>(x.data[i * x.stride + j]);
        }
        return out;
      },
      design.storage());
}

std::optional<PredictorTerms> ExpectedRegression::predictor_terms(const GaussianView& q) const {
  const Design& design = parts_.kernel->design();
  if (parts_.has_nuisance || !parts_.prior->separable() || design.cols() != dimension()) return std::nullopt;
  PredictorTerms out;
  out.rows = dense_rows(design);
  Vector mean = out.rows * q.mean;
  if (parts_.offset) mean += parts_.offset->head(mean.size());
  const Vector variance = variances(out.rows, q);
  const Vector step = steps_for(variance);
  const Stencil likelihood = likelihood_stencil(parts_, mean, variance, step);
  out.by_mean = likelihood.by_mean(step);
  out.by_variance = likelihood.by_variance(step);
  const Vector prior_step = .1 * coordinate_sds(q);
  append_prior_terms(prior_stencil(*parts_.prior, q, prior_step), prior_step, out);
  return out;
}

}  // namespace magva::detail
