#include "support/paths.hpp"

namespace magva::test {

std::filesystem::path source_folder() { return MAGVA_SOURCE_DIR; }
std::filesystem::path data_folder() { return source_folder() / "tests/data"; }
std::filesystem::path stan_libraries() { return MAGVA_TEST_STAN; }

}  // namespace magva::test
