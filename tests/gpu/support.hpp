#pragma once
// Designs for the tests of the GPU, and models evaluated on both sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "magva/regression.hpp"

namespace magva::testing {

/// Under compute-sanitizer (MAGVA_SANITIZED is set) a launch takes a hundred times as long: tests have fewer.
inline bool sanitized() { return std::getenv("MAGVA_SANITIZED") != nullptr; }
inline Index fewer(Index rows) { return sanitized() ? rows / 8 : rows; }
/// All of them, or the first of so many each.
template <class T>
std::vector<T> thinned(std::vector<T> all, std::size_t each) {
  if (!sanitized()) return all;
  std::vector<T> some;
  for (std::size_t k = 0; k < all.size(); k += each) some.push_back(all[k]);
  return some;
}

enum class Storage { float64, float32, whole_numbers, whole_numbers_float32, sparse };

struct Shape {
  Index rows, cols;
};

inline RowMatrix random_design(Shape shape, bool whole) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(shape.rows * 31 + shape.cols));
  std::normal_distribution<double> normal;
  RowMatrix x(shape.rows, shape.cols);
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) {
      const double z = normal(generator);
      x(i, j) = j == 0 ? 1 : whole ? std::clamp(std::round(3 * z), -5., 5.) : z;
    }
  return x;
}

inline Design sparse_design(const RowMatrix& x) {
  SparseMatrix out;
  out.cols = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j)
      if (j == 0 || std::abs(x(i, j)) > 1) {
        out.columns.push_back(static_cast<std::int32_t>(j));
        out.values.push_back(x(i, j));
      }
    out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return Design::own(std::move(out));
}

inline Design design_of(Storage storage, Shape shape) {
  const bool whole = storage == Storage::whole_numbers || storage == Storage::whole_numbers_float32;
  RowMatrix x = random_design(shape, whole);
  if (storage == Storage::sparse) return sparse_design(x);
  if (storage == Storage::float32 || storage == Storage::whole_numbers_float32)
    return Design::own(SingleRowMatrix(x.cast<float>()));
  return Design::own(std::move(x));
}

inline Matrix random_theta(const Model& model, Index draws) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  Matrix theta(model.dimension(), draws);
  const double scale = .5 / std::sqrt(static_cast<double>(model.dimension()));
  for (Index s = 0; s < draws; ++s)
    for (double& value : theta.col(s)) value = scale * normal(generator);
  return theta;
}

struct Evaluated {
  Vector log_density;
  Matrix gradient;
};

inline Evaluated evaluate(const Model& model, const Matrix& theta, std::uint64_t iteration = 0) {
  Workers workers(2);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers, iteration};
  Evaluated out{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  model.evaluate(theta, out.log_density, out.gradient, evaluation);
  return out;
}

inline void expect_close(const Evaluated& a, const Evaluated& b, double value, double gradient) {
  for (Index s = 0; s < a.log_density.size(); ++s) {
    EXPECT_NEAR(a.log_density(s), b.log_density(s), value * std::abs(b.log_density(s)));
    EXPECT_LT((a.gradient.col(s) - b.gradient.col(s)).cwiseAbs().maxCoeff(),
              gradient * b.gradient.col(s).cwiseAbs().maxCoeff());
  }
}

struct Expected {
  double value;
  Vector gradient;
  CurvatureProducts products;
  double dense_value;
  Vector dense_gradient;
  Matrix curvature;
};

inline Expected expectations(const Model& model, const GaussianView& q) {
  Workers workers(2);
  const ExpectedLogDensity& expected = *model.expectations();
  const auto scratch = expected.make_scratch(q.factors.cols());
  Evaluation evaluation{*scratch, workers};
  Expected out{0, Vector(model.dimension()), {}, 0, Vector(model.dimension()), {}};
  if (q.residual_sd.size() > 0) out.value = expected.expect(q, out.gradient, out.products, evaluation);
  out.dense_value = expected.expect(q, out.dense_gradient, out.curvature, evaluation);
  return out;
}

inline void expect_close(const Expected& a, const Expected& b) {
  constexpr double kTolerance = 1e-9;
  const auto close = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    if (y.size() == 0) return;
    EXPECT_LT((x - y).cwiseAbs().maxCoeff(), kTolerance * (1 + y.cwiseAbs().maxCoeff()));
  };
  EXPECT_NEAR(a.value, b.value, kTolerance * std::abs(b.value));
  EXPECT_NEAR(a.dense_value, b.dense_value, kTolerance * std::abs(b.dense_value));
  close(a.dense_gradient, b.dense_gradient);
  close(a.curvature, b.curvature);
  if (b.products.diagonal.size() == 0) return;
  close(a.gradient, b.gradient);
  close(a.products.times_factors, b.products.times_factors);
  close(a.products.diagonal, b.products.diagonal);
}

}  // namespace magva::testing
