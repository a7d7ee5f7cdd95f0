// BridgeStan's C interface over one Program, written against BridgeStan's documentation. MAGVA_STAN_MAJOR
// sets the version that the library claims.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "program.hpp"

#ifndef MAGVA_STAN_MAJOR
#define MAGVA_STAN_MAJOR 2
#endif

using test_stan::Blocks;
using test_stan::Program;
using test_stan::Vector;

struct bs_model {
  std::unique_ptr<Program> program;
  std::string info;
  std::string unconstrained;
  std::string constrained[2][2];
};

struct bs_rng {
  std::mt19937_64 random;
};

namespace {

using Print = void (*)(const char*, std::size_t);
Print& printer() {
  static Print print = nullptr;
  return print;
}

/// As in BridgeStan, the memory of a thread for automatic differentiation is made with its first gradient;
/// the thread that opens the library has it.
thread_local bool has_memory = false;

void require_memory(const Program& program) {
  if (program.threads && !has_memory)
    throw std::logic_error("this thread has no memory for automatic differentiation");
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

std::vector<std::string> names_of(const Program& program, bool transformed, bool generated) {
  auto names = program.parameters;
  if (transformed) names.insert(names.end(), program.transformed.begin(), program.transformed.end());
  if (generated) names.insert(names.end(), program.generated.begin(), program.generated.end());
  return names;
}

/// The call's result, or `failure` and the message that BridgeStan would give.
template <class Call, class Result>
Result guarded(const std::string& what, Result failure, char** error, Call call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    if (error) *error = strdup((what + " failed with exception: " + thrown.what() + "\n").c_str());
    return failure;
  }
}

/// With Stan's message where the text is no JSON.
nlohmann::json parse(const char* data) {
  try {
    return nlohmann::json::parse(data);
  } catch (const nlohmann::json::parse_error& error) {
    throw std::runtime_error("Error in JSON parsing \n at offset " + std::to_string(error.byte) +
                             ": \nInvalid value.");
  }
}

bs_model* make_model(const char* data, unsigned seed) {
  has_memory = true;
  auto model = std::make_unique<bs_model>();
  const bool has_data = data && *data;
  model->program = test_stan::make_program(has_data ? parse(data) : nlohmann::json::object(), seed);
  const Program& program = *model->program;
  model->info =
      std::string("Stan version: 2.0.0\n\tSTAN_THREADS=") + (program.threads ? "true" : "false") + "\n";
  model->unconstrained = list(program.unconstrained);
  for (int tp = 0; tp < 2; ++tp) {
    for (int gq = 0; gq < 2; ++gq) model->constrained[tp][gq] = list(names_of(program, tp, gq));
  }
  return model.release();
}

Vector point(const bs_model* model, const double* theta) {
  return Eigen::Map<const Vector>(theta, static_cast<Eigen::Index>(model->program->unconstrained.size()));
}

double* append(const Vector& values, double* to) { return std::copy(values.begin(), values.end(), to); }

}  // namespace

void test_stan::print(const std::string& text) {
  if (printer()) {
    printer()(text.data(), text.size());
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int bs_major_version;
EXPORT int bs_minor_version;
EXPORT int bs_patch_version;
int bs_major_version = MAGVA_STAN_MAJOR;
int bs_minor_version = 6;
int bs_patch_version = 3;

EXPORT bs_model* bs_model_construct(const char* data, unsigned seed, char** error) {
  const std::string what =
      std::string("construct(") + (data ? data : "NULL") + ", " + std::to_string(seed) + ")";
  return guarded(what, static_cast<bs_model*>(nullptr), error, [&] { return make_model(data, seed); });
}
EXPORT void bs_model_destruct(bs_model* model) { delete model; }
EXPORT void bs_free_error_msg(char* message) { std::free(message); }
EXPORT const char* bs_name(const bs_model* model) { return model->program->name.c_str(); }
EXPORT const char* bs_model_info(const bs_model* model) { return model->info.c_str(); }
EXPORT const char* bs_param_names(const bs_model* model, bool tp, bool gq) {
  return model->constrained[tp][gq].c_str();
}
EXPORT const char* bs_param_unc_names(const bs_model* model) { return model->unconstrained.c_str(); }
EXPORT int bs_param_num(const bs_model* model, bool tp, bool gq) {
  return static_cast<int>(names_of(*model->program, tp, gq).size());
}
EXPORT int bs_param_unc_num(const bs_model* model) {
  return static_cast<int>(model->program->unconstrained.size());
}

EXPORT int bs_param_constrain(const bs_model* model, bool tp, bool gq, const double* theta, double* out,
                              bs_rng* rng, char** error) {
  return guarded("param_constrain()", -1, error, [&] {
    std::mt19937_64 none;
    require_memory(*model->program);
    if (gq && !rng) throw std::invalid_argument("include_gq=true but rng=nullptr");
    const Blocks blocks = model->program->constrain(point(model, theta), rng ? rng->random : none);
    double* end = append(blocks.parameters, out);
    if (tp) end = append(blocks.transformed, end);
    if (gq) append(blocks.generated, end);
    return 0;
  });
}

EXPORT int bs_param_unconstrain_json(const bs_model* model, const char* json, double* theta, char** error) {
  return guarded("param_unconstrain_json()", -1, error, [&] {
    append(model->program->unconstrain(nlohmann::json::parse(json)), theta);
    return 0;
  });
}

EXPORT int bs_log_density(const bs_model* model, bool propto, bool jacobian, const double* theta,
                          double* value, char** error) {
  return guarded("log_density()", -1, error, [&] {
    require_memory(*model->program);
    if (propto || !jacobian) throw std::invalid_argument("this library keeps constants and the Jacobian");
    Vector slope(static_cast<Eigen::Index>(model->program->unconstrained.size()));
    *value = model->program->log_density(point(model, theta), slope);
    return 0;
  });
}

EXPORT int bs_log_density_gradient(const bs_model* model, bool propto, bool jacobian, const double* theta,
                                   double* value, double* gradient, char** error) {
  has_memory = true;
  return guarded("log_density_gradient()", -1, error, [&] {
    if (propto || !jacobian) throw std::invalid_argument("this library keeps constants and the Jacobian");
    Vector slope(static_cast<Eigen::Index>(model->program->unconstrained.size()));
    *value = model->program->log_density(point(model, theta), slope);
    append(slope, gradient);
    return 0;
  });
}

EXPORT bs_rng* bs_rng_construct(unsigned seed, char**) { return new bs_rng{std::mt19937_64(seed)}; }
EXPORT void bs_rng_destruct(bs_rng* rng) { delete rng; }
EXPORT int bs_set_print_callback(Print print, char**) {
  printer() = print;
  return 0;
}
