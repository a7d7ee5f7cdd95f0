#pragma once
// fit.json: what was asked for, what came out, and how far to trust it.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/parameter_summary.hpp"
#include "source/model_source.hpp"

namespace magva::results {

using Json = nlohmann::ordered_json;

struct FitRecord {
  std::string version;
  std::string model;    ///< in words
  std::string stopped;  ///< 'converged', 'iteration limit', ...; 'running' while the fit is under way
  std::string evidence;
  std::optional<bool> trusted;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::optional<double> elbo, elbo_se, khat;
  std::int64_t iterations = 0;
  std::int64_t gradient_evaluations = 0;
  std::int64_t rejected_draws = 0;
  double seconds = 0;
  std::string family;
  Index rank = 0;
  std::vector<double> factor_shares;   ///< of the total variance of theta
  Json details = Json::object();       ///< of the optimiser: the path of ranks, the starts
  std::vector<std::string> arguments;  ///< of the command line
  Json options = Json::object();
  source::DataRecord data;
  std::vector<ParameterSummary> parameters;

  bool running() const { return stopped == kRunning; }
  static constexpr const char* kRunning = "running";
};

void save(const FitRecord& record, const std::filesystem::path& path);
/// IoError or DataError where there is no such record.
FitRecord load_record(const std::filesystem::path& path);
/// Whether the file is one of ours at all.
bool is_fit_record(const std::filesystem::path& path);

}  // namespace magva::results
