#include "magva_mpi.h"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

std::string last_error;
MPI_Comm communicator = MPI_COMM_WORLD;
std::vector<double> parts;  // of all ranks

/// Up to so many values rank 0 adds up alone; beyond, each rank adds up a segment.
constexpr std::int64_t kFewValues = 8192;
/// Values, and bytes, of one message: counts are ints.
constexpr std::int64_t kMostValues = std::int64_t{1} << 24;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

int rank() {
  int value = 0;
  MPI_Comm_rank(communicator, &value);
  return value;
}
int size() {
  int value = 1;
  MPI_Comm_size(communicator, &value);
  return value;
}

const char* sentence(int status) {
  if (status == MPI_SUCCESS) return nullptr;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  last_error =
      "MPI failed to reach another rank (" + std::string(text, static_cast<std::size_t>(length)) + ")";
  return last_error.c_str();
}

struct Combination {
  magva_mpi_add_up* add_up;
  const void* context;
  std::int64_t parts;  // of each rank
};

/// values[i], i < count, is made of the values at + i of all parts, `stride` apart, by rank 0.
int combine_few(const Combination& by, double* values, std::int64_t stride, std::int64_t count) {
  std::vector<double> own(static_cast<std::size_t>(by.parts * count));
  for (std::int64_t k = 0; k < by.parts; ++k) std::copy_n(values + k * stride, count, own.data() + k * count);
  const auto all = static_cast<int>(own.size());
  if (rank() == 0) parts.resize(own.size() * static_cast<std::size_t>(size()));
  const int status = MPI_Gather(own.data(), all, MPI_DOUBLE, parts.data(), all, MPI_DOUBLE, 0, communicator);
  if (status != MPI_SUCCESS || rank() != 0) return status;
  by.add_up(by.context, parts.data(), count);
  std::copy_n(parts.data(), count, values);
  return status;
}

/// The same where every rank combines one segment and sends it to rank 0.
int combine_by_segments(const Combination& by, double* values, std::int64_t stride, std::int64_t count) {
  const std::int64_t each = (count + size() - 1) / size();
  const auto message = static_cast<int>(by.parts * each);
  std::vector<double> own(static_cast<std::size_t>(message) * static_cast<std::size_t>(size()), 0.);
  for (std::int64_t r = 0; r < size(); ++r)
    for (std::int64_t k = 0; k < by.parts; ++k) {
      const std::int64_t there = std::min(each, count - std::min(count, r * each));
      std::copy_n(values + k * stride + std::min(count, r * each), there,
                  own.data() + (r * by.parts + k) * each);
    }
  parts.resize(own.size());
  int status = MPI_Alltoall(own.data(), message, MPI_DOUBLE, parts.data(), message, MPI_DOUBLE, communicator);
  if (status != MPI_SUCCESS) return status;
  by.add_up(by.context, parts.data(), each);
  own.resize(static_cast<std::size_t>(each * size()));
  status = MPI_Gather(parts.data(), static_cast<int>(each), MPI_DOUBLE, own.data(), static_cast<int>(each),
                      MPI_DOUBLE, 0, communicator);
  if (status == MPI_SUCCESS && rank() == 0) std::copy_n(own.data(), count, values);
  return status;
}

/// values[i] = sum over ranks of part[r * stride + i], in the order of the ranks.
void add_in_order(const double* part, std::int64_t stride, std::int64_t count, double* values) {
  std::copy_n(part, count, values);
  for (int r = 1; r < size(); ++r)
    for (std::int64_t i = 0; i < count; ++i) values[i] += part[r * stride + i];
}

int sum_few(double* values, int count) {
  if (rank() == 0) parts.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(size()));
  const int status = MPI_Gather(values, count, MPI_DOUBLE, parts.data(), count, MPI_DOUBLE, 0, communicator);
  if (status == MPI_SUCCESS && rank() == 0) add_in_order(parts.data(), count, count, values);
  return status;
}

