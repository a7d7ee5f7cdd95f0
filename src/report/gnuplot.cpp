#include "report/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "magva/error.hpp"
#include "results/text_file.hpp"

namespace magva::report {

namespace {

constexpr int kNotThere = 127;

// Between fork and exec: only calls that a child of a process with threads may make.
[[noreturn]] void become_gnuplot(const char* folder, const char* script, const char* log) {
  const int out = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (::chdir(folder) != 0 || out < 0) ::_exit(1);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execlp("gnuplot", "gnuplot", script, static_cast<char*>(nullptr));
  ::_exit(errno == ENOENT ? kNotThere : 1);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

GnuplotOutcome run_gnuplot(const std::filesystem::path& script) {
  const auto absolute = std::filesystem::absolute(script);
  const std::string folder = absolute.parent_path().string(), file = absolute.filename().string(),
                    log = absolute.string() + ".log";
  const pid_t child = ::fork();
  if (child < 0) throw IoError(fmt::format("cannot start gnuplot: {}", std::strerror(errno)));
  if (child == 0) become_gnuplot(folder.c_str(), file.c_str(), log.c_str());
  const int status = wait_for(child);
  const std::string said = std::filesystem::exists(log) ? results::read_text(log) : "";
  std::filesystem::remove(log);
  if (status == kNotThere) return GnuplotOutcome::missing;
  if (status != 0)
    throw IoError(fmt::format("gnuplot could not draw '{}': {}", absolute.string(), said.substr(0, 500)));
  return GnuplotOutcome::done;
}

}  // namespace magva::report
