#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "design.cuh"

namespace magva_cuda {

namespace {

/// Bytes at a multiple of which each row begins.
constexpr std::int64_t kAligned = 16;
/// Left to everything but the design.
constexpr std::int64_t kReserve = std::int64_t{2} << 30;
constexpr std::int64_t kPartBytes = std::int64_t{256} << 20;
/// Rows that are looked at before a design is tried in int8.
constexpr std::int64_t kGlance = 64;

std::int64_t available_memory(std::int64_t limit) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "to say how much memory it has");
  const std::int64_t most = std::max<std::int64_t>(0, static_cast<std::int64_t>(free) - kReserve);
  return limit > 0 ? std::min(limit, most) : most;
}

template <class From>
bool looks_like_int8(const magva_cuda_problem& problem) {
  const auto* data = static_cast<const From*>(problem.data);
  for (std::int64_t i = 0; i < std::min(kGlance, problem.rows); ++i)
    for (std::int64_t j = 0; j < problem.cols; ++j) {
      const From value = data[i * problem.stride + j];
      if (!(value >= -128 && value <= 127 && value == std::rint(value))) return false;
    }
  return true;
}

std::string gigabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

template <class T>
const T* upload(Buffer<T>& to, const T* from, std::int64_t count) {
  to.reserve(std::max<std::int64_t>(1, count));
  check(cudaMemcpy(to.data(), from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice), "to take the design");
  return to.data();
}

}  // namespace

DesignOnDevice::DesignOnDevice(const magva_cuda_problem& problem, cudaStream_t stream) : rows_(problem.rows), cols_(problem.cols) {
  const std::int64_t available = available_memory(problem.memory_limit);
  if (problem.storage == MAGVA_CUDA_SPARSE)
    place_sparse(problem, available);
  else
    place_dense(problem, available, stream);
}

DesignOnDevice::~DesignOnDevice() {
  if (registered_) cudaHostUnregister(const_cast<unsigned char*>(host_));
  for (int k = 0; k < 2; ++k) {
    if (copied_[k]) cudaEventDestroy(copied_[k]);
    if (used_[k]) cudaEventDestroy(used_[k]);
  }
  if (copies_) cudaStreamDestroy(copies_);
}

void DesignOnDevice::copy_rows(std::int64_t first, std::int64_t count, void* to, cudaStream_t stream) const {
  check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(stride_ * element_), host_ + first * host_stride_ * element_,
                          static_cast<std::size_t>(host_stride_ * element_), static_cast<std::size_t>(cols_ * element_),
                          static_cast<std::size_t>(count), cudaMemcpyHostToDevice, stream),
        "to take the design");
}

// 0/1 and small whole numbers take an eighth or a quarter of the memory, and of the time to read them.
template <class From>
bool DesignOnDevice::place_as_int8(const magva_cuda_problem& problem, cudaStream_t stream) {
  if (!looks_like_int8<From>(problem)) return false;
  const std::int64_t each = std::max<std::int64_t>(1, kPartBytes / (stride_ * element_));
  Buffer<unsigned char> part(std::min(each, rows_) * stride_ * element_);
  Buffer<int> inexact(1);
  check(cudaMemsetAsync(part.data(), 0, static_cast<std::size_t>(part.size()), stream), "to clear memory");
  check(cudaMemsetAsync(inexact.data(), 0, sizeof(int), stream), "to clear memory");
  resident_.reserve(rows_ * stride_);
  for (std::int64_t first = 0; first < rows_; first += each) {
    const std::int64_t count = std::min(each, rows_ - first);
    copy_rows(first, count, part.data(), stream);
    convert_exactly(reinterpret_cast<const From*>(part.data()), count * stride_,
                    reinterpret_cast<signed char*>(resident_.data()) + first * stride_, inexact.data(), stream);
  }
  int failed = 0;
  check(cudaMemcpyAsync(&failed, inexact.data(), sizeof(int), cudaMemcpyDeviceToHost, stream), "to return values");
  check(cudaStreamSynchronize(stream), "to take the design");
  if (failed) resident_.release();
  return failed == 0;
}

void DesignOnDevice::place_dense(const magva_cuda_problem& problem, std::int64_t available, cudaStream_t stream) {
  const bool single = problem.storage == MAGVA_CUDA_FLOAT32;
  const bool bytes = problem.storage == MAGVA_CUDA_INT8 || problem.storage == MAGVA_CUDA_INT8_SINGLE;
  stored_ = bytes ? Stored::int8 : single ? Stored::float32 : Stored::float64;
  host_ = static_cast<const unsigned char*>(problem.data);
  host_stride_ = problem.stride;
  element_ = bytes ? 1 : single ? 4 : 8;
  stride_ = round_up<std::int64_t>(cols_, kAligned);
  if (!bytes && rows_ * stride_ <= available && (single ? place_as_int8<float>(problem, stream) : place_as_int8<double>(problem, stream))) {
    stored_ = Stored::int8;
    bytes_ = rows_ * stride_;
    return;
  }
  stride_ = round_up<std::int64_t>(cols_, kAligned / element_);
  bytes_ = rows_ * stride_ * element_;
  if (bytes_ > available) return prepare_streaming(problem, available);
  resident_.reserve(bytes_);
  if (stride_ != cols_) check(cudaMemsetAsync(resident_.data(), 0, static_cast<std::size_t>(bytes_), stream), "to clear memory");
  copy_rows(0, rows_, resident_.data(), stream);
  check(cudaStreamSynchronize(stream), "to take the design");
}

