// Compiling through a stand-in for BridgeStan's folder: a Makefile of our own that takes a library ready
// made.
#include "magva/stan.hpp"

#include "stan/library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "folder.hpp"
#include "libraries.hpp"
#include "magva/error.hpp"

namespace magva::stan {
namespace {

const std::string kMakefile = R"make(%_model.so : %.stan
	@echo '--- Translating Stan model to C++ code ---'
	@if grep -q wrong $<; then echo "Syntax error in '$<', line 1" >&2; exit 3; fi
	@echo "$(STAN_THREADS) $(STANCFLAGS)" >> $(CURDIR)/made
	@cp ')make" + test::stan_libraries().string() +
                              R"make(/test_stan_gaussian.so' $@
)make";

class Compile : public testing::Test {
 protected:
  Compile() {
    folder_.write("bridgestan/Makefile", kMakefile);
    folder_.write("bridgestan/src/bridgestan.h", "");
    options_.bridgestan = folder_.path() / "bridgestan";
    options_.cache = folder_.path() / "a cache";
  }
  long times_made() const {
    const auto made = folder_.read("bridgestan/made");
    return std::count(made.begin(), made.end(), '\n');
  }

  TestFolder folder_;
  CompileOptions options_;
};

TEST_F(Compile, GivesALibraryThatLoads) {
  const auto library = compile(folder_.write("model.stan", "model {}\n"), options_);
  EXPECT_EQ(library.parent_path(), options_.cache);
  EXPECT_EQ(Library(library).version(), "2.6.3");
  EXPECT_TRUE(
      folder_.read("bridgestan/made").starts_with("true --filename-in-msg=model.stan --include-paths=/"));
}

TEST_F(Compile, CompilesTheSameProgramOnce) {
  const auto program = folder_.write("model.stan", "model {}\n");
  EXPECT_EQ(compile(program, options_), compile(program, options_));
  EXPECT_EQ(times_made(), 1);
}

TEST_F(Compile, CompilesAgainForOtherContentOrVersion) {
  const auto program = folder_.write("model.stan", "model {}\n");
  const auto first = compile(program, options_);
  folder_.write("model.stan", "model { }\n");
  const auto second = compile(program, options_);
  folder_.write("bridgestan/src/version.hpp", "3");
  const auto third = compile(program, options_);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_EQ(times_made(), 3);
}

TEST_F(Compile, CompilesAgainForAnotherIncludedFile) {
  folder_.write("part.stan", "// one\n");
  const auto program = folder_.write("model.stan", "#include part.stan\n");
  const auto first = compile(program, options_);
  folder_.write("part.stan", "// two\n");
  EXPECT_NE(first, compile(program, options_));
}

TEST_F(Compile, NoNameReachesAShell) {
  const auto program = folder_.write("a b;touch $(pwned)`x`'\"&.stan", "model {}\n");
  EXPECT_NO_THROW(Library{compile(program, options_)});
  EXPECT_FALSE(std::filesystem::exists("pwned"));
}

TEST_F(Compile, GivesTheCompilersMessage) {
  const auto program = folder_.write("model.stan", "wrong\n");
  const auto message = message_of<DataError>([&] { compile(program, options_); });
  EXPECT_NE(
      message.find(
          "model.stan' does not compile (make ended with status 2):\nSyntax error in 'model.stan', line 1"),
      std::string::npos)
      << message;
  EXPECT_EQ(message.find("make:"), std::string::npos) << message;
}

TEST_F(Compile, TellsItsProgress) {
  std::vector<std::string> told;
  options_.progress = [&](const std::string& line) { told.push_back(line); };
  compile(folder_.write("model.stan", "model {}\n"), options_);
  EXPECT_EQ(told,
            (std::vector<std::string>{"Compiling model.stan with BridgeStan (kept for the next time) ...",
                                      "--- Translating Stan model to C++ code ---"}));
}

TEST_F(Compile, ConcurrentRunsShareOneCompilation) {
  const auto program = folder_.write("model.stan", "model {}\n");
  std::vector<std::filesystem::path> libraries(4);
  std::vector<std::thread> threads;
  for (auto& library : libraries) threads.emplace_back([&] { library = compile(program, options_); });
  for (auto& thread : threads) thread.join();
  for (const auto& library : libraries) EXPECT_EQ(library, libraries[0]);
  EXPECT_EQ(times_made(), 1);
}

TEST_F(Compile, LeavesNothingBehind) {
  compile(folder_.write("model.stan", "model {}\n"), options_);
  EXPECT_THROW(compile(folder_.write("other.stan", "wrong\n"), options_), DataError);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.cache)) {
    EXPECT_TRUE(entry.path().extension() == ".so" || entry.path().extension() == ".lock") << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

/// An environment variable set for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST_F(Compile, TakesItsPlacesFromTheEnvironment) {
  const Variable bridgestan("BRIDGESTAN", options_.bridgestan.string());
  const Variable cache("XDG_CACHE_HOME", options_.cache.string());
  const auto library = library_of(folder_.write("model.stan", "model {}\n"), [](const auto&) {});
  EXPECT_EQ(library.parent_path(), options_.cache / "magva");
}

TEST_F(Compile, SaysWhatToDoWithoutBridgeStan) {
  const Variable unset("BRIDGESTAN", "");
  const auto message = message_of<UsageError>([] { library_of("model.stan", [](const auto&) {}); });
  EXPECT_NE(message.find("set the environment variable BRIDGESTAN to a BridgeStan folder"), std::string::npos)
      << message;
}

TEST_F(Compile, RefusesAFolderThatIsNotBridgeStans) {
  const Variable wrong("BRIDGESTAN", folder_.path().string());
  const auto message = message_of<UsageError>([] { library_of("model.stan", [](const auto&) {}); });
  EXPECT_NE(message.find("is no BridgeStan folder: it has no 'Makefile'"), std::string::npos) << message;
}

TEST(LibraryOf, IsALibraryItself) {
  EXPECT_EQ(library_of("some/model.so", [](const auto&) {}), "some/model.so");
}

}  // namespace
}  // namespace magva::stan
