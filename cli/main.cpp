#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva/formula.hpp"
#include "magva/version.hpp"
#include "options/help.hpp"
#include "options/parse.hpp"
#include "terminal/terminal.hpp"

namespace {

using namespace magva;

int run_command(const options::Command& command, const std::vector<std::string>& words) {
  bool wants_help = false;
  const options::Values values = options::parse(command, words, wants_help);
  if (!wants_help) return command.run(values);
  std::fputs(options::command_help(command, terminal::width(stdout)).c_str(), stdout);
  return kOk;
}

int run_program(const std::vector<std::string>& words) {
  const options::Program& program = commands::program();
  if (words.empty()) {
    std::fputs(options::program_help(program, terminal::width(stderr)).c_str(), stderr);
    return kUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() > 1) return run_command(options::find_command(program, words[1]), {"--help"});
    std::fputs(options::program_help(program, terminal::width(stdout)).c_str(), stdout);
    return kOk;
  }
  if (words[0] == "--version") {
    fmt::print("magva {}\n", version());
    return kOk;
  }
  return run_command(options::find_command(program, words[0]), {words.begin() + 1, words.end()});
}

int fail(ExitCode code, const std::string& sentence) {
  if (rank_in_job() > 0) return code;  // the leading rank says it
  std::string line = sentence;
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print(stderr, "magva: {}\n", line);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large becomes a failed write, which is reported
  try {
    const int code = run_program({argv + 1, argv + argc});
    terminal::flush_output();
    return code;
  } catch (const formula::FormulaError& error) {
    fmt::print(stderr, "{}\n", error.pointer());
    return fail(kUsage, error.what());
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const DataError& error) {
    return fail(kData, error.what());
  } catch (const IoError& error) {
    return fail(kIo, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kData, "the data or the model need more memory than this machine has");
  } catch (const std::exception& error) {
    return fail(kBug,
                fmt::format("this is a bug in magva {}: {}; please report it with the command that led here",
                            version(), error.what()));
  }
}
