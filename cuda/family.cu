#include "family.cuh"

#include <algorithm>
#include <cstring>

#include "launch.cuh"

namespace magva_cuda {

namespace {

constexpr int kTileRows = 64;
constexpr int kTilePitch = kTileRows + 1;  // columns of a tile begin in different banks
constexpr int kBlocksPerMultiprocessor = 2;

// Matrices whose products are summed, by row and column.
struct Columns {
  const double* data;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const { return data[j * rows + i]; }
};
/// epsilon / d2
struct OverScale {
  const double *data, *sd;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const { return data[j * rows + i] / sd[i]; }
};
/// B / d2^2
struct Weighted {
  const double *data, *sd;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const {
    const double inverse = 1 / sd[i];
    return data[j * rows + i] * (inverse * inverse);
  }
};

/// Each block sums its tiles of rows, in order; `partials` has p k values for each block.
template <class Left, class Right>
__global__ void gram_kernel(std::int64_t rows, int p, int k, Left a, Right b, double* partials) {
  extern __shared__ double memory[];
  double* left = memory;
  double* right = left + p * kTilePitch;
  double* sums = right + k * kTilePitch;
  for (int e = threadIdx.x; e < p * k; e += blockDim.x) sums[e] = 0;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTileRows; first < rows;
       first += static_cast<std::int64_t>(gridDim.x) * kTileRows) {
    __syncthreads();
    for (int e = threadIdx.x; e < (p + k) * kTileRows; e += blockDim.x) {
      const int r = e % kTileRows;
      const int j = e / kTileRows;
      const std::int64_t i = first + r;
      left[j * kTilePitch + r] = i >= rows ? 0. : j < p ? a(i, j) : b(i, j - p);  // `right` follows `left`
    }
    __syncthreads();
    for (int e = threadIdx.x; e < p * k; e += blockDim.x) {
      const double* x = left + e % p * kTilePitch;
      const double* y = right + e / p * kTilePitch;
      double sum = 0;
#pragma unroll 8
      for (int r = 0; r < kTileRows; ++r) sum += x[r] * y[r];
      sums[e] += sum;
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < p * k; e += blockDim.x) partials[static_cast<std::int64_t>(blockIdx.x) * p * k + e] = sums[e];
}

/// N sums of what of_row(i) returns, an array of so many.
template <int N>
struct RowSum {
  double value[N];
};

template <int N, class OfRow>
__global__ void sum_rows_kernel(std::int64_t rows, OfRow of_row, double* partials) {
  __shared__ double parts[kBlock / 32][N];
  double total[N] = {};
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const RowSum<N> row = of_row(i);
    for (int n = 0; n < N; ++n) total[n] += row.value[n];
  }
  for (int n = 0; n < N; ++n) {
    total[n] = warp_sum(total[n]);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][n] = total[n];
  }
  __syncthreads();
  if (threadIdx.x >= N) return;
  double sum = 0;
  for (int warp = 0; warp < kBlock / 32; ++warp) sum += parts[warp][threadIdx.x];
  partials[static_cast<std::int64_t>(blockIdx.x) * N + threadIdx.x] = sum;
}

/// A warp for each sum; the order is that of lanes and blocks.
__global__ void sum_blocks_kernel(const double* partials, int blocks, int count, double* out) {
  const std::int64_t e = thread_index() / 32;
  const int lane = threadIdx.x & 31;
  if (e >= count) return;
  double sum = 0;
  for (int b = lane; b < blocks; b += 32) sum += partials[static_cast<std::int64_t>(b) * count + e];
  sum = warp_sum(sum);
  if (lane == 0) out[e] = sum;
}

__global__ void largest_kernel(const double* x, std::int64_t count, unsigned long long* largest) {
  double most = 0;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const double size = fabs(x[i]);
    most = size > most ? size : most;
  }
  // Doubles that are not negative are ordered as their bits are.
  atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(most)));
}

