#include "magva/fit_folder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "magva/stored_check.hpp"
#include "results/unfinished_fit.hpp"
#include "source/model_spec.hpp"
#include "table/byte_source.hpp"

namespace magva::results {

namespace {

namespace fs = std::filesystem;

std::string advice_to_resume(const fs::path& path) {
  return fmt::format("the fit for '{}' has not ended: wait for it, or go on with magva fit --resume --out {}",
                     path.string(), path.string());
}

}  // namespace

FitFolder FitFolder::open(const fs::path& path) {
  std::error_code error;
  if (FitFolder(path).holds_a_fit()) return FitFolder(path);
  if (UnfinishedFit::find(path)) throw DataError(advice_to_resume(path));
  if (fs::is_directory(path, error))
    throw IoError(
        fmt::format("there is no fit in '{}': it has no fit.json that 'magva fit' wrote", path.string()));
  throw IoError(fmt::format("there is no fit at '{}': {}", path.string(),
                            fs::exists(path, error) ? "it is a file; name the folder that 'magva fit' wrote"
                                                    : "the folder does not exist"));
}

bool FitFolder::has_checkpoint() const {
  std::error_code error;
  return fs::is_regular_file(checkpoint(), error);
}

bool FitFolder::holds_a_fit() const {
  std::error_code error;
  if (!fs::is_regular_file(record(), error)) return false;
  return is_fit_record(record()) || fs::is_regular_file(posterior(), error);
}

bool is_file_of_fit(const fs::path& path) {
  const FitFolder folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
  const fs::path name = path.filename();
  for (const auto& file : {folder.record(), folder.trace(), folder.posterior(), folder.model(),
                           folder.checkpoint(), folder.path() / kCheckFile})
    if (name == file.filename()) return folder.holds_a_fit();
  return false;
}

namespace {

std::vector<std::string> coordinate_names(const Model& model) {
  std::vector<std::string> names;
  for (Index i = 0; i < model.dimension(); ++i) names.push_back(model.parameter_name(i));
  return names;
}

}  // namespace

void store_fit(const FitFolder& folder, FitRecord record, const Gaussian& posterior,
               const source::ModelSource& source, const Trace& trace) {
  trace.save(folder.trace());
  posterior.save(folder.posterior(), coordinate_names(*source.model));
  const auto spec = source::stored_spec(source, posterior);
  const nlohmann::json model = spec ? source::to_json(*spec) : nlohmann::json();
  io::write_text(folder.model(), [&](std::ostream& out) { out << model.dump(2) << '\n'; });
  for (const auto& file : {folder.trace(), folder.posterior(), folder.model(), folder.path() / kCheckFile})
    if (fs::exists(file)) record.files[file.filename().string()] = table::sha256_of_file(file.string());
  save(record, folder.record());
}

FitFolder save_fit(const fs::path& path, const source::ModelSource& source, const FitResult& result,
                   std::uint64_t seed) {
  FitRecord record = begin_record(source);
  complete_record(record, source, result, seed);
  return save_fit(path, std::move(record), result.posterior, source, Trace());
}

FitFolder save_fit(const fs::path& path, FitRecord record, const Gaussian& posterior,
                   const source::ModelSource& source, const Trace& trace) {
  UnfinishedFit fit = UnfinishedFit::begin(path);
  fit.start();
  store_fit(fit.folder(), std::move(record), posterior, source, trace);
  fit.install();
  return fit.destination();
}

namespace {

void check_files(const FitFolder& folder, const FitRecord& record) {
  std::vector<fs::path> files = {folder.trace(), folder.posterior(), folder.model()};
  const fs::path check = folder.path() / kCheckFile;  // not every model has one
  if (fs::exists(check)) files.push_back(check);
  for (const auto& file : files) {
    const auto written = record.files.find(file.filename().string());
    if (written == record.files.end() || table::sha256_of_file(file.string()) != written->second)
      throw DataError(
          fmt::format("'{}' has been changed, or is of another fit: take it back from a copy, or fit again",
                      file.string()));
  }
}

}  // namespace

FitRecord checked_record(const FitFolder& folder) {
  FitRecord record = load_record(folder.record());
  if (record.running()) throw DataError(advice_to_resume(folder.path()));
  check_files(folder, record);
  return record;
}

StoredFit load_fit(const std::filesystem::path& path) {
  const FitFolder folder = FitFolder::open(path);
  FitRecord record = checked_record(folder);
  SavedPosterior saved = load_posterior(folder.posterior());
  const nlohmann::json model = nlohmann::json::parse(io::read_text(folder.model()), nullptr, false);
  if (model.is_discarded())
    throw DataError(
        fmt::format("cannot use '{}': it is not valid JSON; make the fit again", folder.model().string()));
  std::optional<source::ModelSpec> spec;
  if (!model.is_null()) spec = source::model_spec_from_json(model, folder.model().string());
  // Predictions by a formula check this themselves.
  if (spec && !spec->formula && source::model_without_data(*spec).dimension() != saved.gaussian.dimension())
    throw DataError(fmt::format("'{}' and '{}' are of two fits: take them back from a copy, or fit again",
                                folder.model().string(), folder.posterior().string()));
  return {folder, std::move(record), std::move(saved.gaussian), std::move(saved.names), std::move(spec)};
}

}  // namespace magva::results
