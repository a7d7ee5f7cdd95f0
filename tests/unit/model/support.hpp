#pragma once
// Synthetic regressions and one-line evaluation for the tests of the models.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "magva/model.hpp"
#include "magva/regression.hpp"
#include "support/paths.hpp"

namespace magva::testing {

struct Evaluated {
  Vector log_density;
  Matrix gradient;
};

inline Evaluated evaluate(const Model& model, ConstMatrixRef theta, int threads = 1,
                          std::uint64_t iteration = 0) {
  Workers workers(threads);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers, iteration};
  Evaluated result{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  model.evaluate(theta, result.log_density, result.gradient, evaluation);
  return result;
}

inline Matrix normal_matrix(Index rows, Index cols, unsigned seed, double scale = 1.0) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, cols, [&](Index, Index) { return scale * normal(generator); });
}

/// An intercept and normal covariates, a third of them exactly 0 so that a sparse form makes sense.
inline RowMatrix random_design(Index rows, Index cols, unsigned seed) {
  RowMatrix x = normal_matrix(rows, cols, seed);
  x.col(0).setOnes();
  for (Index i = 0; i < rows; ++i)
    for (Index j = 1; j < cols; ++j)
      if ((i + 2 * j) % 3 == 0) x(i, j) = 0.0;
  return x;
}

inline Vector zero_one(Index n, unsigned seed) {
  return (normal_matrix(n, 1, seed).array() > 0.3).cast<double>().matrix().col(0);
}

inline Vector counts(Index n, unsigned seed) {
  return normal_matrix(n, 1, seed).array().abs().round().matrix().col(0) * 3.0;
}

inline SparseMatrix to_sparse(const RowMatrix& x) {
  SparseMatrix sparse;
  sparse.cols = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j)
      if (x(i, j) != 0.0) {
        sparse.columns.push_back(static_cast<std::int32_t>(j));
        sparse.values.push_back(x(i, j));
      }
    sparse.starts.push_back(static_cast<std::int64_t>(sparse.values.size()));
  }
  return sparse;
}

inline nlohmann::json read_json(const std::string& name) {
  std::ifstream file(test::data_folder() / name);
  return nlohmann::json::parse(file);
}

inline Vector to_vector(const nlohmann::json& numbers) {
  const auto values = numbers.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

inline RowMatrix to_matrix(const nlohmann::json& rows) {
  RowMatrix matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < matrix.rows(); ++i)
    matrix.row(i) = to_vector(rows[static_cast<std::size_t>(i)]).transpose();
  return matrix;
}

}  // namespace magva::testing
