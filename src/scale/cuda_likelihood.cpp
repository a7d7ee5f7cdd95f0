#include "scale/cuda_likelihood.hpp"

#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <optional>

#include "magva/error.hpp"
#include "models/likelihood.hpp"
#include "scale/cuda_families.hpp"
#include "scale/likelihood_model.hpp"
#include "scale/plugin.hpp"

namespace magva::detail {

namespace {

/// Beyond so many columns a sparse design is not unpacked for the products of expectations.
constexpr Index kWidestUnpacked = 20'000;

struct CudaFunctions {
  CudaFunctions()
      : plugin(
            "libmagva_cuda.so", "MAGVA_CUDA_PLUGIN",
            "magva was installed without its CUDA plug-in libmagva_cuda.so, or cannot load it: build it with "
            "nvcc (docs/scale.md), or fit without --device cuda"),
        create(plugin.find<decltype(magva_cuda_create)>("magva_cuda_create")),
        destroy(plugin.find<decltype(magva_cuda_destroy)>("magva_cuda_destroy")),
        describe(plugin.find<decltype(magva_cuda_describe)>("magva_cuda_describe")),
        evaluate(plugin.find<decltype(magva_cuda_evaluate)>("magva_cuda_evaluate")),
        expect(plugin.find<decltype(magva_cuda_expect)>("magva_cuda_expect")) {
    if (plugin.find<decltype(magva_cuda_interface)>("magva_cuda_interface")() != MAGVA_CUDA_INTERFACE)
      throw UsageError("the CUDA plug-in belongs to another version of magva: build both from one source");
  }

  Plugin plugin;
  decltype(magva_cuda_create)* create;
  decltype(magva_cuda_destroy)* destroy;
  decltype(magva_cuda_describe)* describe;
  decltype(magva_cuda_evaluate)* evaluate;
  decltype(magva_cuda_expect)* expect;
};

const CudaFunctions& functions() {
  static const CudaFunctions all;
  return all;
}

void set_rows(const DenseRows<double>& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_FLOAT64;
  problem.data = rows.data;
  problem.stride = rows.stride;
}
void set_rows(const DenseRows<float>& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_FLOAT32;
  problem.data = rows.data;
  problem.stride = rows.stride;
}
void set_rows(const SparseRows& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_SPARSE;
  problem.starts = rows.starts;
  problem.columns = rows.columns;
  problem.values = rows.values;
}

/// The rows in the plug-in's hands.
class RowsOnDevice {
 public:
  RowsOnDevice(const RegressionTerms& terms, const DeviceOptions& options) {
    magva_cuda_problem problem{};
    problem.likelihood = cuda_likelihood(*terms.likelihood);
    problem.device = options.device;
    problem.rows = terms.design.rows();
    problem.cols = terms.design.cols();
    std::visit([&](const auto& rows) { set_rows(rows, problem); }, terms.design.storage());
    problem.response = terms.response->data();
    problem.weight = terms.unweighted ? nullptr : terms.weight->data();
    problem.offset = terms.offset ? terms.offset->data() : nullptr;
    problem.status = terms.status ? terms.status->data() : nullptr;
    problem.rules = cuda_rules();
    problem.memory_limit = options.memory_limit;
    if (const char* failed = functions().create(&problem, &rows_)) throw UsageError(failed);
  }
  ~RowsOnDevice() { functions().destroy(rows_); }
  RowsOnDevice(const RowsOnDevice&) = delete;
  RowsOnDevice& operator=(const RowsOnDevice&) = delete;

  std::string description() const { return functions().describe(rows_); }

  void evaluate(const magva_cuda_draws& draws, const magva_cuda_sums& out) const {
    const std::lock_guard lock(mutex_);
    if (const char* failed = functions().evaluate(rows_, &draws, &out)) throw IoError(failed);
  }
  void expect(const magva_cuda_gaussian& q, magva_cuda_expectations& out) const {
    const std::lock_guard lock(mutex_);
    if (const char* failed = functions().expect(rows_, &q, &out)) throw IoError(failed);
  }

 private:
  magva_cuda_rows* rows_ = nullptr;
  mutable std::mutex mutex_;  // they have one set of buffers
};

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

class CudaRows final : public SampledModel {
 public:
  CudaRows(const RegressionTerms& terms, std::shared_ptr<const RowsOnDevice> rows)
      : design_(terms.design),
        likelihood_(terms.likelihood),
        kind_(cuda_likelihood(*likelihood_)),
        constant_(terms.constant),
        rows_(std::move(rows)) {
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
  std::optional<CudaExpectations> expected_;
};

}  // namespace

CudaLikelihood make_cuda_likelihood(const RegressionTerms& terms, const DeviceOptions& options) {
  auto rows = std::make_shared<const RowsOnDevice>(terms, options);
  std::string description = rows->description();
  return {std::make_unique<CudaRows>(terms, std::move(rows)), std::move(description)};
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

}  // namespace magva
