#pragma once
// The test libraries of tests/stan, and how the tests open and evaluate them.
#include <filesystem>
#include <string>

#include "magva/stan.hpp"
#include "stan/library.hpp"
#include "support/paths.hpp"

namespace magva::stan {

inline std::filesystem::path test_library(const std::string& name) {
  return test::stan_libraries() / ("test_stan_" + name + ".so");
}

inline StanModel open_test_model(const std::string& name, const std::string& data) {
  return {Library(test_library(name)), data, 1};
}

struct Evaluated {
  Vector log_density;
  Matrix gradient;
};

inline Evaluated evaluate(const StanModel& model, ConstMatrixRef theta, int threads = 1) {
  Evaluated out{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  const auto scratch = model.make_scratch(theta.cols());
  Workers workers(threads);
  Evaluation evaluation{*scratch, workers};
  model.evaluate(theta, out.log_density, out.gradient, evaluation);
  return out;
}

/// The sentence of the error that `call` throws; empty where it throws none of this kind.
template <class Thrown, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Thrown& error) {
    return error.what();
  }
  return {};
}

}  // namespace magva::stan
