// All commands, and those that the program answers about itself.
#include <fmt/format.h>

#include <cstdio>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "options/completion.hpp"
#include "options/help.hpp"
#include "options/values.hpp"

namespace magva::commands {

namespace {

int run_completion(const options::Values& values) {
  const std::string shell = values.arguments.empty() ? "" : values.arguments[0];
  if (shell != "bash" && shell != "zsh")
    throw UsageError(fmt::format("the shell is '{}' and must be bash or zsh", shell));
  std::fputs(
      (shell == "bash" ? options::bash_completion(program()) : options::zsh_completion(program())).c_str(),
      stdout);
  return kOk;
}

}  // namespace

options::Command completion() {
  return {.name = "completion",
          .summary = "print a script that completes commands and options in bash or zsh",
          .description = "Prints a completion script for the shell.",
          .arguments = {{"SHELL", "bash or zsh", options::ValueKind::text}},
          .groups = {},
          .examples = {{"complete in this shell", "source <(magva completion bash)"}},
          .run = run_completion};
}

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

const options::Program& program() {
  static const options::Program all = {"magva",
                                       "Gaussian approximations of posteriors by variational inference",
                                       {fit(), convert(), summary(), predict(), draws(), compare(), report(),
                                        reproduce(), completion(), man()}};
  return all;
}

}  // namespace magva::commands
