#include <utility>

#include "magva/model_source.hpp"

namespace magva::source {

namespace {

class CoordinateReporter final : public Reporter {
 public:
  explicit CoordinateReporter(std::vector<std::string> names) : names_(std::move(names)) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    for (const auto& name : names_) all.push_back({name, static_cast<Index>(all.size())});
    return all;
  }
  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override { return theta; }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Reporter> make_coordinate_reporter(std::vector<std::string> names) {
  return std::make_unique<CoordinateReporter>(std::move(names));
}

}  // namespace magva::source
