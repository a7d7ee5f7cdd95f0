#include "source/stan_source.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "magva/error.hpp"
#include "source/refuse_options.hpp"
#include "stan/compile.hpp"
#include "stan/stan_model.hpp"
#include "table/sha256.hpp"

namespace magva::source {

namespace {

class StanSource final : public ModelSource {
 public:
  StanSource(std::unique_ptr<stan::StanModel> model, stan::Blocks blocks, Vector start, DataRecord data)
      : model_(std::move(model)), blocks_(blocks), start_(std::move(start)), data_(std::move(data)) {}

  const Model& model() const override { return *model_; }
  Vector start() const override { return start_; }
  DataRecord data() const override { return data_; }
  std::string description() const override {
    return fmt::format("Stan program {} with {} unconstrained parameters", model_->name(),
                       model_->dimension());
  }
  std::vector<std::string> notes() const override { return {}; }
  std::vector<std::string> warnings_after_fit() const override {
    const stan::Rejections rejected = model_->rejections();
    if (rejected.total() * 100 <= rejected.evaluated) return {};
    return {fmt::format(
        "the program could not be evaluated at {} of {} points{}{}", rejected.total(), rejected.evaluated,
        rejected.first_message.empty() ? "" : "; at the first it said: ", rejected.first_message)};
  }

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    for (auto& name : model_->constrained_names(blocks_)) all.push_back({std::move(name), std::nullopt});
    return all;
  }
  Matrix report(ConstMatrixRef theta, std::uint64_t seed) const override {
    return model_->constrain(theta, blocks_, static_cast<std::uint32_t>(seed)).values;
  }

 private:
  std::unique_ptr<stan::StanModel> model_;
  stan::Blocks blocks_;
  Vector start_;
  DataRecord data_;
};

void refuse_options_of_tables(const options::Values& values) {
  std::vector<std::string> of_tables = coding_options();
  for (const char* option : {"response", "model", "prior", "prior-variance", "horseshoe", "covariate",
                             "basis", "batch", "float32", "save-design"})
    of_tables.emplace_back(option);
  refuse_options(values, of_tables, "for a Stan model");
}

}  // namespace

bool is_stan_file(const std::string& file) {
  const auto extension = std::filesystem::path(file).extension();
  return extension == ".stan" || extension == ".so" || extension == ".dylib";
}

std::unique_ptr<ModelSource> make_stan_source(const options::Values& values) {
  refuse_options_of_tables(values);
  const std::string& file = values.arguments.at(0);
  const std::string data_file = values.text("data");
  const auto library = stan::library_of(file, [&](const std::string& line) {
    if (!values.flag("quiet")) fmt::print(stderr, "{}\n", line);
  });
  auto model = stan::load_model(library, data_file, static_cast<std::uint32_t>(values.integer("seed")));
  Vector start = values.given("init") ? stan::read_start(*model, values.text("init")) : model->start();
  const stan::Blocks blocks{true, values.flag("generated-quantities")};
  DataRecord data{data_file, 0, 0, input::sha256_of_file(data_file.empty() ? library.string() : data_file)};
  return std::make_unique<StanSource>(std::move(model), blocks, std::move(start), std::move(data));
}

}  // namespace magva::source
