// The posterior of a Stan program as a source.
#include <fmt/format.h>

#include <filesystem>

#include "magva/model_source.hpp"
#include "magva/stan.hpp"
#include "table/byte_source.hpp"

namespace magva::source {

namespace {

class StanReporter final : public Reporter {
 public:
  StanReporter(std::shared_ptr<const stan::StanModel> model, stan::Blocks blocks)
      : model_(std::move(model)), blocks_(blocks) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    for (auto& name : model_->constrained_names(blocks_)) all.push_back({std::move(name), std::nullopt});
    return all;
  }
  Matrix report(ConstMatrixRef theta, std::uint64_t seed) const override {
    return model_->constrain(theta, blocks_, static_cast<std::uint32_t>(seed)).values;
  }
  std::vector<std::string> warnings() const override {
    const stan::Rejections rejected = model_->rejections();
    if (rejected.total() * 100 <= rejected.evaluated) return {};
    return {fmt::format(
        "the program could not be evaluated at {} of {} points{}{}", rejected.total(), rejected.evaluated,
        rejected.first_message.empty() ? "" : "; at the first it said: ", rejected.first_message)};
  }

 private:
  std::shared_ptr<const stan::StanModel> model_;
  stan::Blocks blocks_;
};

}  // namespace

bool is_stan_file(const std::string& file) {
  const auto extension = std::filesystem::path(file).extension();
  return extension == ".stan" || extension == ".so" || extension == ".dylib";
}

ModelSource make_stan_source(const StanOptions& options) {
  const auto library = stan::library_of(options.file, options.progress);
  const std::shared_ptr<const stan::StanModel> model =
      stan::load_model(library, options.data, static_cast<std::uint32_t>(options.seed));
  ModelSource source;
  source.model = model;
  source.reporter = std::make_shared<StanReporter>(model, stan::Blocks{true, options.generated_quantities});
  source.start = options.start_file ? stan::read_start(*model, *options.start_file) : model->start();
  source.description =
      fmt::format("Stan program {} with {} unconstrained parameters", model->name(), model->dimension());
  source.data = {options.data, 0, 0,
                 table::sha256_of_file(options.data.empty() ? library.string() : options.data)};
  return source;
}

}  // namespace magva::source