/// Every rank adds up one segment of all ranks' values and sends it to rank 0: twice the values, however many
/// ranks there are.
int sum_by_segments(double* values, int count) {
  const int each = (count + size() - 1) / size();
  std::vector<double> padded(static_cast<std::size_t>(each) * static_cast<std::size_t>(size()), 0.);
  std::copy_n(values, count, padded.data());
  parts.resize(padded.size());
  int status = MPI_Alltoall(padded.data(), each, MPI_DOUBLE, parts.data(), each, MPI_DOUBLE, communicator);
  if (status != MPI_SUCCESS) return status;
  std::vector<double> segment(static_cast<std::size_t>(each));
  add_in_order(parts.data(), each, each, segment.data());
  status = MPI_Gather(segment.data(), each, MPI_DOUBLE, padded.data(), each, MPI_DOUBLE, 0, communicator);
  if (status == MPI_SUCCESS && rank() == 0) std::copy_n(padded.data(), count, values);
  return status;
}

}  // namespace

extern "C" {

const char* magva_mpi_start(int32_t* own_rank, int32_t* ranks) {
  int started = 0;
  MPI_Initialized(&started);
  int provided = 0;
  if (!started)
    if (const char* failed = sentence(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)))
      return failed;
  communicator = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  *own_rank = rank();
  *ranks = size();
  return nullptr;
}

const char* magva_mpi_join(int32_t fortran_handle, int32_t* own_rank, int32_t* ranks) {
  int started = 0;
  MPI_Initialized(&started);
  if (!started) return "MPI has not been started: import mpi4py.MPI, or call MPI_Init, before";
  if (communicator != MPI_COMM_WORLD) return "a communicator is in use: end the fit that uses it first";
  if (const char* failed = sentence(MPI_Comm_dup(MPI_Comm_f2c(fortran_handle), &communicator))) {
    communicator = MPI_COMM_WORLD;
    return failed;
  }
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  *own_rank = rank();
  *ranks = size();
  return nullptr;
}

void magva_mpi_finish(void) {
  int finished = 0;
  MPI_Finalized(&finished);
  if (finished) return;
  if (communicator == MPI_COMM_WORLD) {
    MPI_Finalize();
    return;
  }
  MPI_Comm_free(&communicator);
  communicator = MPI_COMM_WORLD;
}

void magva_mpi_abort(void) { MPI_Abort(communicator, 1); }

const char* magva_mpi_broadcast(void* data, int64_t bytes) {
  return magva_mpi_broadcast_from(0, data, bytes);
}

const char* magva_mpi_broadcast_from(int32_t root, void* data, int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kMostBytes) {
    const auto count = static_cast<int>(std::min(kMostBytes, bytes - at));
    if (const char* failed =
            sentence(MPI_Bcast(static_cast<char*>(data) + at, count, MPI_BYTE, root, communicator)))
      return failed;
  }
  return nullptr;
}

const char* magva_mpi_sum_to_first(double* values, int64_t count) {
  for (std::int64_t at = 0; at < count; at += kMostValues) {
    const auto part = static_cast<int>(std::min(kMostValues, count - at));
    const int status = part <= kFewValues ? sum_few(values + at, part) : sum_by_segments(values + at, part);
    if (const char* failed = sentence(status)) return failed;
  }
  return nullptr;
}

const char* magva_mpi_combine_at_first(double* values, int64_t parts, int64_t count, magva_mpi_add_up* add_up,
                                       const void* context) {
  const Combination by{add_up, context, parts};
  const std::int64_t most = kMostValues / parts;
  for (std::int64_t at = 0; at < count; at += most) {
    const std::int64_t some = std::min(most, count - at);
    const int status = parts * some <= kFewValues ? combine_few(by, values + at, count, some)
                                                  : combine_by_segments(by, values + at, count, some);
    if (const char* failed = sentence(status)) return failed;
  }
  return nullptr;
}

}  // extern "C"
