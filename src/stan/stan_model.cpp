#include "magva/stan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <mutex>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

#include "magva/error.hpp"
#include "stan/library.hpp"

namespace magva::stan {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The program's own print statements: standard output is for results.
void print_to_stderr(const char* text, std::size_t size) { std::fwrite(text, 1, size, stderr); }

/// Held while a library without STAN_THREADS computes: its automatic differentiation has one tape a process.
std::mutex& tape() {
  static std::mutex mutex;
  return mutex;
}

ModelHandle* construct(const Library& library, const std::string& data, std::uint32_t seed) {
  const Interface& bs = library.bs();
  ErrorMessage error(bs);
  if (bs.set_print_callback(print_to_stderr, error.out()) != 0) {
    throw DataError(fmt::format("'{}' refused a place for its print statements: {}", library.file().string(),
                                error.text()));
  }
  ModelHandle* handle = bs.model_construct(data.c_str(), seed, error.out());
  if (!handle) {
    throw DataError(fmt::format("The model in '{}' does not accept the data: {}", library.program().string(),
                                error.text()));
  }
  return handle;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw IoError(fmt::format("The file '{}' cannot be read or is empty.", file.string()));
  }
  return std::move(text).str();
}

/// "'data.json', line 3: ", by the offset that Stan gives where the text is no JSON; empty where it is.
std::string place_of(const std::string& message, const std::filesystem::path& file, const std::string& text) {
  static const std::regex kOffset("at offset ([0-9]{1,15})");
  std::smatch found;
  if (!std::regex_search(message, found, kOffset)) return "";
  const auto end = text.begin() + std::min<std::ptrdiff_t>(std::ssize(text), std::stoll(found[1]));
  return fmt::format("'{}', line {}: ", file.string(), 1 + std::count(text.begin(), end, '\n'));
}

}  // namespace

struct StanModel::State {
  State(Library opened, const std::string& data, std::uint32_t seed)
      : library(std::move(opened)),
        bs(library.bs()),
        model(construct(library, data, seed), bs.model_destruct),
        names(stan_names(bs.param_unc_names(model.get()))),
        concurrent(std::string_view(bs.model_info(model.get())).find("STAN_THREADS=true") !=
                   std::string_view::npos) {}

  /// Nothing if the library may compute concurrently.
  std::unique_lock<std::mutex> turn() const {
    return concurrent ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(tape());
  }

  /// BridgeStan makes a thread's memory for automatic differentiation with its first gradient, but a log
  /// density without gradient needs it, too, if the program solves differential or algebraic equations.
  void prepare_thread(const double* theta) const {
    static thread_local decltype(bs.log_density_gradient) prepared = nullptr;  // of one library
    if (!concurrent || prepared == bs.log_density_gradient) return;
    prepared = bs.log_density_gradient;
    ErrorMessage ignored(bs);
    double log_density = kNaN;
    Vector gradient(bs.param_unc_num(model.get()));
    bs.log_density_gradient(model.get(), false, true, theta, &log_density, gradient.data(), ignored.out());
  }

  double evaluate_value(const double* theta) const {
    prepare_thread(theta);
    ErrorMessage error(bs);
    double log_density = kNaN;
    evaluated.fetch_add(1, std::memory_order_relaxed);
    if (bs.log_density(model.get(), false, true, theta, &log_density, error.out()) != 0)
      return reject(thrown, error.text());
    if (!std::isfinite(log_density))
      return reject(non_finite, fmt::format("the log density is {}", log_density));
    return log_density;
  }

  double evaluate_draw(const double* theta, Eigen::Ref<Vector> gradient) const {
    ErrorMessage error(bs);
    double log_density = kNaN;
    evaluated.fetch_add(1, std::memory_order_relaxed);
    if (bs.log_density_gradient(model.get(), false, true, theta, &log_density, gradient.data(),
                                error.out()) != 0) {
      return reject(thrown, error.text());
    }
    if (!std::isfinite(log_density)) {
      return reject(non_finite, fmt::format("the log density is {}", log_density));
    }
    if (!gradient.allFinite()) return reject(non_finite, "the gradient of the log density is not finite");
    return log_density;
  }

  double reject(std::atomic<std::uint64_t>& counter, std::string message) const {
    counter.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(message_mutex);
    if (first_message.empty()) first_message = std::move(message);
    return kNaN;
  }

  Library library;
  const Interface& bs;
  std::unique_ptr<ModelHandle, void (*)(ModelHandle*)> model;
  std::vector<std::string> names;
  bool concurrent;

  mutable std::atomic<std::uint64_t> evaluated{0};
  mutable std::atomic<std::uint64_t> thrown{0};
  mutable std::atomic<std::uint64_t> non_finite{0};
  mutable std::mutex message_mutex;
  mutable std::string first_message;
};