template <class Work>
__global__ void rows_kernel(std::int64_t rows, Work work) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) work(i);
}

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
struct GradientWork {
  FamilyRows f;
  GradientGiven given;
  __device__ RowSum<1> operator()(std::int64_t i) const { return {{gradient_row(f, i, given)}}; }
};
struct DirectWork {
  FamilyRows f;
  const double *normal_memory, *normal_gradient, *power;
  __device__ void operator()(std::int64_t i) const { direct_row(f, i, normal_memory, normal_gradient, power); }
};
struct CombineWork {
  FamilyRows f;
  const double *normal_step, *normal_steps, *left, *right;
  __device__ void operator()(std::int64_t i) const {
    settle_row(f, i, normal_step, normal_steps);
    combine_row(f, i, left, right);
  }
};
struct TangentWork {
  FamilyRows f;
  const double *normal_step, *normal_steps;
  double scale;
  __device__ RowSum<1> operator()(std::int64_t i) const {
    settle_row(f, i, normal_step, normal_steps);
    return {{add_tangent_row(f, i, normal_step, scale)}};
  }
};
struct MultiplyWork {
  FamilyRows f;
  const double *by, *zero;
  __device__ void operator()(std::int64_t i) const { combine_row(f, i, by, zero); }
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

__global__ void drop_kernel(double* x, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count())
    if (!isfinite(x[i])) x[i] = 0;
}
__global__ void average_kernel(const double* x, std::int64_t count, double share, double* average) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) average[i] += share * (x[i] - average[i]);
}

std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(double); }

