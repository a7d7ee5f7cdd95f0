#include "stan/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "magva/error.hpp"

namespace magva::stan {
namespace {

sigset_t held_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { close_now(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return number_; }
  void close_now() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Pipe {
  static std::array<int, 2> make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw IoError(fmt::format("No pipe can be made: {}.", std::strerror(errno)));
    return ends;
  }
  explicit Pipe(std::array<int, 2> ends = make()) : read(ends[0]), write(ends[1]) {}
  FileDescriptor read;
  FileDescriptor write;
};

/// Standard input empty, both outputs into the pipe, signals as a fresh process has them.
class SpawnSettings {
 public:
  explicit SpawnSettings(const Pipe& pipe) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, pipe.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, pipe.write.get(), STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    const sigset_t ordinary = held_signals();
    posix_spawnattr_setsigdefault(&attributes_, &ordinary);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// The environment without what an outer make passes to an inner one: the program called is no part of it.
std::vector<char*> environment_outside_make() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const bool of_make = text.starts_with("MAKEFLAGS=") || text.starts_with("MFLAGS=") ||
                         text.starts_with("MAKELEVEL=") || text.starts_with("GNUMAKEFLAGS=");
    if (!of_make) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

pid_t spawn(const std::vector<std::string>& arguments, const Pipe& pipe) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const SpawnSettings settings(pipe);
  auto environment = environment_outside_make();
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], settings.actions(), settings.attributes(), words.data(),
                                 environment.data());
  if (error != 0) {
    throw IoError(fmt::format("The program '{}' cannot be started ({}); install it.", arguments[0],
                              std::strerror(error)));
  }
  return child;
}

std::string read_lines(int from, const std::function<void(const std::string&)>& line) {
  std::string output;
  std::size_t begin = 0;
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t size = ::read(from, chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return output;
    output.append(chunk.data(), static_cast<std::size_t>(size));
    for (auto end = output.find('\n', begin); end != std::string::npos; end = output.find('\n', begin)) {
      line(output.substr(begin, end - begin));
      begin = end + 1;
    }
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::function<void(const std::string&)>& line) {
  Pipe pipe;
  const pid_t child = spawn(arguments, pipe);
  pipe.write.close_now();
  ProcessResult result;
  result.output = read_lines(pipe.read.get(), line);
  result.status = wait_for(child);
  return result;
}

SignalsHeld::SignalsHeld() {
  const sigset_t set = held_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalsHeld::~SignalsHeld() {
  const sigset_t set = held_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace magva::stan
