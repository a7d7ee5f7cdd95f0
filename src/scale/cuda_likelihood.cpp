#include "scale/cuda_likelihood.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "magva/error.hpp"
#include "models/likelihood.hpp"
#include "scale/cuda_families.hpp"
#include "scale/cuda_family.hpp"
#include "scale/cuda_plugin.hpp"
#include "scale/likelihood_model.hpp"

namespace magva::detail {

namespace {

/// Beyond so many columns a sparse design is not unpacked for the products of expectations.
constexpr Index kWidestUnpacked = 20'000;

class CudaExpectations final : public ExpectedLogDensity {
 public:
  CudaExpectations(const RegressionTerms& terms, std::shared_ptr<const RowsOnDevice> rows)
      : rows_(std::move(rows)),
        likelihood_(terms.likelihood),
        kind_(cuda_likelihood(*likelihood_)),
        observations_(terms.design.rows()),
        coefficients_(terms.design.cols()),
        has_nuisance_(terms.likelihood->nuisance_count() > 0),
        known_log_scale_(has_nuisance_ ? 0 : terms.likelihood->shape(nullptr).log_scale),
        constant_(terms.constant),
        log_concave_(terms.likelihood->expectations()->log_concave()) {}

  Index dimension() const override { return coefficients_ + (has_nuisance_ ? 1 : 0); }
  bool log_concave() const override { return log_concave_; }
  Index terms() const override { return observations_; }
  std::unique_ptr<Scratch> make_scratch(Index) const override { return std::make_unique<Scratch>(); }

  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation&) const override {
    const Index factors = q.factors.cols();
    curvature.times_factors.setZero(dimension(), factors);
    curvature.diagonal.setZero(dimension());
    magva_cuda_expectations out{};
    out.times_factors = curvature.times_factors.data();
    out.times_factors_stride = dimension();
    out.diagonal = curvature.diagonal.data();
    const Vector cross = pass(q, gradient, out);
    if (has_nuisance_) {
      const Index last = coefficients_;
      curvature.times_factors.topRows(coefficients_) += cross * q.factors.row(last);
      curvature.times_factors.row(last) =
          cross.transpose() * q.factors.topRows(coefficients_) + out.curvature * q.factors.row(last);
      curvature.diagonal(last) = out.curvature;
    }
    return constant_ + out.value;
  }

  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature, Evaluation&) const override {
    curvature.setZero(dimension(), dimension());
    magva_cuda_expectations out{};
    out.matrix = curvature.data();
    out.matrix_stride = dimension();
    const Vector cross = pass(q, gradient, out);
    if (has_nuisance_) {
      curvature.row(coefficients_).head(coefficients_) = cross.transpose();
      curvature(coefficients_, coefficients_) = out.curvature;
    }
    curvature.triangularView<Eigen::StrictlyUpper>() = curvature.transpose();
    return constant_ + out.value;
  }

 private:
  /// Fills in `gradient`; returns the curvature between coefficients and the own coordinate.
  Vector pass(const GaussianView& q, VectorRef gradient, magva_cuda_expectations& out) const {
    magva_cuda_gaussian from{};
    Vector square;
    Vector covariance;
    from.mean = q.mean.data();
    from.factors = q.factors.data();
    from.factor_stride = q.factors.outerStride();
    from.factor_count = q.factors.cols();
    from.own_mean = known_log_scale_;
    if (q.residual_sd.size() > 0) {
      square = q.residual_sd.head(coefficients_).cwiseAbs2();
      from.square = square.data();
    }
    Vector cross(has_nuisance_ ? coefficients_ : 0);
    if (has_nuisance_) {
      const Index last = coefficients_;
      covariance = q.factors.topRows(coefficients_) * q.factors.row(last).transpose();
      from.covariance = covariance.data();
      from.own_mean = q.mean(last);
      from.own_variance = q.covariance(last, last);
      out.cross = cross.data();
    }
    out.gradient = gradient.data();
    const auto nodes = cuda_own_nodes(kind_, *likelihood_, {from.own_mean, from.own_variance});
    if (nodes) {
      from.own_nodes = nodes->data();
      from.own_node_count = static_cast<std::int64_t>(nodes->size());
      rows_->expect(from, out);
    } else {
      gradient.setZero();
      cross.setZero();
      out.value = std::numeric_limits<double>::quiet_NaN();
    }
    if (has_nuisance_) gradient(coefficients_) = out.slope;
    return cross;
  }

