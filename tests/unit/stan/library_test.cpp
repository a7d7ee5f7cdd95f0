#include "stan/library.hpp"

#include <gtest/gtest.h>

#include "libraries.hpp"
#include "magva/error.hpp"

namespace magva::stan {
namespace {

TEST(StanLibrary, OpensWhatHasTheInterfaceAndTellsItsVersion) {
  EXPECT_EQ(Library(test_library("gaussian")).version(), "2.6.3");
}

TEST(StanLibrary, NamesAFileThatIsNotThere) {
  const auto message = message_of<IoError>([] { Library("nowhere/model.so"); });
  EXPECT_EQ(message, "There is no model library 'nowhere/model.so'.");
}

TEST(StanLibrary, RefusesAFileThatIsNoLibrary) {
  const auto message = message_of<DataError>([] { Library(test::source_folder() / "CMakeLists.txt"); });
  EXPECT_NE(message.find("CMakeLists.txt' cannot be loaded as a shared library"), std::string::npos)
      << message;
}

TEST(StanLibrary, NamesTheFunctionsThatAreMissing) {
  const auto message = message_of<DataError>([] { Library(test_library("lacking")); });
  EXPECT_NE(message.find("lacks bs_model_construct, bs_model_destruct"), std::string::npos) << message;
  EXPECT_NE(message.find("bs_log_density_gradient"), std::string::npos) << message;
}

TEST(StanLibrary, RefusesAnOldMajorVersionAndNamesIt) {
  const auto message = message_of<DataError>([] { Library(test_library("old")); });
  EXPECT_NE(message.find("made by BridgeStan 1.6.3; compile the model again with BridgeStan 2"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace magva::stan
