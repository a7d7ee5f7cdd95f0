#include "magva/stored_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "table/byte_source.hpp"

namespace magva::results {

namespace {

using CheckJson = nlohmann::ordered_json;

/// JSON has no infinity: as a null.
CheckJson numbers(ConstVectorRef values) {
  CheckJson out = CheckJson::array();
  for (const double value : values)
    out.push_back(std::isfinite(value) ? CheckJson(value) : CheckJson(nullptr));
  return out;
}

Vector values_of(const CheckJson& json, double missing) {
  Vector out(static_cast<Index>(json.size()));
  for (Index i = 0; i < out.size(); ++i) {
    const CheckJson& value = json[static_cast<std::size_t>(i)];
    out(i) = value.is_null() ? missing : value.get<double>();
  }
  return out;
}

CheckJson loo_json(const LooResult& loo) {
  return {
      {"elpd", loo.elpd}, {"elpd_se", loo.elpd_se}, {"p_loo", loo.p_loo},          {"p_loo_se", loo.p_loo_se},
      {"rows", loo.rows}, {"high_k", loo.high_k},   {"k_threshold", loo.threshold}};
}

CheckJson to_json(const StoredCheck& stored) {
  const FitCheck& check = stored.check;
  CheckJson json = {{"response", stored.response_name},
                    {"family", stored.family},
                    {"response_sha256", stored.response_sha256},
                    {"summary", check.describe()},
                    {"loo", loo_json(check.loo)},
                    {"coverage",
                     {{"inside50", check.coverage.inside50},
                      {"inside90", check.coverage.inside90},
                      {"se50", check.coverage.se50},
                      {"se90", check.coverage.se90}}},
                    {"dispersion", nullptr},
                    {"histogram",
                     {{"edges", numbers(check.histogram.edges)},
                      {"observed", numbers(check.histogram.observed)},
                      {"low", numbers(check.histogram.low)},
                      {"median", numbers(check.histogram.median)},
                      {"high", numbers(check.histogram.high)}}},
                    {"rows",
                     {{"response", numbers(stored.response)},
                      {"elpd", numbers(check.loo.elpd_rows)},
                      {"k", numbers(check.loo.khat_rows)},
                      {"pit", numbers(check.pit)},
                      {"mean", numbers(check.mean)},
                      {"sd", numbers(check.sd)}}}};
  if (check.dispersion)
    json["dispersion"] = {{"ratio", check.dispersion->ratio},
                          {"p_value", check.dispersion->p_value},
                          {"zeros_observed", check.dispersion->zeros_observed},
                          {"zeros_predicted", check.dispersion->zeros_predicted},
                          {"advice", check.dispersion->advice}};
  return json;
}

StoredCheck from_json(const CheckJson& json) {
  const double infinity = std::numeric_limits<double>::infinity();
  const CheckJson& rows = json.at("rows");
  const CheckJson& loo = json.at("loo");
  const CheckJson& coverage = json.at("coverage");
  StoredCheck out;
  out.response_name = json.at("response");
  out.family = json.at("family");
  out.response_sha256 = json.at("response_sha256");
  out.response = values_of(rows.at("response"), infinity);
  FitCheck& check = out.check;
  check.loo = {loo.at("elpd").is_null() ? -infinity : loo.at("elpd").get<double>(),
               loo.at("elpd_se").is_null() ? infinity : loo.at("elpd_se").get<double>(),
               loo.at("p_loo"),
               loo.at("p_loo_se"),
               loo.at("rows"),
               loo.at("high_k"),
               loo.at("k_threshold"),
               values_of(rows.at("elpd"), -infinity),
               values_of(rows.at("k"), infinity)};
  check.coverage = {coverage.at("inside50"), coverage.at("inside90"), coverage.at("se50"),
                    coverage.at("se90")};
  if (const CheckJson& d = json.at("dispersion"); !d.is_null())
    check.dispersion = Dispersion{d.at("ratio"), d.at("p_value"), d.at("zeros_observed"),
                                  d.at("zeros_predicted"), d.at("advice").get<std::string>()};
  const CheckJson& histogram = json.at("histogram");
  check.histogram = {values_of(histogram.at("edges"), 0), values_of(histogram.at("observed"), 0),
                     values_of(histogram.at("low"), 0), values_of(histogram.at("median"), 0),
                     values_of(histogram.at("high"), 0)};
  check.pit = values_of(rows.at("pit"), 0);
  check.mean = values_of(rows.at("mean"), infinity);
  check.sd = values_of(rows.at("sd"), infinity);
  return out;
}

/// Whether each array has a value for every row, or every bin.
bool parts_fit(const StoredCheck& stored) {
  const FitCheck& check = stored.check;
  const Index rows = stored.response.size();
  const PredictiveHistogram& histogram = check.histogram;
  const Index bins = histogram.observed.size();
  const auto all = [](Index size, std::initializer_list<const Vector*> parts) {
    return std::all_of(parts.begin(), parts.end(), [=](const Vector* part) { return part->size() == size; });
  };
  return all(rows, {&check.loo.elpd_rows, &check.loo.khat_rows, &check.pit, &check.mean, &check.sd}) &&
         all(bins, {&histogram.low, &histogram.median, &histogram.high}) &&
         histogram.edges.size() == (bins == 0 ? 0 : bins + 1);
}

}  // namespace

std::string digest_of_response(const ResponseRows& rows) {
  table::Sha256 sha;
  for (const double* values : {rows.response, rows.trials, rows.status})
    if (values)
      sha.update(reinterpret_cast<const char*>(values), static_cast<std::size_t>(rows.rows) * sizeof(double));
  return sha.hex();
}

StoredCheck stored_check(const CheckInput& input, FitCheck check, std::string response_name) {
  return {std::move(check), std::move(response_name), to_string(input.distribution()),
          Eigen::Map<const Vector>(input.rows.response, input.rows.rows), digest_of_response(input.rows)};
}

void save_check(const StoredCheck& stored, const std::filesystem::path& path) {
  io::write_text(path, [&](std::ostream& out) { out << to_json(stored).dump(1) << '\n'; });
}

std::optional<StoredCheck> load_check(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return parse_check(io::read_text(path), path);
}

StoredCheck parse_check(const std::string& text, const std::filesystem::path& path) {
  const auto damaged = [&] {
    return DataError(fmt::format("'{}' is damaged: fit the model again", path.string()));
  };
  try {
    StoredCheck stored = from_json(CheckJson::parse(text));
    if (!parts_fit(stored)) throw damaged();
    return stored;
  } catch (const CheckJson::exception&) {
    throw damaged();
  }
}

std::vector<RankedModel> rank_models(const std::vector<std::pair<std::string, StoredCheck>>& models) {
  std::vector<RankedModel> ranked;
  const auto best = std::max_element(models.begin(), models.end(), [](const auto& a, const auto& b) {
    return a.second.check.loo.elpd < b.second.check.loo.elpd;
  });
  for (const auto& [name, stored] : models) {
    if (stored.response_sha256 != best->second.response_sha256)
      throw DataError(
          fmt::format("'{}' and '{}' are fits of different responses or rows: their elpd cannot be compared",
                      best->first, name));
    const LooResult& loo = stored.check.loo;
    const LooDifference difference = compare_loo(loo.elpd_rows, best->second.check.loo.elpd_rows);
    ranked.push_back({name, loo.elpd, loo.elpd_se, loo.p_loo, loo.high_k, difference.elpd, difference.se});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedModel& a, const RankedModel& b) { return a.elpd > b.elpd; });
  return ranked;
}

}  // namespace magva::results
