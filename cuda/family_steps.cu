// The ELBO's gradient by a family's blocks on the device, and the steps of update rules.
#include "family.cuh"

namespace magva_cuda {

namespace {

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

__global__ void largest_kernel(const double* x, std::int64_t count, unsigned long long* largest) {
  double most = 0;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const double size = fabs(x[i]);
    most = size > most ? size : most;
  }
  // Doubles that are not negative are ordered as their bits are.
  atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(most)));
}

__global__ void drop_kernel(double* x, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count())
    if (!isfinite(x[i])) x[i] = 0;
}
__global__ void average_kernel(const double* x, std::int64_t count, double share, double* average) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) average[i] += share * (x[i] - average[i]);
}

}  // namespace

void FamilyOnDevice::measure_step() {
  const int p = f_.rank;
  const Columns x{f_.factors.value, f_.rows};
  const Columns v{f_.direction, f_.rows};
  sums_.add_gram(p, p, x, x);
  sums_.add_gram(p, p, x, v);
  sums_.add_gram(p, p, v, v);
  if (f_.factors.rule.kind == MAGVA_CUDA_ADADELTA) sums_.add_gram(p, p, Columns{f_.factors.memory[2], f_.rows}, Columns{f_.factors.memory[1], f_.rows});
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
  sums_.start(p * draws + 1 + 4 * p * p);
  sums_.add_gram(p, draws, x, Columns{f_.gradient, f_.rows});
  sums_.add_rows<1>(GradientWork{f_, {given[0], given[1] != 0, small + 2, noise, inverse, inverse + p * p}});
  if (!f_.curved) return;
  if (!has_two_stages(f_.factors.rule.kind)) return measure_step();
  sums_.add_gram(p, p, x, Columns{f_.factors.memory[0], f_.rows});
  if (f_.factors.rule.kind == MAGVA_CUDA_ADAM) sums_.add_gram(p, p, x, Columns{f_.direction, f_.rows});
}

void FamilyOnDevice::direct(const double* given) {
  const int p = f_.rank;
  const double* small = upload(given, 2 * p * p + 2);
  sums_.start(4 * p * p);
  for_each_row(f_.rows, stream_, DirectWork{f_, small, small + p * p, small + 2 * p * p});
  measure_step();
}

void FamilyOnDevice::multiply(const double* given) {
  const int p = f_.rank;
  double* by = staged_.reserve(2 * p * p);
  std::copy_n(given, p * p, by);
  std::fill_n(by + p * p, p * p, 0.);
  check(cudaMemcpyAsync(given_.reserve(2 * p * p), by, bytes_of(2 * p * p), cudaMemcpyHostToDevice, stream_), "to take small matrices");
  for_each_row(f_.rows, stream_, MultiplyWork{f_, given_.data(), given_.data() + p * p});
}

void FamilyOnDevice::combine(const double* given) {
  const int p = f_.rank;
  const double* small = upload(given, 4 * p * p);
  for_each_row(f_.rows, stream_, CombineWork{f_, small, small + p * p, small + 2 * p * p, small + 3 * p * p});
}

void FamilyOnDevice::add_tangent(const double* given) {
  const int p = f_.rank;
  const double* small = upload(given, 2 * p * p);
  sums_.add_rows<1>(TangentWork{f_, small, small + p * p, given[2 * p * p]});
}

void FamilyOnDevice::gram() {
  const int p = f_.rank;
  sums_.start(p * p + 1);
  const Columns x{f_.factors.value, f_.rows};
  sums_.add_gram(p, p, x, x);
  check(cudaMemsetAsync(given_.reserve(1), 0, 8, stream_), "to clear memory");
  largest_kernel<<<sums_.blocks(), kBlock, 0, stream_>>>(f_.factors.value, f_.rows * p, reinterpret_cast<unsigned long long*>(given_.data()));
  check_launch("to go over blocks");
  check(cudaMemcpyAsync(sums_.take(1), given_.data(), 8, cudaMemcpyDeviceToHost, stream_), "to return sums");
}

void FamilyOnDevice::drop() {
  for (int block = 0; block < 3; ++block)
    for (int k = 0; k < 3; ++k) {
      const Part memory = part(block, MAGVA_CUDA_MEMORY + k);
      if (memory.data == nullptr) continue;
      drop_kernel<<<blocks_for(memory.count), kBlock, 0, stream_>>>(memory.data, memory.count);
      check_launch("to go over memories");
    }
}

void FamilyOnDevice::average(double share) {
  for (int block = 0; block < 3; ++block) {
    const Part from = part(block, MAGVA_CUDA_VALUE);
    if (from.count == 0) continue;
    average_kernel<<<blocks_for(from.count), kBlock, 0, stream_>>>(from.data, from.count, share, part(block, MAGVA_CUDA_AVERAGE).data);
    check_launch("to average");
  }
}

}  // namespace magva_cuda
