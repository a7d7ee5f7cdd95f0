#pragma once
// How a model meets its data, stored with its fit: what summary, report and compare show.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "magva/check.hpp"

namespace magva::results {

/// In the folder of a fit.
inline constexpr const char* kCheckFile = "check.json";

struct StoredCheck {
  FitCheck check;
  std::string response_name;
  std::string family;           ///< of the response
  Vector response;              ///< in the order of the rows
  std::string response_sha256;  ///< of the responses, trials and statuses: fits of other data have another
};

/// For the responses that were checked.
std::string digest_of_response(const ResponseRows& rows);

/// A check with what it looked at.
StoredCheck stored_check(const CheckInput& input, FitCheck check, std::string response_name);

/// As JSON. Throws IoError.
void save_check(const StoredCheck& stored, const std::filesystem::path& path);
/// Unset if there is no such file; DataError if it cannot be read.
std::optional<StoredCheck> load_check(const std::filesystem::path& path);
/// Of the file's text; messages name `path`.
StoredCheck parse_check(const std::string& text, const std::filesystem::path& path);

/// A model among others.
struct RankedModel {
  std::string name;
  double elpd = 0;
  double elpd_se = 0;
  double p_loo = 0;
  Index high_k = 0;
  double difference = 0;     ///< its elpd minus the best one's
  double difference_se = 0;  ///< standard error of that, by rows
};

/// Best first. Throws DataError if the models are not of the same responses.
std::vector<RankedModel> rank_models(const std::vector<std::pair<std::string, StoredCheck>>& models);

}  // namespace magva::results
