#include "magva/fit_folder.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "results/parameter_summary.hpp"

namespace magva::results {

namespace {

constexpr const char* kFormat = "magva fit 1";

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
  return {{"name", p.name}, {"mean", p.mean}, {"sd", p.sd}, {"q05", p.q05}, {"q50", p.q50}, {"q95", p.q95}};
}

double number_or_nan(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

ParameterSummary parameter_from_json(const Json& json) {
  return {json.at("name").get<std::string>(), number_or_nan(json.at("mean")), number_or_nan(json.at("sd")),
          number_or_nan(json.at("q05")),      number_or_nan(json.at("q50")),  number_or_nan(json.at("q95"))};
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
  return json;
}

FitRecord from_json(const Json& json) {
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
  return r;
}

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json batch_details(const Minibatch& minibatch, std::int64_t iterations, Index diagnostic_draws) {
  const auto batches = minibatch.batches();
  return {{"rows", minibatch.options().rows},
          {"run", minibatch.options().run},
          {"batches_per_epoch", batches},
          {"epochs", static_cast<double>(iterations) / static_cast<double>(batches)},
          {"elbo_rows", minibatch.full().rows()},
          {"elbo_draws", diagnostic_draws}};
}

/// The way to the result: ranks, starts, minibatches.
Json details_of(const FitResult& result, const source::ModelSource& source) {
  Json out = Json::object();
  if (!result.manifold) {
    out = {{"expectations", result.expectations == Expectations::kExact ? "exact" : "draws"},
           {"rank_path", Json::array()},
           {"starts", Json::array()}};
    for (const auto& step : result.rank_path)
      out["rank_path"].push_back({{"rank", step.rank}, {"gain", or_null(step.gain)}});
    for (const auto& start : result.starts)
      out["starts"].push_back({{"log_density", or_null(start.log_density)},
                               {"converged", start.converged},
                               {"elbo", or_null(start.elbo)}});
  }
  const auto& minibatch = source.minibatch;
  if (minibatch && (result.manifold || minibatch->batches() > 1))
    out["batch"] = batch_details(*minibatch, result.iterations, source.diagnostic_draws);
  for (const source::PriorRecord& prior : source.priors)
    out["priors"].push_back({{"parameter", prior.parameter},
                             {"prior", prior.text},
                             {"location", prior.location},
                             {"scale", prior.scale ? Json(*prior.scale) : Json(nullptr)}});
  return out;
}

}  // namespace

FitRecord begin_record(const source::ModelSource& source) {
  FitRecord record;
  record.version = magva::version();
  record.model = source.description;
  record.stopped = FitRecord::kRunning;
  record.notes = source.notes;
  record.data = source.data;
  return record;
}

void complete_record(FitRecord& record, const source::ModelSource& source, const FitResult& result,
                     std::uint64_t seed) {
  const PosteriorSummary summary = summarise(source, result.posterior, seed);
  record.stopped = to_string(result.stopped);
  record.stop_detail = result.stop_detail;
  record.trusted = result.trusted;
  for (const auto& warning : result.warnings) record.warnings.push_back(warning.message);
  record.elbo = result.elbo;
  record.elbo_se = result.elbo_se;
  record.khat = result.khat;
  record.iterations = result.iterations;
  record.gradient_evaluations = result.gradient_evaluations;
  record.rejected_draws = result.rejected_draws;
  record.seconds = result.seconds;
  record.family = result.manifold ? name(*result.manifold) : to_string(result.posterior.kind());
  record.rank = result.posterior.rank();
  if (!result.posterior.is_dense()) {
    const Vector shares = result.posterior.factor_shares();
    record.factor_shares.assign(shares.begin(), shares.end());
  }
  record.details = details_of(result, source);
  record.details["summary_draws"] = summary.draws;
  record.parameters = summary.parameters;
  if (summary.failed > 0)
    record.warnings.push_back(
        fmt::format("the model could not report {} of {} draws", summary.failed, summary.draws));
  for (auto& warning : source.reporter->warnings()) record.warnings.push_back(std::move(warning));
}

void save(const FitRecord& record, const std::filesystem::path& path) {
  io::write_text(path, [&](std::ostream& out) {
    out << to_json(record).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
}

FitRecord load_record(const std::filesystem::path& path) {
  try {
    return from_json(Json::parse(io::read_text(path)));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("cannot use '{}': it is not the record of a fit, or was altered ({})",
                                path.string(), error.what()));
  }
}

bool is_fit_record(const std::filesystem::path& path) {
  const Json json = Json::parse(io::read_text(path), nullptr, false);
  return json.is_object() && json.contains("format") && json["format"] == kFormat;
}

}  // namespace magva::results
