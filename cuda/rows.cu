#include "rows.cuh"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace magva_cuda {

namespace {

/// Of a tile's values, about.
constexpr std::int64_t kTileValues = std::int64_t{1} << 25;
constexpr std::int64_t kMostTileRows = 65536;

}  // namespace

Rows::Rows(const magva_cuda_problem& problem)
    : likelihood_(problem.likelihood), single_(problem.storage == MAGVA_CUDA_FLOAT32 || problem.storage == MAGVA_CUDA_INT8_SINGLE) {
  check(cudaSetDevice(problem.device), "to be chosen");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, problem.device), "to describe itself");
  device_ = {problem.device, properties.multiProcessorCount, 10 * properties.major + properties.minor};
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "to start");
  design_ = std::make_unique<DesignOnDevice>(problem, stream_);
  all_.response.take(problem.response, problem.rows, single_, stream_);
  if (problem.weight != nullptr) all_.weight.take(problem.weight, problem.rows, single_, stream_);
  if (problem.offset != nullptr) all_.offset.take(problem.offset, problem.rows, single_, stream_);
  if (problem.status != nullptr) all_.status.take(problem.status, problem.rows, single_, stream_);
  if (is_family()) rules_.take(problem.rules, stream_);
  check(cudaStreamSynchronize(stream_), "to take the response");
  describe(properties.name);
}

Rows::~Rows() {
  cudaSetDevice(device_.device);
  if (blas_) cublasDestroy(blas_);
  if (stream_) cudaStreamDestroy(stream_);
}

void Rows::describe(const char* name) {
  static const char* const kStored[] = {"float64", "float32", "int8", "sparse"};
  char text[256];
  std::snprintf(text, sizeof text, "%s, design of %.2f GB in %s%s", name, static_cast<double>(design_->bytes()) / 1e9,
                kStored[static_cast<int>(design_->stored())], design_->streamed() ? ", copied over in every pass" : "");
  description_ = text;
}

cublasHandle_t Rows::blas() {
  if (blas_ == nullptr) {
    check(cublasCreate(&blas_), "to start");
    check(cublasSetStream(blas_, stream_), "to start");
  }
  return blas_;
}

std::int64_t Rows::tile_rows(std::int64_t predictors) const {
  const std::int64_t fit = kTileValues / std::max(design_->stride(), predictors) / kChunkRows * kChunkRows;
  return std::clamp(fit, kChunkRows, kMostTileRows);
}

void Rows::PerRow::take(const double* from, std::int64_t count, bool single_too, cudaStream_t stream) {
  check(cudaMemcpyAsync(values.reserve(count), from, static_cast<std::size_t>(count) * 8, cudaMemcpyHostToDevice, stream), "to take the rows");
  if (single_too) convert(values.data(), count, single.reserve(count), stream);
}

void Rows::PerRow::choose(const PerRow& all, const std::int64_t* rows, std::int64_t count, cudaStream_t stream) {
  if (all.values.size() > 0) gather(all.values.data(), rows, count, values.reserve(count), stream);
  if (all.single.size() > 0) gather(all.single.data(), rows, count, single.reserve(count), stream);
}

/// Null if there are none.
template <class Real>
const Real* Rows::PerRow::from(std::int64_t first) const {
  if (values.size() == 0) return nullptr;
  if constexpr (sizeof(Real) == 4)
    return single.data() + first;
  else
    return values.data() + first;
}

template <class Real>
Observations Rows::observations(std::int64_t first) const {
  return {likelihood_, current_->response.from<Real>(first), current_->weight.from<Real>(first), current_->offset.from<Real>(first),
          current_->status.from<Real>(first)};
}
template Observations Rows::observations<float>(std::int64_t) const;
template Observations Rows::observations<double>(std::int64_t) const;

void Rows::choose(const std::int64_t* rows, std::int64_t count) {
  if (design_->sparse()) throw Failure("a sparse design on a GPU has no minibatches: leave out --batch, or --device cuda");
  const std::int64_t* on_device = chosen_rows_.reserve(count);
  check(cudaMemcpyAsync(chosen_rows_.data(), rows, static_cast<std::size_t>(count) * 8, cudaMemcpyHostToDevice, stream_), "to take a minibatch");
  chosen_.response.choose(all_.response, on_device, count, stream_);
  chosen_.weight.choose(all_.weight, on_device, count, stream_);
  chosen_.offset.choose(all_.offset, on_device, count, stream_);
  chosen_.status.choose(all_.status, on_device, count, stream_);
  design_->gather(rows, on_device, count, chosen_design_, stream_);
  chosen_count_ = count;
}

void Rows::for_each_part(const std::function<void(const RowsInMemory&)>& use) {
  if (current_ == &chosen_)
    use({chosen_design_.data(), 0, chosen_count_});
  else
    design_->for_each_part(stream_, use);
}

template <class T>
static const T* copied(Buffer<T>& to, const T* from, std::int64_t count, cudaStream_t stream) {
  check(cudaMemcpyAsync(to.reserve(count), from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice, stream), "to take rules");
  return to.data();
}

void Rules::take(const magva_cuda_rules& rules, cudaStream_t stream) {
  const std::int64_t nodes = rules.start[rules.count];
  view_ = {copied(largest_sd_, rules.largest_sd, rules.count, stream), copied(start_, rules.start, rules.count + 1, stream),
           copied(node_, rules.node, nodes, stream), copied(weight_, rules.weight, nodes, stream), static_cast<int>(rules.count)};
}

template <class Real>
const Real* Rows::tile_as(const void* part, std::int64_t first, std::int64_t count) {
  const std::int64_t stride = design_->stride();
  const auto memory = [&] { return reinterpret_cast<Real*>(tile_.reserve(count * stride * static_cast<std::int64_t>(sizeof(Real)))); };
  switch (design_->stored()) {
    case Stored::float64:
      if constexpr (sizeof(Real) == 8) return static_cast<const Real*>(part) + first * stride;
      break;
    case Stored::float32:
      if constexpr (sizeof(Real) == 4)
        return static_cast<const Real*>(part) + first * stride;
      else
        convert(static_cast<const float*>(part) + first * stride, count * stride, memory(), stream_);
      break;
    case Stored::int8:
      convert(static_cast<const signed char*>(part) + first * stride, count * stride, memory(), stream_);
      break;
    case Stored::sparse:
      if constexpr (sizeof(Real) == 8) {
        check(cudaMemsetAsync(memory(), 0, static_cast<std::size_t>(count * stride) * 8, stream_), "to clear memory");
        densify(design_->by_rows(), first, count, memory(), stride, stream_);
      }
      break;
  }
  return memory();
}
template const float* Rows::tile_as<float>(const void*, std::int64_t, std::int64_t);
template const double* Rows::tile_as<double>(const void*, std::int64_t, std::int64_t);

}  // namespace magva_cuda
