// Draws of a family on the device, and the model's log density and gradients there.
#include "family.cuh"

namespace magva_cuda {

namespace {

struct DrawWork {
  FamilyRows f;
  std::uint64_t iteration;
  const double* scaled_noise;
  __device__ RowSum<2> operator()(std::int64_t i) const {
    const DrawRow row = draw_row(f, i, iteration, scaled_noise);
    return {{row.log_scale, row.zero}};
  }
};
struct PathWork {
  FamilyRows f;
  const double* coefficients;
  __device__ void operator()(std::int64_t i) const { path_row(f, i, coefficients); }
};
/// Priors, and the way back to the family's coordinates: log prior, and 0 if the gradient is finite.
struct PriorWork {
  FamilyRows f;
  PriorRows prior;
  int draw;
  __device__ RowSum<2> operator()(std::int64_t i) const {
    double& slope = f.gradient[draw * f.rows + i];
    const double value = i < prior.coefficients ? prior_row(prior, i, f.theta[draw * f.rows + i], &slope) : 0.;
    if (f.scale != nullptr) slope *= f.scale[i];
    return {{value, slope * 0}};
  }
};

}  // namespace

void FamilyOnDevice::draw(std::int64_t iteration, const double* given) {
  const int p = f_.rank;
  const double* scaled_noise = upload(given, p * f_.draws);
  sums_.start(p * p + 2);
  // The standard deviations that the products need are the draws' first.
  sums_.go_to(p * p);
  sums_.add_rows<2>(DrawWork{f_, static_cast<std::uint64_t>(iteration), scaled_noise});
  sums_.go_to(0);
  sums_.add_gram(p, p, Columns{f_.factors.value, f_.rows}, Weighted{f_.factors.value, f_.sd, f_.rows});
  sums_.go_to(p * p + 2);
}

void FamilyOnDevice::path_inner() {
  const int p = f_.rank;
  sums_.start(p * f_.draws);
  sums_.add_gram(p, f_.draws, Columns{f_.factors.value, f_.rows}, OverScale{f_.epsilon, f_.sd, f_.rows});
}

void FamilyOnDevice::path_add(const double* given) {
  for_each_row(f_.rows, stream_, PathWork{f_, upload(given, f_.rank * f_.draws)});
}

void FamilyOnDevice::own(double* to) {
  const std::int64_t own = f_.rows - prior_.coefficients;
  if (own == 0) return;
  check(cudaMemcpy2DAsync(to, bytes_of(own), f_.theta + prior_.coefficients, bytes_of(f_.rows), bytes_of(own), static_cast<std::size_t>(f_.draws),
                          cudaMemcpyDeviceToHost, stream_),
        "to return coordinates");
  check(cudaStreamSynchronize(stream_), "to return coordinates");
}

void FamilyOnDevice::evaluate(const double* own_values, const double* own_slopes, double* log_density, double* finite) {
  const std::int64_t q = prior_.coefficients;
  const std::int64_t own = f_.rows - q;
  const int draws = f_.draws;
  double by_own[2 * MAGVA_CUDA_MOST_FAMILY_DRAWS];
  rows_.evaluate_resident({f_.theta, f_.rows, own_values, draws, nullptr, 0}, {log_density, f_.gradient, f_.rows, by_own});
  if (own > 0) {
    double* slopes = staged_.reserve(own * draws);
    for (int s = 0; s < draws; ++s)
      for (std::int64_t k = 0; k < own; ++k) slopes[s * own + k] = by_own[2 * s + k] + own_slopes[s * own + k];
    check(cudaMemcpy2DAsync(f_.gradient + q, bytes_of(f_.rows), slopes, bytes_of(own), bytes_of(own), static_cast<std::size_t>(draws),
                            cudaMemcpyHostToDevice, stream_),
          "to take derivatives");
  }
  sums_.start(2 * draws);
  for (int s = 0; s < draws; ++s) sums_.add_rows<2>(PriorWork{f_, prior_, s});
  double sums[2 * MAGVA_CUDA_MOST_FAMILY_DRAWS];
  sums_.finish(sums);
  for (int s = 0; s < draws; ++s) {
    log_density[s] += sums[2 * s];
    finite[s] = sums[2 * s + 1];
  }
}

}  // namespace magva_cuda
