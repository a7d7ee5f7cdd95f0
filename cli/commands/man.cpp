#include <cstdio>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "magva/version.hpp"
#include "options/help.hpp"
#include "options/values.hpp"

namespace magva::commands {

options::Command man() {
  return {.name = "man",
          .summary = "print the manual page",
          .description = "Prints the manual page in roff.",
          .arguments = {},
          .groups = {},
          .examples = {{"read it", "magva man | man -l -"}},
          .run = [](const options::Values&) -> int {
            std::fputs(options::man_page(program(), version()).c_str(), stdout);
            return kOk;
          }};
}

}  // namespace magva::commands
