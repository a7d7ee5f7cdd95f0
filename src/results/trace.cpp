#include "magva/fit_folder.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"

namespace magva::results {

namespace {

constexpr const char* kHeader = "iteration,gradient_evaluations,seconds,elbo";

void write_row(std::ostream& out, const TraceRow& row) {
  fmt::print(out, "{},{},{:.6f},", row.iteration, row.gradient_evaluations, row.seconds);
  if (std::isfinite(row.elbo)) fmt::print(out, "{}", row.elbo);
  out << '\n';
}

}  // namespace

void Trace::add(const FitView& view) {
  if (pending_ == 0) current_.elbo = 0;
  ++pending_;
  current_.iteration = view.iteration;
  current_.gradient_evaluations = view.gradient_evaluations;
  current_.seconds = view.seconds;
  if (std::isfinite(view.elbo)) {
    ++finite_;
    current_.elbo += view.elbo;
  }
  if (view.iteration % stride_ == 0) end_row();
}

void Trace::end_row() {
  current_.elbo =
      finite_ > 0 ? current_.elbo / static_cast<double>(finite_) : std::numeric_limits<double>::quiet_NaN();
  rows_.push_back(current_);
  pending_ = 0;
  finite_ = 0;
}

std::int64_t Trace::last_iteration() const {
  if (pending_ > 0) return current_.iteration;
  return rows_.empty() ? -1 : rows_.back().iteration;
}

void Trace::save(const std::filesystem::path& path) const {
  Trace copy = *this;
  if (copy.pending_ > 0) copy.end_row();
  io::write_text(path, [&](std::ostream& out) {
    out << kHeader << '\n';
    for (const auto& row : copy.rows_) write_row(out, row);
  });
}

Trace Trace::read(const std::filesystem::path& path) {
  std::istringstream in(io::read_text(path));
  std::string line;
  std::getline(in, line);
  if (line != kHeader) throw DataError(fmt::format("'{}' is not the trace of a fit", path.string()));
  Trace trace;
  while (std::getline(in, line)) {
    TraceRow row{};
    char comma = 0;
    std::istringstream cells(line);
    cells >> row.iteration >> comma >> row.gradient_evaluations >> comma >> row.seconds >> comma;
    if (!(cells >> row.elbo)) row.elbo = std::numeric_limits<double>::quiet_NaN();
    trace.rows_.push_back(row);
  }
  return trace;
}

static_assert(std::is_trivially_copyable_v<TraceRow>);

// The row that has not ended, how many iterations and ELBOs it holds, and the rows.
std::string Trace::to_bytes() const {
  std::string bytes(2 * sizeof(std::int64_t) + (1 + rows_.size()) * sizeof(TraceRow), '\0');
  char* to = bytes.data();
  const auto append = [&](const void* from, std::size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    to += size;
  };
  append(&pending_, sizeof pending_);
  append(&finite_, sizeof finite_);
  append(&current_, sizeof current_);
  append(rows_.data(), rows_.size() * sizeof(TraceRow));
  return bytes;
}

void Trace::restore(const std::string& bytes) {
  constexpr std::size_t kHead = 2 * sizeof(std::int64_t) + sizeof(TraceRow);
  if (bytes.size() < kHead || (bytes.size() - kHead) % sizeof(TraceRow) != 0)
    throw DataError("the checkpoint has no trace that can be read: start the fit again");
  const char* from = bytes.data();
  const auto take = [&](void* to, std::size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    from += size;
  };
  take(&pending_, sizeof pending_);
  take(&finite_, sizeof finite_);
  take(&current_, sizeof current_);
  rows_.resize((bytes.size() - kHead) / sizeof(TraceRow));
  take(rows_.data(), rows_.size() * sizeof(TraceRow));
}

}  // namespace magva::results
