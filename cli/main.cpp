#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva/formula.hpp"
#include "magva/stan.hpp"
#include "magva/version.hpp"
#include "options/help.hpp"
#include "options/parse.hpp"
#include "results/text.hpp"
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
    terminal::say(options::program_help(program, terminal::width(stderr)));
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

/// One sentence on one line, written at once: other programs may write to the same place, as mpirun does.
/// Never throws: there may be no memory, and nobody who reads it.
int fail(ExitCode code, std::initializer_list<const char*> message) noexcept {
  if (rank_in_job() > 0) return code;  // the leading rank says it
  try {
    std::string sentence = "magva: ";
    for (const char* part : message) sentence += part;
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    terminal::say_line(sentence);
  } catch (...) {
    terminal::say("magva: no memory is left to say what went wrong\n");
  }
  return code;
}

/// A compiler points to places by its lines.
int fail_to_compile(const stan::CompileError& error) {
  if (rank_in_job() > 0) return kData;
  std::istringstream lines(error.output());
  for (std::string line; std::getline(lines, line);) terminal::say_line(line);
  return fail(kData, {error.sentence().c_str()});
}

int fail_by_bug(const char* what) noexcept {
  return fail(kBug, {"this is a bug in magva ", version(), ": ", what,
                     "; please report it with the command that led here"});
}

int fail_for_memory() noexcept {
  return fail(kData, {"the data or the model need more memory than this machine has"});
}

bool memory_ran_out = false;

[[noreturn]] void on_no_memory() {
  memory_ran_out = true;
  throw std::bad_alloc();
}

/// Where an exception cannot be thrown on: the JSON library's destructors and the standard library's
/// directory iterators, for two, ask for memory; the latter end without a current exception.
[[noreturn]] void last_resort() noexcept {
  ::_exit(memory_ran_out ? fail_for_memory() : fail_by_bug("it came to an end that nobody has foreseen"));
}

/// A closed standard stream would be the next file that is opened, and messages would be written into that.
void occupy_standard_streams() noexcept {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDONLY);  // so that writing to it fails, and is noticed
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(last_resort);
  std::set_new_handler(on_no_memory);
  occupy_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large becomes a failed write, which is reported
  try {
    const int code = run_program({argv + 1, argv + argc});
    terminal::flush_output();
    return code;
  } catch (const formula::FormulaError& error) {
    terminal::say(error.pointer() + '\n');
    return fail(kUsage, {error.what()});
  } catch (const UsageError& error) {
    return fail(kUsage, {error.what()});
  } catch (const stan::CompileError& error) {
    return fail_to_compile(error);
  } catch (const DataError& error) {
    return fail(kData, {error.what()});
  } catch (const IoError& error) {
    return fail(kIo, {error.what()});
  } catch (const std::bad_alloc&) {
    return fail_for_memory();
  } catch (const std::system_error& error) {  // also of file systems
    return fail(kIo, {error.what()});
  } catch (const std::exception& error) {
    return fail_by_bug(error.what());
  } catch (...) {
    return fail_by_bug("something was thrown that is no error");
  }
}
