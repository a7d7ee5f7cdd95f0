#pragma once
// Small regressions whose expectations are known without draws.
#include <functional>
#include <string>
#include <vector>

#include "core/noise.hpp"
#include "exact/newton.hpp"
#include "magva/regression.hpp"

namespace magva::test {

inline const ExactObserver kGoOn = [](std::int64_t, double) { return true; };

struct FullRank {
  Vector mean;
  Matrix sigma;
};

inline Matrix normals(Index rows, Index cols, std::uint64_t seed) {
  Matrix out(rows, cols);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, out);
  return out;
}

/// Standard normal columns behind an intercept, rounded so that single precision holds them exactly.
inline RowMatrix design(Index rows, Index cols, std::uint64_t seed) {
  RowMatrix x = (normals(rows, cols, seed) * 64).array().round() / 64;
  x.col(0).setOnes();
  return x;
}

enum class Kind { logistic, poisson, known_noise, unknown_noise };

inline Vector responses(Kind kind, const RowMatrix& x, std::uint64_t seed) {
  const Vector coefficient = normals(x.cols(), 1, seed + 1).col(0) / std::sqrt(static_cast<double>(x.cols()));
  const Vector eta = x * coefficient;
  const Matrix z = normals(x.rows(), 1, seed + 2);
  Vector y(x.rows());
  for (Index i = 0; i < y.size(); ++i) {
    if (kind == Kind::logistic) y(i) = z(i, 0) < eta(i) ? 1 : 0;
    if (kind == Kind::poisson) y(i) = std::max(0., std::round(std::exp(eta(i)) + z(i, 0)));
    if (kind == Kind::known_noise || kind == Kind::unknown_noise) y(i) = eta(i) + .7 * z(i, 0);
  }
  return y;
}

inline Regression regression(Kind kind, Design x, Vector y, const PriorOptions& prior, Vector weights = {}) {
  RegressionData data{std::move(x), std::move(y), std::move(weights), {}};
  if (kind == Kind::logistic) return logistic_regression(std::move(data), prior);
  if (kind == Kind::poisson) return poisson_regression(std::move(data), prior);
  LinearOptions options;
  if (kind == Kind::known_noise) options.noise_sd = .7;
  return linear_regression(std::move(data), prior, options);
}

struct NamedModel {
  std::string name;
  Regression model;
};

/// Every likelihood with every prior that has the capability, with weights.
inline std::vector<NamedModel> all_models(Index rows, Index cols) {
  HorseshoeOptions horseshoe;
  horseshoe.form = HorseshoeForm::centred;
  std::vector<NamedModel> out;
  const RowMatrix x = design(rows, cols, 3);
  const Vector weights = Vector::Ones(rows) + .5 * normals(rows, 1, 9).col(0).cwiseAbs();
  for (const auto& [kind, name] :
       {std::pair{Kind::logistic, "logistic"}, std::pair{Kind::poisson, "poisson"},
        std::pair{Kind::known_noise, "known noise"}, std::pair{Kind::unknown_noise, "unknown noise"}}) {
    const Vector y = responses(kind, x, 5);
    out.push_back(
        {std::string(name) + ", normal", regression(kind, Design::own(x), y, NormalPriorOptions{}, weights)});
    out.push_back(
        {std::string(name) + ", horseshoe", regression(kind, Design::own(x), y, horseshoe, weights)});
  }
  return out;
}

}  // namespace magva::test
