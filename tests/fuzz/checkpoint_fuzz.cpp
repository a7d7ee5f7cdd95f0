// A checkpoint from a stranger who knows how to make a checksum: numbers of a good one are changed, and the
// fit goes on or refuses with a sentence. The input is a byte that chooses the way of fitting, and then
// changes: a place, two bytes, and what stands there from now on, eight.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "round_trip.hpp"
#include "support/checksum.hpp"
#include "support/temporary_folder.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

constexpr std::size_t kHeader = 24;  // "magva checkpoint 4\n" and what says whose it is
constexpr int kCallsBefore = 12;     // of the observer, before the fit is interrupted
constexpr int kCallsAfter = 2;       // before the resumed one is
constexpr std::size_t kChangeBytes = 10;

/// A fit of one way, interrupted, with the checkpoint that it left.
struct Interrupted {
  std::shared_ptr<const Model> model;
  FitOptions options;
  std::vector<char> checkpoint;
};

std::vector<char> content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::shared_ptr<const Model> banana() {
  auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    const double bend = theta(1) - .3 * theta(0) * theta(0);
    gradient << -theta(0) + .6 * theta(0) * bend, -bend, -2 * theta(2);
    return -.5 * theta(0) * theta(0) - .5 * bend * bend - theta(2) * theta(2);
  });
  return std::make_shared<const decltype(model)>(std::move(model));
}

std::shared_ptr<const Model> sampled_rows() {
  RowMatrix x(40, 2);
  Vector y(40);
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i) << 1, std::sin(static_cast<double>(i));
    y(i) = std::cos(static_cast<double>(3 * i));
  }
  const auto full = std::make_shared<const Regression>(
      linear_regression({Design::own(x), y, {}, {}}, NormalPriorOptions{.variance = 10}, LinearOptions()));
  return std::make_shared<const Minibatch>(full, MinibatchOptions{10, 1, 1});
}

Interrupted interrupt(std::shared_ptr<const Model> model, FitOptions options,
                      const std::filesystem::path& path) {
  options.threads = 1;
  options.diagnostic_draws = 100;
  options.checkpoint.emplace();
  options.checkpoint->path = path;
  options.checkpoint->every = 1e-9;
  int calls = 0;
  fit(*model, options, {[&](const FitView&) { return ++calls < kCallsBefore; }});
  options.checkpoint->resume = true;
  options.time_limit = .05;
  return {std::move(model), options, content_of(path)};
}

std::vector<Interrupted> ways_of_fitting(const std::filesystem::path& path) {
  FitOptions low_rank;
  low_rank.rank = 1;
  FitOptions algorithm1;
  algorithm1.algorithm1.emplace();
  algorithm1.rank = 1;
  return {interrupt(banana(), FitOptions(), path), interrupt(banana(), low_rank, path),
          interrupt(banana(), algorithm1, path), interrupt(sampled_rows(), FitOptions(), path)};
}

void write_changed(std::vector<char> content, const unsigned char* data, std::size_t size,
                   const std::filesystem::path& path) {
  require(content.size() > kHeader + 2 * sizeof(double), "a checkpoint holds something");
  content.resize(content.size() - sizeof(std::uint64_t));
  for (; size >= kChangeBytes; data += kChangeBytes, size -= kChangeBytes) {
    const std::size_t place = (data[0] + 256U * data[1]) % (content.size() - kHeader - sizeof(double));
    std::copy_n(data + 2, sizeof(double), content.begin() + static_cast<std::ptrdiff_t>(kHeader + place));
  }
  test::append_checksum(content);
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  static const std::filesystem::path path = folder.path() / "checkpoint";
  static const std::vector<Interrupted> ways = ways_of_fitting(path);
  if (size == 0) return 0;
  const Interrupted& way = ways[data[0] % ways.size()];
  write_changed(way.checkpoint, data + 1, size - 1, path);
  try {
    int calls = 0;
    const FitResult result =
        fit(*way.model, way.options, {[&](const FitView&) { return ++calls < kCallsAfter; }});
    require(result.posterior.dimension() == way.model->dimension(), "a result is of the model");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
