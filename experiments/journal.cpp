#include "experiments/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"

namespace magva::experiments {

namespace {

constexpr int kVersion = 1;

Json header(const Json& settings) { return {{"magva-runs", kVersion}, {"settings", settings}}; }

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  throw IoError(fmt::format("cannot write '{}': {}", path.string(), std::strerror(error)));
}

// One write of one line: another process, or a crash, sees all of it or a last line without its end.
void append(const std::filesystem::path& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) refuse(path, errno);
  const auto written = ::write(file, line.data(), line.size());
  const int error = written < 0 ? errno : static_cast<std::size_t>(written) < line.size() ? ENOSPC : 0;
  ::close(file);
  if (error != 0) refuse(path, error);
}

}  // namespace

Journal::Journal(std::filesystem::path path, const Json& settings) : path_(std::move(path)) {
  std::filesystem::create_directories(path_.parent_path());
  if (std::filesystem::exists(path_)) replaced_ = !take_up(settings);
  taken_up_ = runs_.size();
  // Written anew, so that a torn last line does not stay in front of the next one.
  io::write_text(path_, [&](std::ostream& out) {
    out << header(settings).dump() << '\n';
    for (const auto& [key, result] : runs_) out << Json{{"key", key}, {"result", result}}.dump() << '\n';
  });
}

bool Journal::take_up(const Json& settings) {
  std::istringstream lines(io::read_text(path_));
  std::string line;
  std::getline(lines, line);
  const Json first = Json::parse(line, nullptr, false);
  if (first != header(settings)) return false;
  while (std::getline(lines, line)) {
    const Json run = Json::parse(line, nullptr, false);
    if (run.is_object() && run.contains("key") && run.contains("result")) runs_[run["key"]] = run["result"];
  }
  return true;
}

bool Journal::has(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return runs_.count(key) > 0;
}

const Json& Journal::at(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return runs_.at(key);
}

void Journal::add(const std::string& key, Json result) {
  const std::lock_guard lock(mutex_);
  append(path_, Json{{"key", key}, {"result", result}}.dump() + '\n');
  runs_[key] = std::move(result);
}

}  // namespace magva::experiments
