#include "magva/fit_folder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "magva/stored_check.hpp"
#include "source/model_spec.hpp"

namespace magva::results {

namespace {

namespace fs = std::filesystem;

bool holds_a_fit(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "fit.json", error) && is_fit_record(folder / "fit.json");
}

bool make_folder(const fs::path& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    throw IoError(fmt::format("cannot make the folder '{}': {}; choose another with --out", path.string(),
                              error ? error.message() : "there is a file of that name"));
  return made;
}

// What a killed run left half-written.
void remove_partial_files(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".part") fs::remove(entry.path());
}

// Better to know before the fit than after it.
void try_to_write(const fs::path& path) {
  const fs::path probe = path / "probe";
  io::write_text(probe, [](std::ostream& out) { out << std::string(1 << 16, ' '); });
  fs::remove(probe);
}

}  // namespace

FitFolder FitFolder::create(const fs::path& path) {
  const bool made = make_folder(path);
  try {
    if (!fs::is_empty(path) && !holds_a_fit(path))
      throw UsageError(
          fmt::format("the folder '{}' holds other files and no fit: choose a new or empty folder with --out",
                      path.string()));
    remove_partial_files(path);
    try_to_write(path);
  } catch (const fs::filesystem_error& error) {
    throw IoError(fmt::format("cannot use the folder '{}': {}", path.string(), error.code().message()));
  }
  return {path, made};
}

FitFolder FitFolder::open(const fs::path& path) {
  if (!fs::is_directory(path)) {
    const bool file = fs::exists(path);
    throw IoError(fmt::format(
        "there is no fit at '{}': {}", path.string(),
        file ? "it is a file; name the folder that 'magva fit' wrote" : "the folder does not exist"));
  }
  if (!holds_a_fit(path))
    throw IoError(
        fmt::format("there is no fit in '{}': it has no fit.json that 'magva fit' wrote", path.string()));
  return {path, false};
}

bool FitFolder::has_checkpoint() const { return fs::is_regular_file(checkpoint()); }

void FitFolder::clear() const {
  for (const auto& file : {trace(), posterior(), model(), checkpoint(), path_ / kCheckFile}) {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
}

void FitFolder::abandon() const {
  std::error_code ignored;
  if (!made_) return;
  clear();
  fs::remove(record(), ignored);
  fs::remove(path_, ignored);  // which fails if it is not empty
}

namespace {

std::vector<std::string> coordinate_names(const Model& model) {
  std::vector<std::string> names;
  for (Index i = 0; i < model.dimension(); ++i) names.push_back(model.parameter_name(i));
  return names;
}

}  // namespace

void store_fit(const FitFolder& folder, const FitRecord& record, const Gaussian& posterior,
               const source::ModelSource& source, const Trace& trace) {
  trace.save(folder.trace());
  posterior.save(folder.posterior(), coordinate_names(*source.model));
  const nlohmann::json model = source.spec ? source::to_json(*source.spec) : nlohmann::json();
  io::write_text(folder.model(), [&](std::ostream& out) { out << model.dump(2) << '\n'; });
  save(record, folder.record());
}

FitFolder save_fit(const fs::path& path, const source::ModelSource& source, const FitResult& result,
                   std::uint64_t seed) {
  FitFolder folder = FitFolder::create(path);
  folder.clear();
  FitRecord record = begin_record(source);
  complete_record(record, source, result, seed);
  store_fit(folder, record, result.posterior, source);
  return folder;
}

StoredFit load_fit(const std::filesystem::path& path) {
  const FitFolder folder = FitFolder::open(path);
  FitRecord record = load_record(folder.record());
  if (record.running())
    throw DataError(
        fmt::format("the fit in '{}' has not ended: wait for it, or go on with magva fit --resume --out {}",
                    path.string(), path.string()));
  SavedPosterior saved = load_posterior(folder.posterior());
  const nlohmann::json model = nlohmann::json::parse(io::read_text(folder.model()), nullptr, false);
  if (model.is_discarded())
    throw DataError(
        fmt::format("cannot use '{}': it is not valid JSON; make the fit again", folder.model().string()));
  std::optional<source::ModelSpec> spec;
  if (!model.is_null()) spec = source::model_spec_from_json(model, folder.model().string());
  return {folder, std::move(record), std::move(saved.gaussian), std::move(saved.names), std::move(spec)};
}

}  // namespace magva::results
