#include "stan/program_text.hpp"

#include <gtest/gtest.h>

#include "folder.hpp"
#include "libraries.hpp"
#include "magva/error.hpp"

namespace magva::stan {
namespace {

TEST(ProgramText, GivesOddNamesSafeOnes) {
  const TestFolder folder;
  EXPECT_EQ(read_program(folder.write("my $(model) '8'.stan", "model {}\n")).front().name,
            "my___model___8_.stan");
  EXPECT_EQ(read_program(folder.write("8 schools.stan", "model {}\n")).front().name, "model_8_schools.stan");
}

TEST(ProgramText, FollowsIncludesAndKeepsEveryOtherLine) {
  const TestFolder folder;
  folder.write("inner file.stan", "// inner\n");
  folder.write("outer.stan", "#include <inner file.stan>\n");
  const auto files = read_program(folder.write(
      "program.stan",
      "functions {\n  #include outer.stan\n}\n#include \"inner file.stan\" // twice\nmodel {}\n"));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].text, "functions {\n#include outer.stan\n}\n#include inner_file.stan\nmodel {}\n");
  EXPECT_EQ(files[1].name, "outer.stan");
  EXPECT_EQ(files[1].text, "#include inner_file.stan\n");
  EXPECT_EQ(files[2].name, "inner_file.stan");
}

TEST(ProgramText, NamesTheFileThatIncludesItself) {
  const TestFolder folder;
  const auto program = folder.write("program.stan", "#include program.stan\n");
  const auto message = message_of<DataError>([&] { read_program(program); });
  EXPECT_NE(message.find("program.stan' includes itself"), std::string::npos) << message;
}

TEST(ProgramText, NamesTheIncludedFileThatIsMissing) {
  const TestFolder folder;
  const auto program = folder.write("program.stan", "#include missing.stan\n");
  const auto message = message_of<IoError>([&] { read_program(program); });
  EXPECT_NE(message.find("missing.stan' cannot be read"), std::string::npos) << message;
}

TEST(ProgramText, RefusesANameThatNoFileCanHave) {
  const TestFolder folder;
  const auto program = folder.write("program.stan", "#include " + std::string(300, 'a') + "\n");
  const auto message = message_of<IoError>([&] { read_program(program); });
  EXPECT_NE(message.find("aaa' cannot be read"), std::string::npos) << message;
}

}  // namespace
}  // namespace magva::stan
