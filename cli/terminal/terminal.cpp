#include "terminal/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "magva/error.hpp"
#include "results/text.hpp"

namespace magva::terminal {

namespace {

bool colours(std::FILE* stream) {
  const char* refused = std::getenv("NO_COLOR");  // https://no-color.org
  return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

std::string wrapped(std::FILE* stream, const char* code, std::string_view text) {
  return colours(stream) ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

int width(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

std::string bold(std::FILE* stream, std::string_view text) { return wrapped(stream, "1", text); }
std::string warning_colour(std::FILE* stream, std::string_view text) { return wrapped(stream, "33", text); }

void say(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t done = ::write(STDERR_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

void say_line(std::string_view text) { say(results::printable(text) + '\n'); }

void flush_output() {
  errno = 0;
  const bool streams = static_cast<bool>(std::cout.flush());
  if (!streams || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw IoError(
        fmt::format("cannot write to standard output: {}", std::strerror(errno == 0 ? EIO : errno)));
}

}  // namespace magva::terminal
