// fit.json: a record as JSON that ends with a checksum of all before it.
#include <fmt/format.h>

#include <cmath>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "results/record_file.hpp"
#include "table/byte_source.hpp"

namespace magva::results {

namespace {

constexpr const char* kFormat = "magva fit 2";
/// What comes between the text that is digested and its digest, and after that.
constexpr std::string_view kBeforeChecksum = ",\n  \"checksum\": \"";
constexpr std::string_view kAfterChecksum = "\"\n}\n";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// JSON has no NaN and no infinity: null stands for both.
std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

template <class T>
std::optional<T> optional_at(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::nullopt : std::optional<T>(json.at(key).get<T>());
}

Json to_json(const ParameterSummary& p) {
  Json out{{"name", p.name}, {"mean", p.mean}, {"sd", p.sd},  {"sd_gaussian", p.sd_gaussian},
           {"q05", p.q05},   {"q50", p.q50},   {"q95", p.q95}};
  if (std::isfinite(p.sd_se)) out["sd_se"] = p.sd_se;
  return out;
}

double number_or_nan(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

ParameterSummary parameter_from_json(const Json& json) {
  return {json.at("name").get<std::string>(),
          number_or_nan(json.at("mean")),
          number_or_nan(json.at("sd")),
          number_or_nan(json.at("q05")),
          number_or_nan(json.at("q50")),
          number_or_nan(json.at("q95")),
          number_or_nan(json.at("sd_gaussian")),
          json.contains("sd_se") ? number_or_nan(json.at("sd_se")) : std::nan("")};
}

Json to_json(const Doubt& doubt) {
  return {{"parameter", doubt.parameter}, {"shift", doubt.shift}, {"sd_ratio", doubt.sd_ratio}};
}

Doubt doubt_from_json(const Json& json) {
  return {json.at("parameter").get<std::string>(), number_or_nan(json.at("shift")),
          number_or_nan(json.at("sd_ratio"))};
}

Json to_json(const FitRecord& r) {
  Json json;
  json["format"] = kFormat;
  json["version"] = r.version;
  json["model"] = r.model;
  json["elbo"] = or_null(finite(r.elbo));
  json["elbo_se"] = or_null(finite(r.elbo_se));
  json["khat"] = or_null(finite(r.khat));
  json["stopped"] = r.stopped;
  json["stop_detail"] = r.stop_detail;
  json["trusted"] = or_null(r.trusted);
  json["warnings"] = r.warnings;
  json["doubts"] = Json::array();
  for (const auto& doubt : r.doubts) json["doubts"].push_back(to_json(doubt));
  json["notes"] = r.notes;
  json["iterations"] = r.iterations;
  json["gradient_evaluations"] = r.gradient_evaluations;
  json["rejected_draws"] = r.rejected_draws;
  json["seconds"] = r.seconds;
  json["family"] = r.family;
  json["rank"] = r.rank;
  json["factor_shares"] = r.factor_shares;
  json["details"] = r.details;
  json["arguments"] = r.arguments;
  json["options"] = r.options;
  json["data"] = {
      {"file", r.data.file}, {"rows", r.data.rows}, {"columns", r.data.columns}, {"sha256", r.data.sha256}};
  json["parameters"] = Json::array();
  for (const auto& parameter : r.parameters) json["parameters"].push_back(to_json(parameter));
  json["files"] = Json::object();
  for (const auto& [name, sha256] : r.files) json["files"][name] = sha256;
  return json;
}

FitRecord record_from_json(const Json& json) {
  FitRecord r;
  r.version = json.at("version");
  r.model = json.at("model");
  r.elbo = optional_at<double>(json, "elbo");
  r.elbo_se = optional_at<double>(json, "elbo_se");
  r.khat = optional_at<double>(json, "khat");
  r.stopped = json.at("stopped");
  r.stop_detail = json.at("stop_detail");
  r.trusted = optional_at<bool>(json, "trusted");
  r.warnings = json.at("warnings").get<std::vector<std::string>>();
  for (const auto& doubt : json.at("doubts")) r.doubts.push_back(doubt_from_json(doubt));
  r.notes = json.at("notes").get<std::vector<std::string>>();
  r.iterations = json.at("iterations");
  r.gradient_evaluations = json.at("gradient_evaluations");
  r.rejected_draws = json.at("rejected_draws");
  r.seconds = json.at("seconds");
  r.family = json.at("family");
  r.rank = json.at("rank");
  r.factor_shares = json.at("factor_shares").get<std::vector<double>>();
  r.details = json.at("details");
  r.arguments = json.at("arguments").get<std::vector<std::string>>();
  r.options = json.at("options");
  const Json& data = json.at("data");
  r.data = {data.at("file"), data.at("rows"), data.at("columns"), data.at("sha256")};
  for (const auto& parameter : json.at("parameters")) r.parameters.push_back(parameter_from_json(parameter));
  for (const auto& [name, sha256] : json.at("files").items()) r.files[name] = sha256;
  return r;
}

}  // namespace

std::string with_checksum(const std::string& begin) {
  return fmt::format("{}{}{}{}", begin, kBeforeChecksum, table::sha256_of_text(begin), kAfterChecksum);
}

std::string record_text(const FitRecord& record) {
  std::string text = to_json(record).dump(2, ' ', false, Json::error_handler_t::replace);
  text.erase(text.rfind("\n}"));
  return with_checksum(text);
}

void save(const FitRecord& record, const std::filesystem::path& path) {
  io::write_text(path, [&](std::ostream& out) { out << record_text(record); });
}

FitRecord load_record(const std::filesystem::path& path) { return parse_record(io::read_text(path), path); }

FitRecord parse_record(const std::string& text, const std::filesystem::path& path) {
  const auto end = text.rfind(kBeforeChecksum);
  const bool whole = end != std::string::npos && text == with_checksum(text.substr(0, end));
  if (!whole && text.find("\"format\": \"magva fit 1\"") != std::string::npos)
    throw DataError(fmt::format(
        "'{}' is of an earlier version of magva, which this one cannot read: fit again", path.string()));
  if (!whole)
    throw DataError(fmt::format(
        "'{}' has been changed since magva wrote it: take it back from a copy, or fit again", path.string()));
  try {
    return record_from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("cannot use '{}': it is of another version of magva ({}); fit again",
                                path.string(), error.what()));
  }
}

bool is_fit_record(const std::filesystem::path& path) {
  const std::string text = io::read_text(path);
  return text.find("\"format\": \"magva fit ") != std::string::npos ||
         text.find(kBeforeChecksum) != std::string::npos;
}

}  // namespace magva::results
