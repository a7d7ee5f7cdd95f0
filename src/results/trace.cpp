#include "magva/fit_folder.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <limits>
#include <sstream>

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

void Trace::save(const std::filesystem::path& path) const {
  Trace copy = *this;
  if (copy.pending_ > 0) copy.end_row();
  io::write_text(path, [&](std::ostream& out) {
    out << kHeader << '\n';
    for (const auto& row : copy.rows_) write_row(out, row);
  });
}

void Trace::restore(const std::filesystem::path& path, std::int64_t up_to) {
  std::istringstream in(io::read_text(path));
  std::string line;
  std::getline(in, line);
  if (line != kHeader) throw DataError(fmt::format("'{}' is not the trace of a fit", path.string()));
  while (std::getline(in, line)) {
    TraceRow row{};
    char comma = 0;
    std::istringstream cells(line);
    cells >> row.iteration >> comma >> row.gradient_evaluations >> comma >> row.seconds >> comma;
    if (!(cells >> row.elbo)) row.elbo = std::numeric_limits<double>::quiet_NaN();
    if (row.iteration <= up_to) rows_.push_back(row);
  }
}

}  // namespace magva::results
