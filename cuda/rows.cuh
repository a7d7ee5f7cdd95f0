#pragma once
// The rows of a regression on the device: sums over them for draws of the coefficients, and under a Gaussian.
#include <functional>
#include <memory>
#include <string>

#include "design.cuh"
#include "fused.cuh"

namespace magva_cuda {

/// Quadrature rules in the device's memory.
class Rules {
 public:
  void take(const magva_cuda_rules& rules, cudaStream_t stream);
  const NormalRules& view() const { return view_; }

 private:
  Buffer<double> largest_sd_, node_, weight_;
  Buffer<std::int64_t> start_;
  NormalRules view_{};
};

/// Of each draw, if the likelihood is Gaussian.
template <class Real>
struct OwnOfDraws {
  const Real* precision;
  const Real* log_scale;
};

class Rows {
 public:
  explicit Rows(const magva_cuda_problem& problem);
  ~Rows();

  void evaluate(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  /// The same where the draws' coefficients, and the gradients that come back, are in the device's memory.
  void evaluate_resident(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  void expect(const magva_cuda_gaussian& q, magva_cuda_expectations& out);
  const DeviceFacts& device() const { return device_; }
  std::int64_t cols() const { return design_->cols(); }
  cudaStream_t stream() const { return stream_; }
  const std::string& description() const { return description_; }

 private:
  /// A few draws by the fused kernels, any number of draws by matrix products.
  template <class Store, class Real>
  void evaluate_fused(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  template <class Real>
  void evaluate_group(const FusedPlan& plan, const magva_cuda_draws& draws, std::int64_t first, std::int64_t count,
                      const magva_cuda_sums& out);
  template <class Real>
  void evaluate_many(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  /// A few draws that the fused kernels do not take.
  template <class Store, class Real>
  void evaluate_few(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  template <class Store, class Real>
  void evaluate_dense(const magva_cuda_draws& draws, const magva_cuda_sums& out);
  void evaluate_sparse(const magva_cuda_draws& draws, std::int64_t first, std::int64_t count, const magva_cuda_sums& out);
  template <class Real>
  const Real* upload_draws(const magva_cuda_draws& draws, std::int64_t first, std::int64_t count, std::int64_t places);
  /// From gradient_ and sums_ to the host.
  void fetch_sums(std::int64_t draws);
  /// `each` sums of a draw: log likelihood, and by own coordinates.
  void return_sums(std::int64_t first, std::int64_t count, int each, const magva_cuda_sums& out) const;
  /// Turns a tile's predictors into residuals, and adds up the sums of each draw; of rows from `first` on.
  template <class Real>
  void differentiate_tile(std::int64_t first, std::int64_t nb, Real* predictors, std::int64_t draws, const OwnOfDraws<Real>& own);
  /// Calls use(rows) for the rows that are evaluated, part by part: all, or those that were chosen.
  void for_each_part(const std::function<void(const RowsInMemory&)>& use);
  void choose(const std::int64_t* rows, std::int64_t count);
  bool is_family() const { return likelihood_ > MAGVA_CUDA_GAUSSIAN; }

  /// A tile's rows as matrix products need them.
  template <class Real>
  const Real* tile_as(const void* part, std::int64_t first, std::int64_t count);
  std::int64_t tile_rows(std::int64_t predictors) const;
  template <class Real>
  Observations observations(std::int64_t first) const;
  void expect_tile(const double* x, std::int64_t first, std::int64_t count, const magva_cuda_gaussian& q, const magva_cuda_expectations& out);
  void upload_gaussian(const magva_cuda_gaussian& q);
  void return_expectations(const magva_cuda_gaussian& q, magva_cuda_expectations& out);
  void describe(const char* name);
  cublasHandle_t blas();

  DeviceFacts device_{};
  int likelihood_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  std::unique_ptr<DesignOnDevice> design_;
  bool single_;    // arithmetic of draws
  /// Values of the rows in double precision and, where draws are evaluated so, in single.
  struct PerRow {
    Buffer<double> values;
    Buffer<float> single;
    void take(const double* from, std::int64_t count, bool single_too, cudaStream_t stream);
    void choose(const PerRow& all, const std::int64_t* rows, std::int64_t count, cudaStream_t stream);
    template <class Real>
    const Real* from(std::int64_t first) const;
  };
  struct RowValues {
    PerRow response, weight, offset, status;
  };
  RowValues all_, chosen_;
  const RowValues* current_ = &all_;
  bool resident_ = false;
  std::int64_t chosen_count_ = 0;
  Buffer<std::int64_t> chosen_rows_;
  Buffer<unsigned char> chosen_design_;
  Rules rules_;
  std::string description_;

  Buffer<double> own_values_;           // of the draws
  Buffer<magva_cuda_own_node> own_nodes_;  // of a Gaussian
  HostBuffer<unsigned char> staged_draws_;
  Buffer<unsigned char> draws_;
  HostBuffer<double> out_, out_sums_;
  Buffer<double> block_gradients_, block_sums_;

  Buffer<unsigned char> tile_, predictors_, tile_gradient_;
  Buffer<double> gradient_, sums_, chunk_sums_;
  Buffer<double> q_, variance_, curvature_, square_sums_, diagonal_, scaled_, matrix_;
};

}  // namespace magva_cuda
