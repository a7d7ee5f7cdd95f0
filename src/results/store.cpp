#include "results/store.hpp"

#include <fmt/format.h>

#include "magva/error.hpp"
#include "results/text_file.hpp"

namespace magva::results {

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
  posterior.save(folder.posterior(), coordinate_names(source.model()));
  write_text(folder.model(), [&](std::ostream& out) { out << source.for_prediction().dump(2) << '\n'; });
  save(record, folder.record());
}

StoredFit load_fit(const std::filesystem::path& path) {
  const FitFolder folder = FitFolder::open(path);
  FitRecord record = load_record(folder.record());
  if (record.running())
    throw DataError(
        fmt::format("the fit in '{}' has not ended: wait for it, or go on with magva fit --resume --out {}",
                    path.string(), path.string()));
  SavedPosterior saved = load_posterior(folder.posterior());
  nlohmann::json model = nlohmann::json::parse(read_text(folder.model()), nullptr, false);
  if (model.is_discarded())
    throw DataError(
        fmt::format("cannot use '{}': it is not valid JSON; make the fit again", folder.model().string()));
  return {folder, std::move(record), std::move(saved.gaussian), std::move(saved.names), std::move(model)};
}

}  // namespace magva::results
