#pragma once
// Reads the reference figures: matrices are lists of rows, vectors are lists.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "magva/types.hpp"
#include "support/paths.hpp"

namespace magva::test {

inline nlohmann::json read_json(const std::string& file) {
  std::ifstream in(data_folder() / file);
  return nlohmann::json::parse(in);
}

inline Matrix matrix(const nlohmann::json& rows) {
  if (rows.empty() || !rows[0].is_array()) {
    Matrix out(static_cast<Index>(rows.size()), 1);
    for (Index i = 0; i < out.rows(); ++i) out(i) = rows[static_cast<std::size_t>(i)].get<double>();
    return out;
  }
  Matrix out(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < out.rows(); ++i)
    for (Index j = 0; j < out.cols(); ++j)
      out(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].get<double>();
  return out;
}

}  // namespace magva::test