StanModel::StanModel(Library library, const std::string& data, std::uint32_t seed)
    : state_(std::make_unique<State>(std::move(library), data, seed)) {
  if (state_->names.empty()) {
    throw DataError(fmt::format("The model in '{}' has no parameters: there is nothing to fit.",
                                state_->library.program().string()));
  }
}

StanModel::~StanModel() = default;

Index StanModel::dimension() const { return state_->bs.param_unc_num(state_->model.get()); }

void StanModel::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                         Evaluation& evaluation) const {
  const auto evaluate_draw = [&](Index s) {
    log_density(s) = state_->evaluate_draw(theta.col(s).data(), gradient.col(s));
    if (!std::isfinite(log_density(s))) gradient.col(s).setZero();
  };
  if (state_->concurrent) {
    evaluation.workers.run(theta.cols(), evaluate_draw);
    return;
  }
  const auto turn = state_->turn();
  for (Index s = 0; s < theta.cols(); ++s) evaluate_draw(s);
}

bool StanModel::evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                               MatrixRef log_density, Evaluation& evaluation) const {
  const auto evaluate_point = [&](Index s) {
    const Index k = s % steps.size(), j = s / steps.size();
    const Vector theta = centre + steps(k) * directions.col(j);
    log_density(k, j) = state_->evaluate_value(theta.data());
  };
  const Index points = steps.size() * directions.cols();
  if (state_->concurrent) {
    evaluation.workers.run(points, evaluate_point);
    return true;
  }
  const auto turn = state_->turn();
  for (Index s = 0; s < points; ++s) evaluate_point(s);
  return true;
}

std::string StanModel::parameter_name(Index i) const { return state_->names.at(static_cast<std::size_t>(i)); }

std::string StanModel::name() const { return state_->bs.name(state_->model.get()); }

std::string StanModel::info() const { return state_->bs.model_info(state_->model.get()); }

const Library& StanModel::library() const { return state_->library; }

bool StanModel::concurrent() const { return state_->concurrent; }

std::vector<std::string> StanModel::constrained_names(Blocks blocks) const {
  return stan_names(state_->bs.param_names(state_->model.get(), blocks.transformed_parameters,
                                           blocks.generated_quantities));
}

ConstrainedDraws StanModel::constrain(ConstMatrixRef theta, Blocks blocks, std::uint32_t seed) const {
  const Interface& bs = state_->bs;
  ErrorMessage error(bs);
  const std::unique_ptr<RandomHandle, void (*)(RandomHandle*)> random(bs.rng_construct(seed, error.out()),
                                                                      bs.rng_destruct);
  if (!random) throw DataError(fmt::format("The model cannot make random numbers: {}", error.text()));

  ConstrainedDraws draws;
  draws.names = constrained_names(blocks);
  draws.values.setConstant(static_cast<Index>(draws.names.size()), theta.cols(), kNaN);
  const auto turn = state_->turn();
  if (theta.cols() > 0) state_->prepare_thread(theta.col(0).data());
  for (Index s = 0; s < theta.cols(); ++s) {
    ErrorMessage thrown(bs);
    if (bs.param_constrain(state_->model.get(), blocks.transformed_parameters, blocks.generated_quantities,
                           theta.col(s).data(), draws.values.col(s).data(), random.get(),
                           thrown.out()) == 0) {
      continue;
    }
    draws.values.col(s).setConstant(kNaN);
    if (draws.failed++ == 0) draws.first_failure = thrown.text();
  }
  return draws;
}

Vector StanModel::unconstrain(const std::string& json) const {
  ErrorMessage error(state_->bs);
  Vector theta(dimension());
  const auto turn = state_->turn();
  if (state_->bs.param_unconstrain_json(state_->model.get(), json.c_str(), theta.data(), error.out()) != 0) {
    throw DataError(error.text());
  }
  if (!theta.allFinite()) throw DataError("a value lies on the boundary of its constraint");
  return theta;
}

Rejections StanModel::rejections() const {
  const std::lock_guard lock(state_->message_mutex);
  return {state_->evaluated, state_->thrown, state_->non_finite, state_->first_message};
}

std::unique_ptr<StanModel> load_model(const std::filesystem::path& library, const std::filesystem::path& data,
                                      std::uint32_t seed, const std::filesystem::path& program) {
  Library opened(library, program.empty() ? library : program);
  if (data.empty()) return std::make_unique<StanModel>(std::move(opened), std::string(), seed);
  const std::string text = text_of(data);
  try {
    return std::make_unique<StanModel>(std::move(opened), text, seed);
  } catch (const DataError& error) {
    throw DataError(place_of(error.what(), data, text) + error.what());
  }
}

Vector read_start(const StanModel& model, const std::filesystem::path& file) {
  try {
    return model.unconstrain(text_of(file));
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("The starting values in '{}' cannot be used: {}; give a value inside its constraint for "
                    "every parameter of the model, in Stan's JSON.",
                    file.string(), error.what()));
  }
}

}  // namespace magva::stan
