#pragma once
// Small helpers for tests of the readers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "support/paths.hpp"
#include "table/read_table.hpp"

namespace magva::test {

inline table::Table table_of(std::string_view text, const table::ReadOptions& options = {},
                             const std::string& path = "data.csv") {
  table::MemorySource bytes(text);
  return table::read_table(bytes, path, options);
}

/// The sentence of the error that `work` must throw.
template <class Error>
std::string sentence(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error of the expected kind was thrown";
  return "";
}

/// The folder of reference data next to the checkout, or nothing.
inline std::filesystem::path shared_folder() {
  if (const char* named = std::getenv("MAGVA_SHARED")) return named;
  const auto beside = source_folder() / ".." / "shared";
  return std::filesystem::exists(beside) ? beside : std::filesystem::path();
}

}  // namespace magva::test
