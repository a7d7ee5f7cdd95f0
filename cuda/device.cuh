#pragma once
// Device memory and errors.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace magva_cuda {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Failure(std::string("the GPU failed ") + what + " (" + cudaGetErrorString(status) + ")");
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Failure(std::string("cuBLAS failed ") + what + " (" + cublasGetStatusString(status) + ")");
}
inline void check_launch(const char* what) { check(cudaGetLastError(), what); }

/// Memory of the device, or of the host where the device can reach it; grows when asked for more and never shrinks.
enum class Place { device, host };

template <class T, Place place = Place::device>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t count) { reserve(count); }
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* reserve(std::int64_t count) {
    if (count <= count_) return data_;
    release();
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* memory = nullptr;
    if constexpr (place == Place::device)
      check(cudaMalloc(&memory, bytes), "to allocate memory");
    else
      check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "to allocate memory of the host");
    data_ = static_cast<T*>(memory);
    count_ = count;
    return data_;
  }
  T* data() const { return data_; }
  std::int64_t size() const { return count_; }

  void release() {
    if (place == Place::device)
      cudaFree(data_);
    else
      cudaFreeHost(data_);
    data_ = nullptr;
    count_ = 0;
  }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

template <class T>
using HostBuffer = Buffer<T, Place::host>;

template <class T>
constexpr T round_up(T value, T to) {
  return (value + to - 1) / to * to;
}

}  // namespace magva_cuda