int memories_of(const magva_cuda_rule& rule, bool curved) {
  switch (rule.kind) {
    case MAGVA_CUDA_BASIC:
      return 0;
    case MAGVA_CUDA_ADADELTA:
      return curved ? 3 : 2;
    case MAGVA_CUDA_ADADELTA_STABLE:
    case MAGVA_CUDA_ADAM:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

FamilyOnDevice::FamilyOnDevice(Rows& rows, const magva_cuda_family_options& o)
    : rows_(rows), stream_(rows.stream()), blocks_(kBlocksPerMultiprocessor * rows.device().multiprocessors), averages_(o.averages != 0) {
  const std::int64_t m = o.dimension;
  f_.rows = m;
  f_.rank = o.rank;
  f_.draws = o.draws;
  f_.antithetic = o.antithetic != 0;
  f_.log_scales = o.log_scales != 0;
  f_.lower_trapezoidal = o.geometry == MAGVA_CUDA_LOWER_TRAPEZOIDAL;
  f_.curved = o.geometry == MAGVA_CUDA_CURVED;
  f_.seed = o.seed;
  f_.mean = make_block(MAGVA_CUDA_MEAN, o.mean_rule, 1);
  f_.residual = make_block(MAGVA_CUDA_RESIDUAL, o.residual_rule, 1);
  f_.factors = make_block(MAGVA_CUDA_FACTORS, o.factor_rule, o.rank);
  f_.direction = direction_.reserve(m * o.rank);
  f_.sd = sd_.reserve(m);
  f_.epsilon = epsilon_.reserve(m * o.draws);
  f_.theta = theta_.reserve(m * o.draws);
  f_.gradient = gradient_.reserve(m * o.draws);
  if (o.whitening_scale != nullptr) {
    double* whitening = whitening_.reserve(2 * m);
    check(cudaMemcpy(whitening, o.whitening_centre, bytes_of(m), cudaMemcpyHostToDevice), "to take the whitening");
    check(cudaMemcpy(whitening + m, o.whitening_scale, bytes_of(m), cudaMemcpyHostToDevice), "to take the whitening");
    f_.centre = whitening;
    f_.scale = whitening + m;
  }
  const std::int64_t q = rows.cols();
  double* prior = prior_values_.reserve(3 * q);
  check(cudaMemcpy(prior, o.prior_location, bytes_of(q), cudaMemcpyHostToDevice), "to take the prior");
  check(cudaMemcpy(prior + q, o.prior_scale, bytes_of(q), cudaMemcpyHostToDevice), "to take the prior");
  if (o.prior_degrees != nullptr) check(cudaMemcpy(prior + 2 * q, o.prior_degrees, bytes_of(q), cudaMemcpyHostToDevice), "to take the prior");
  prior_ = {q, prior, prior + q, o.prior_degrees != nullptr ? prior + 2 * q : nullptr};
}

FamilyBlock FamilyOnDevice::make_block(int block, const magva_cuda_rule& rule, std::int64_t cols) {
  const std::int64_t count = f_.rows * cols;
  auto& memory = blocks_memory_[block];
  FamilyBlock out{memory[MAGVA_CUDA_VALUE].reserve(count), {nullptr, nullptr, nullptr}, rule};
  for (int k = 0; k < memories_of(rule, block == MAGVA_CUDA_FACTORS && f_.curved); ++k)
    out.memory[k] = memory[MAGVA_CUDA_MEMORY + k].reserve(count);
  memory[MAGVA_CUDA_GOOD].reserve(count);
  if (averages_) memory[MAGVA_CUDA_AVERAGE].reserve(count);
  return out;
}

FamilyOnDevice::Part FamilyOnDevice::part(int block, int part) {
  return {blocks_memory_[block][part].data(), f_.rows * (block == MAGVA_CUDA_FACTORS ? f_.rank : 1)};
}

void FamilyOnDevice::write(int block, int which, const double* from) {
  const Part to = part(block, which);
  check(cudaMemcpyAsync(to.data, from, bytes_of(to.count), cudaMemcpyHostToDevice, stream_), "to take a block");
  check(cudaStreamSynchronize(stream_), "to take a block");
}

void FamilyOnDevice::read(int block, int which, double* to) {
  const Part from = part(block, which);
  check(cudaMemcpyAsync(to, from.data, bytes_of(from.count), cudaMemcpyDeviceToHost, stream_), "to return a block");
  check(cudaStreamSynchronize(stream_), "to return a block");
}

const double* FamilyOnDevice::upload(const double* given, std::int64_t count) {
  if (count == 0) return nullptr;
  std::memcpy(staged_.reserve(count), given, bytes_of(count));
  check(cudaMemcpyAsync(given_.reserve(count), staged_.data(), bytes_of(count), cudaMemcpyHostToDevice, stream_), "to take small matrices");
  return given_.data();
}

double* FamilyOnDevice::start_sums(std::int64_t count) {
  next_sum_ = sums_.reserve(count);
  next_partial_ = partials_.reserve(count * blocks_);
  return next_sum_;
}

template <class Left, class Right>
void FamilyOnDevice::gram(int p, int k, Left a, Right b) {
  if (p == 0 || k == 0) return;
  const std::size_t shared = bytes_of((p + k) * kTilePitch + p * k);
  const int blocks = static_cast<int>(std::min<std::int64_t>(blocks_, (f_.rows + kTileRows - 1) / kTileRows));
  gram_kernel<<<blocks, kBlock, shared, stream_>>>(f_.rows, p, k, a, b, next_partial_);
  sum_blocks_kernel<<<(p * k * 32 + kBlock - 1) / kBlock, kBlock, 0, stream_>>>(next_partial_, blocks, p * k, next_sum_);
  check_launch("to multiply blocks");
  next_sum_ += p * k;
  next_partial_ += static_cast<std::int64_t>(blocks) * p * k;
}

template <int N, class RowSums>
void FamilyOnDevice::sum_rows(RowSums of_row) {
  const int blocks = static_cast<int>(std::min<std::int64_t>(blocks_, blocks_for(f_.rows)));
  sum_rows_kernel<N><<<blocks, kBlock, 0, stream_>>>(f_.rows, of_row, next_partial_);
  sum_blocks_kernel<<<1, 32 * N, 0, stream_>>>(next_partial_, blocks, N, next_sum_);
  check_launch("to go over blocks");
  next_sum_ += N;
  next_partial_ += static_cast<std::int64_t>(blocks) * N;
}

template <class Work>
void FamilyOnDevice::for_each_row(Work work) {
  rows_kernel<<<blocks_for(f_.rows), kBlock, 0, stream_>>>(f_.rows, work);
  check_launch("to go over blocks");
}

void FamilyOnDevice::finish(double* sums) {
  check(cudaStreamSynchronize(stream_), "to go over blocks");
  std::copy(sums_.data(), next_sum_, sums);
}

void FamilyOnDevice::draw(std::int64_t iteration, const double* given) {
  const int p = f_.rank;
  const double* scaled_noise = upload(given, p * f_.draws);
  start_sums(p * p + 2);
  // The standard deviations that the products need are the draws' first.
  next_sum_ += p * p;
  sum_rows<2>(DrawWork{f_, static_cast<std::uint64_t>(iteration), scaled_noise});
  double* const end = next_sum_;
  next_sum_ = sums_.data();
  gram(p, p, Columns{f_.factors.value, f_.rows}, Weighted{f_.factors.value, f_.sd, f_.rows});
  next_sum_ = end;
}

void FamilyOnDevice::measure_step() {
  const int p = f_.rank;
  const Columns x{f_.factors.value, f_.rows};
  const Columns v{f_.direction, f_.rows};
  gram(p, p, x, x);
  gram(p, p, x, v);
  gram(p, p, v, v);
  if (f_.factors.rule.kind == MAGVA_CUDA_ADADELTA) gram(p, p, Columns{f_.factors.memory[2], f_.rows}, Columns{f_.factors.memory[1], f_.rows});
}

void FamilyOnDevice::gradient(const double* given) {
  const int p = f_.rank;
  const int draws = f_.draws;
  const double* weight = given + 2;
  // A draw that the model could not evaluate has nothing to say.
  for (int s = 0; s < draws; ++s)
    if (weight[s] == 0) check(cudaMemsetAsync(f_.gradient + s * f_.rows, 0, bytes_of(f_.rows), stream_), "to clear memory");
  const double* small = upload(given, 2 + draws + p * draws + p * p + 6);
  const double* noise = small + 2 + draws;
  const double* inverse = noise + p * draws;
  const Columns x{f_.factors.value, f_.rows};
  start_sums(p * draws + 1 + 4 * p * p);
  gram(p, draws, x, Columns{f_.gradient, f_.rows});
  sum_rows<1>(GradientWork{f_, {given[0], given[1] != 0, small + 2, noise, inverse, inverse + p * p}});
  if (!f_.curved) return;
  if (!has_two_stages(f_.factors.rule.kind)) return measure_step();
  gram(p, p, x, Columns{f_.factors.memory[0], f_.rows});
  if (f_.factors.rule.kind == MAGVA_CUDA_ADAM) gram(p, p, x, Columns{f_.direction, f_.rows});
}

void FamilyOnDevice::direct(const double* given) {
  const int p = f_.rank;
  const double* small = upload(given, 2 * p * p + 2);
  start_sums(4 * p * p);
  for_each_row(DirectWork{f_, small, small + p * p, small + 2 * p * p});
  measure_step();
}

void FamilyOnDevice::multiply(const double* given) {
  const int p = f_.rank;
  double* by = staged_.reserve(2 * p * p);
  std::copy_n(given, p * p, by);
  std::fill_n(by + p * p, p * p, 0.);
  check(cudaMemcpyAsync(given_.reserve(2 * p * p), by, bytes_of(2 * p * p), cudaMemcpyHostToDevice, stream_), "to take small matrices");
  for_each_row(MultiplyWork{f_, given_.data(), given_.data() + p * p});
}

void FamilyOnDevice::for_each_memory(void (*work)(double*, std::int64_t, cudaStream_t)) {
  for (int block = 0; block < 3; ++block)
    for (int k = 0; k < 3; ++k)
      if (const Part memory = part(block, MAGVA_CUDA_MEMORY + k); memory.data != nullptr) work(memory.data, memory.count, stream_);
}

void FamilyOnDevice::pass(int pass, std::int64_t iteration, const double* given, double* sums) {
  check(cudaSetDevice(rows_.device().device), "to be chosen");
  const int p = f_.rank;
  start_sums(1);
  switch (pass) {
    case MAGVA_CUDA_PASS_DRAW:
      draw(iteration, given);
      break;
    case MAGVA_CUDA_PASS_PATH_INNER:
      start_sums(p * f_.draws);
      gram(p, f_.draws, Columns{f_.factors.value, f_.rows}, OverScale{f_.epsilon, f_.sd, f_.rows});
      break;
    case MAGVA_CUDA_PASS_PATH_ADD:
      for_each_row(PathWork{f_, upload(given, p * f_.draws)});
      break;
    case MAGVA_CUDA_PASS_GRADIENT:
      gradient(given);
      break;
    case MAGVA_CUDA_PASS_DIRECT:
      direct(given);
      break;
    case MAGVA_CUDA_PASS_COMBINE: {
      const double* small = upload(given, 4 * p * p);
      for_each_row(CombineWork{f_, small, small + p * p, small + 2 * p * p, small + 3 * p * p});
      break;
    }
    case MAGVA_CUDA_PASS_ADD_TANGENT: {
      const double* small = upload(given, 2 * p * p);
      sum_rows<1>(TangentWork{f_, small, small + p * p, given[2 * p * p]});
      break;
    }
    case MAGVA_CUDA_PASS_GRAM: {
      start_sums(p * p + 1);
      const Columns x{f_.factors.value, f_.rows};
      gram(p, p, x, x);
      check(cudaMemsetAsync(given_.reserve(1), 0, 8, stream_), "to clear memory");
      largest_kernel<<<blocks_, kBlock, 0, stream_>>>(f_.factors.value, f_.rows * p, reinterpret_cast<unsigned long long*>(given_.data()));
      check_launch("to go over blocks");
      check(cudaMemcpyAsync(next_sum_++, given_.data(), 8, cudaMemcpyDeviceToHost, stream_), "to return sums");
      break;
    }
    case MAGVA_CUDA_PASS_MULTIPLY:
      multiply(given);
      break;
    case MAGVA_CUDA_PASS_REMEMBER:
      check(cudaMemcpyAsync(f_.factors.memory[2], f_.factors.value, bytes_of(f_.rows * p), cudaMemcpyDeviceToDevice, stream_), "to copy a block");
      break;
    case MAGVA_CUDA_PASS_DROP:
      for_each_memory([](double* memory, std::int64_t count, cudaStream_t stream) {
        drop_kernel<<<blocks_for(count), kBlock, 0, stream>>>(memory, count);
        check_launch("to go over memories");
      });
      break;
    case MAGVA_CUDA_PASS_AVERAGE:
      for (int block = 0; block < 3; ++block) {
        const Part from = part(block, MAGVA_CUDA_VALUE);
        if (from.count == 0) continue;
        average_kernel<<<blocks_for(from.count), kBlock, 0, stream_>>>(from.data, from.count, given[0], part(block, MAGVA_CUDA_AVERAGE).data);
        check_launch("to average");
      }
      break;
    case MAGVA_CUDA_PASS_KEEP_GOOD:
      for (int block = 0; block < 3; ++block) {
        const Part from = part(block, MAGVA_CUDA_VALUE);
        check(cudaMemcpyAsync(part(block, MAGVA_CUDA_GOOD).data, from.data, bytes_of(from.count), cudaMemcpyDeviceToDevice, stream_),
              "to copy a block");
      }
      break;
    default:
      throw Failure("the GPU was asked for a pass that it does not know");
  }
  finish(sums);
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
  const double* sums = start_sums(2 * draws);
  for (int s = 0; s < draws; ++s) sum_rows<2>(PriorWork{f_, prior_, s});
  check(cudaStreamSynchronize(stream_), "to evaluate priors");
  for (int s = 0; s < draws; ++s) {
    log_density[s] += sums[2 * s];
    finite[s] = sums[2 * s + 1];
  }
}

}  // namespace magva_cuda
