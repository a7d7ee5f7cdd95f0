// The posterior of a Stan program as a source.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "magva/model_source.hpp"
#include "magva/stan.hpp"
#include "table/byte_source.hpp"

namespace magva::source {

namespace {

/// Points at which a parameter must equal the coordinate of its name, or its exponential, to rounding.
constexpr Index kComparedPoints = 3;
constexpr double kRounding = 1e-14;

/// A parameter without a constraint is a coordinate of theta, and one that is positive a coordinate's
/// exponential. Its name is the coordinate's, and so is its value.
std::vector<Quantity> named_quantities(const stan::StanModel& model, stan::Blocks blocks) {
  const Index m = model.dimension();
  std::map<std::string, Index> coordinates;
  for (Index i = 0; i < m; ++i) coordinates[model.parameter_name(i)] = i;
  Matrix theta(m, kComparedPoints);
  for (Index i = 0; i < theta.size(); ++i) theta.data()[i] = std::sin(1 + static_cast<double>(i));
  const stan::ConstrainedDraws at = model.constrain(theta, blocks, 1);
  std::vector<Quantity> all;
  for (std::size_t k = 0; k < at.names.size(); ++k) {
    all.push_back({at.names[k], std::nullopt});
    const auto found = coordinates.find(at.names[k]);
    if (found == coordinates.end()) continue;
    const auto value = at.values.row(static_cast<Index>(k)).array();
    const auto coordinate = theta.row(found->second).array();
    if ((value == coordinate).all()) all.back().coordinate = found->second;
    if (((value - coordinate.exp()).abs() <= kRounding * value).all()) all.back().logarithm = found->second;
  }
  return all;
}

class StanReporter final : public Reporter {
 public:
  StanReporter(std::shared_ptr<const stan::StanModel> model, stan::Blocks blocks)
      : model_(std::move(model)), blocks_(blocks), quantities_(named_quantities(*model_, blocks)) {}

  std::vector<Quantity> quantities() const override { return quantities_; }
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
  std::vector<Quantity> quantities_;
};

}  // namespace

bool is_stan_file(const std::string& file) {
  const auto extension = std::filesystem::path(file).extension();
  return extension == ".stan" || extension == ".so" || extension == ".dylib";
}

ModelSource make_stan_source(const StanOptions& options) {
  const auto library = stan::library_of(options.file, options.progress);
  const std::shared_ptr<const stan::StanModel> model =
      stan::load_model(library, options.data, static_cast<std::uint32_t>(options.seed), options.file);
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