// The host's memory is pinned where it can be, which doubles the speed; else copies go through the driver's own.
void DesignOnDevice::prepare_streaming(const magva_cuda_problem& problem, std::int64_t available) {
  streamed_ = true;
  const std::int64_t row_bytes = stride_ * element_;
  part_rows_ = std::min(kPartBytes, available / 2) / row_bytes;
  if (part_rows_ < 1)
    throw Failure("the GPU has " + gigabytes(available) + " of memory left for a design of " + gigabytes(bytes_) +
                  ", of which not two rows fit: free some of it, or fit without --device cuda");
  const auto host_bytes = static_cast<std::size_t>(((rows_ - 1) * problem.stride + cols_) * element_);
  registered_ = cudaHostRegister(const_cast<unsigned char*>(host_), host_bytes, cudaHostRegisterReadOnly) == cudaSuccess ||
                cudaHostRegister(const_cast<unsigned char*>(host_), host_bytes, cudaHostRegisterDefault) == cudaSuccess;
  cudaGetLastError();
  check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "to start");
  for (int k = 0; k < 2; ++k) {
    parts_[k].reserve(part_rows_ * row_bytes);
    check(cudaMemset(parts_[k].data(), 0, static_cast<std::size_t>(parts_[k].size())), "to clear memory");
    check(cudaEventCreateWithFlags(&copied_[k], cudaEventDisableTiming), "to start");
    check(cudaEventCreateWithFlags(&used_[k], cudaEventDisableTiming), "to start");
  }
  check(cudaDeviceSynchronize(), "to start");
}

// Of a streamed design only these rows go over the bus.
void DesignOnDevice::gather(const std::int64_t* rows, const std::int64_t* on_device, std::int64_t count, Buffer<unsigned char>& to,
                            cudaStream_t stream) {
  const std::int64_t row_bytes = stride_ * (stored_ == Stored::int8 ? 1 : element_);
  to.reserve(count * row_bytes);
  if (!streamed_) return gather_rows(resident_.data(), on_device, count, row_bytes, to.data(), stream);
  unsigned char* staged = staged_.reserve(count * row_bytes);
  const std::int64_t used = cols_ * element_;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(staged + i * row_bytes, host_ + rows[i] * host_stride_ * element_, static_cast<std::size_t>(used));
    std::memset(staged + i * row_bytes + used, 0, static_cast<std::size_t>(row_bytes - used));
  }
  check(cudaMemcpyAsync(to.data(), staged, static_cast<std::size_t>(count * row_bytes), cudaMemcpyHostToDevice, stream), "to take a minibatch");
}

// By rows for the products with coefficients, by columns for those with residuals: no sum depends on the order in which threads come.
void DesignOnDevice::place_sparse(const magva_cuda_problem& problem, std::int64_t available) {
  stored_ = Stored::sparse;
  stride_ = round_up<std::int64_t>(cols_, kAligned / 8);
  const std::int64_t before = problem.starts[0];  // of a part of a larger design
  const std::int64_t entries = problem.starts[rows_] - before;
  const std::int32_t* columns = problem.columns + before;
  bytes_ = 2 * entries * 12 + (rows_ + cols_ + 2) * 8;
  if (bytes_ > available)
    throw Failure("the sparse design needs " + gigabytes(bytes_) + " of the GPU's memory, and " + gigabytes(available) +
                  " are left: fit without --device cuda, or on several GPUs with mpirun");
  std::vector<std::int64_t> starts(static_cast<std::size_t>(cols_) + 1, 0);
  for (std::int64_t e = 0; e < entries; ++e) ++starts[static_cast<std::size_t>(columns[e]) + 1];
  for (std::size_t j = 1; j < starts.size(); ++j) starts[j] += starts[j - 1];
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(entries));
  std::vector<double> values(static_cast<std::size_t>(entries));
  std::vector<std::int64_t> row_starts(problem.starts, problem.starts + rows_ + 1);
  for (std::int64_t& start : row_starts) start -= before;
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t e = row_starts[static_cast<std::size_t>(i)]; e < row_starts[static_cast<std::size_t>(i) + 1]; ++e) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(columns[e])]++);
      rows[at] = static_cast<std::int32_t>(i);
      values[at] = problem.values[before + e];
    }
  by_rows_ = {upload(starts_[0], row_starts.data(), rows_ + 1), upload(indices_[0], columns, entries),
              upload(values_[0], problem.values + before, entries)};
  by_columns_ = {upload(starts_[1], starts.data(), cols_ + 1), upload(indices_[1], rows.data(), entries),
                 upload(values_[1], values.data(), entries)};
}

void DesignOnDevice::for_each_part(cudaStream_t stream, const std::function<void(const RowsInMemory&)>& use) {
  if (!streamed_) return use({resident_.data(), 0, rows_});
  int k = 0;
  for (std::int64_t first = 0; first < rows_; first += part_rows_, k = 1 - k) {
    const std::int64_t count = std::min(part_rows_, rows_ - first);
    check(cudaStreamWaitEvent(copies_, used_[k]), "to wait");
    copy_rows(first, count, parts_[k].data(), copies_);
    check(cudaEventRecord(copied_[k], copies_), "to copy");
    check(cudaStreamWaitEvent(stream, copied_[k]), "to wait");
    use({parts_[k].data(), first, count});
    check(cudaEventRecord(used_[k], stream), "to work");
  }
}

}  // namespace magva_cuda
