#include "results/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "core/atomic_file.hpp"
#include "magva/draws.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "results/text.hpp"
#include "table/design_file_header.hpp"

namespace magva::results {

namespace {

namespace fs = std::filesystem;

/// The first bytes of a file.
std::string head_of(const fs::path& file) {
  std::array<char, 1 << 16> bytes{};
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(in.gcount())};
}

bool is_draws_csv(const std::string& head, const std::vector<std::string>& names) {
  if (head.starts_with("log_q,log_p")) return true;
  std::string header;
  for (const auto& name : names) header += (header.empty() ? "" : ",") + csv_text(name);
  return !names.empty() && head.starts_with(header.substr(0, head.size())) &&
         (head.size() <= header.size() || head[header.size()] == '\n');
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::exists(a, error) && fs::exists(b, error) && fs::equivalent(a, b, error);
}

/// Two names of one file, which need not exist yet.
bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return same_file(a, b) ||
         fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

}  // namespace

const char* describe(OutputKind kind) {
  switch (kind) {
    case OutputKind::kDrawsCsv:
    case OutputKind::kCmdstanCsv:
    case OutputKind::kNetcdf:
      return "draws of such a fit in this format";
    case OutputKind::kPredictions:
      return "predictions of magva";
    case OutputKind::kScores:
      return "scores of magva";
    case OutputKind::kReport:
      return "a report of magva";
    case OutputKind::kDesign:
      return "a design file";
  }
  return "an output of magva";
}

bool is_output_of_kind(const fs::path& file, OutputKind kind, const std::vector<std::string>& names) {
  if (kind == OutputKind::kDesign) return design_file::is_design_file(file.string());
  if (kind == OutputKind::kNetcdf) return is_netcdf_of_draws(file);
  const std::string head = head_of(file);
  switch (kind) {
    case OutputKind::kCmdstanCsv:
      return head.starts_with("# Independent draws from a");
    case OutputKind::kPredictions:
      return head.starts_with("row,class,probability,") || head.starts_with("row,mean,q05,q95");
    case OutputKind::kScores:
      return head.starts_with("{\n  \"rows\":") && head.find("\"log_score\":") != std::string::npos;
    case OutputKind::kReport:
      return head.find("<meta name=\"generator\" content=\"magva") != std::string::npos;
    default:
      return is_draws_csv(head, names);
  }
}

void OutputRule::check(const std::string& option, const fs::path& file, OutputKind kind,
                       const std::vector<std::string>& names) {
  if (io::is_stream(file)) return;
  const fs::path target = io::follow_links(file);
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{} names '{}', {}", option, file.string(), why));
  };
  std::error_code error;
  if (fs::is_directory(target, error)) refuse("which is a folder: name a file in it");
  for (const auto& input : inputs_)
    if (input != "-" && same_file(input, target))
      refuse("which is read in the same run: choose another name");
  for (const auto& output : outputs_)
    if (same_place(output, target)) refuse("which another option names too: choose another name");
  outputs_.push_back(target);
  if (is_file_of_fit(target)) refuse("a file of the fit in that folder: choose another name");
  const bool something = fs::exists(target, error) && fs::file_size(target, error) > 0;
  if (something && !replace_any_ && !is_output_of_kind(target, kind, names))
    refuse(fmt::format("which exists and does not hold {}: choose another name, or replace it with --force",
                       describe(kind)));
}

}  // namespace magva::results