  std::shared_ptr<const RowsOnDevice> rows_;
  std::shared_ptr<const Likelihood> likelihood_;
  int kind_;
  Index observations_;
  Index coefficients_;
  bool has_nuisance_;
  double known_log_scale_;
  double constant_;
  bool log_concave_;
};

struct CudaScratch final : Scratch {
  explicit CudaScratch(Index draws) : own_values(MAGVA_CUDA_OWN_VALUES, draws), by_own(2, draws) {}
  Matrix own_values, by_own;
};

class CudaRows final : public SampledModel, public DeviceRows {
 public:
  CudaRows(const RegressionTerms& terms, std::shared_ptr<const RowsOnDevice> rows, Index family_above)
      : design_(terms.design),
        likelihood_(terms.likelihood),
        kind_(cuda_likelihood(*likelihood_)),
        constant_(terms.constant),
        rows_(std::move(rows)),
        family_above_(family_above) {
    const bool too_wide =
        std::holds_alternative<SparseRows>(design_.storage()) && design_.cols() > kWidestUnpacked;
    if (likelihood_->expectations() && !too_wide) expected_.emplace(terms, rows_);
  }

  Index dimension() const override { return design_.cols() + likelihood_->nuisance_count(); }
  Index rows() const override { return design_.rows(); }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override {
    return std::make_unique<CudaScratch>(draws);
  }
  std::unique_ptr<Scratch> make_sample_scratch(Index draws, Index) const override {
    return make_scratch(draws);
  }
  const ExpectedLogDensity* expectations() const override { return expected_ ? &*expected_ : nullptr; }
  Index family_above() const override { return family_above_; }
  std::unique_ptr<DeviceFamily> make_family(const magva_cuda_family_options& options,
                                            const IndependentPriors& priors,
                                            double prior_constant) const override {
    return make_cuda_family(rows_, likelihood_, options, priors, prior_constant + constant_);
  }

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    evaluate_sample({nullptr, rows(), 1}, theta, log_density, gradient, evaluation);
  }

  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override {
    if (sample.count == 0) {
      log_density.setConstant(constant_);
      gradient.setZero();
      return;
    }
    auto& scratch = static_cast<CudaScratch&>(evaluation.scratch);
    for (Index s = 0; s < theta.cols(); ++s)
      cuda_own_values(kind_, shape_at(*likelihood_, theta.col(s)), scratch.own_values.col(s).data());
    rows_->evaluate({theta.data(), theta.outerStride(), scratch.own_values.data(), theta.cols(), sample.rows,
                     sample.count},
                    {log_density.data(), gradient.data(), gradient.outerStride(), scratch.by_own.data()});
    const Index own = likelihood_->nuisance_count();
    gradient.bottomRows(own) = scratch.by_own.topLeftCorner(own, theta.cols());
    log_density *= sample.scale;
    log_density.array() += constant_;
    if (sample.scale != 1) gradient *= sample.scale;
  }

 private:
  Design design_;  // a streamed one is read by the plug-in
  std::shared_ptr<const Likelihood> likelihood_;
  int kind_;
  double constant_;
  std::shared_ptr<const RowsOnDevice> rows_;
  Index family_above_;
  std::optional<CudaExpectations> expected_;
};

}  // namespace

CudaLikelihood make_cuda_likelihood(const RegressionTerms& terms, const DeviceOptions& options) {
  auto rows = std::make_shared<const RowsOnDevice>(terms, options);
  std::string description = rows->description();
  return {std::make_unique<CudaRows>(terms, std::move(rows), options.family_above), std::move(description)};
}

}  // namespace magva::detail

namespace magva {

DeviceModel on_device(const Regression& regression, const DeviceOptions& options) {
  const detail::RegressionTerms terms = regression.terms();
  detail::CudaLikelihood rows = detail::make_cuda_likelihood(terms, options);
  return {std::make_shared<detail::RegressionOf>(terms, std::move(rows.model), regression.start(),
                                                 std::make_shared<const Regression>(regression)),
          std::move(rows.description)};
}

std::string why_family_stays(const Model& model, const Algorithm1Options& options, Index rank) {
  const auto* regression = dynamic_cast<const detail::RegressionOf*>(&model);
  if (regression == nullptr || !regression->wants_family()) return {};
  FitterOptions all;
  static_cast<Algorithm1Options&>(all) = options;
  all.rank = rank;
  auto why = regression->family_stays();
  if (!why) why = family_stays(all);
  return why ? fmt::format(
                   "the Gaussian is updated on the processor, and its {} parameters go over the bus in "
                   "every step: {}",
                   model.dimension(), *why)
             : std::string();
}

}  // namespace magva
