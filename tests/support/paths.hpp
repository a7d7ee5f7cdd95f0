#pragma once
#include <filesystem>

/// Where the tests find their files. Defined in one source, so that no other object depends on where the
/// project lies and a compiler cache serves every clone.
namespace magva::test {

std::filesystem::path source_folder();
std::filesystem::path data_folder();
std::filesystem::path stan_libraries();  // see tests/stan

}  // namespace magva::test
