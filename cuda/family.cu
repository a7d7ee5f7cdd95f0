#include "family.cuh"

#include <algorithm>
#include <cstring>

namespace magva_cuda {

namespace {

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
    : rows_(rows), stream_(rows.stream()), averages_(o.averages != 0), sums_(o.dimension, rows.device().multiprocessors, stream_) {
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

void FamilyOnDevice::remember() {
  check(cudaMemcpyAsync(f_.factors.memory[2], f_.factors.value, bytes_of(f_.rows * f_.rank), cudaMemcpyDeviceToDevice, stream_), "to copy a block");
}

void FamilyOnDevice::keep_good() {
  for (int block = 0; block < 3; ++block) {
    const Part from = part(block, MAGVA_CUDA_VALUE);
    check(cudaMemcpyAsync(part(block, MAGVA_CUDA_GOOD).data, from.data, bytes_of(from.count), cudaMemcpyDeviceToDevice, stream_), "to copy a block");
  }
}

void FamilyOnDevice::pass(int pass, std::int64_t iteration, const double* given, double* sums) {
  check(cudaSetDevice(rows_.device().device), "to be chosen");
  sums_.start(1);
  switch (pass) {
    case MAGVA_CUDA_PASS_DRAW:
      draw(iteration, given);
      break;
    case MAGVA_CUDA_PASS_PATH_INNER:
      path_inner();
      break;
    case MAGVA_CUDA_PASS_PATH_ADD:
      path_add(given);
      break;
    case MAGVA_CUDA_PASS_GRADIENT:
      gradient(given);
      break;
    case MAGVA_CUDA_PASS_DIRECT:
      direct(given);
      break;
    case MAGVA_CUDA_PASS_COMBINE:
      combine(given);
      break;
    case MAGVA_CUDA_PASS_ADD_TANGENT:
      add_tangent(given);
      break;
    case MAGVA_CUDA_PASS_GRAM:
      gram();
      break;
    case MAGVA_CUDA_PASS_MULTIPLY:
      multiply(given);
      break;
    case MAGVA_CUDA_PASS_REMEMBER:
      remember();
      break;
    case MAGVA_CUDA_PASS_DROP:
      drop();
      break;
    case MAGVA_CUDA_PASS_AVERAGE:
      average(given[0]);
      break;
    case MAGVA_CUDA_PASS_KEEP_GOOD:
      keep_good();
      break;
    default:
      throw Failure("the GPU was asked for a pass that it does not know");
  }
  sums_.finish(sums);
}

}  // namespace magva_cuda
