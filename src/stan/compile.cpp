#include "magva/stan.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "stan/process.hpp"
#include "stan/program_text.hpp"
#include "table/byte_source.hpp"

namespace magva::stan {
namespace {

namespace fs = std::filesystem;

constexpr auto kThreads = "STAN_THREADS=true";
constexpr auto kNameInMessages = "--filename-in-msg=";
constexpr int kNotFound = 127;  // env's status if there is no such program

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

fs::path cache_folder() {
  if (const auto cache = environment("XDG_CACHE_HOME")) return fs::path(*cache) / "magva";
  if (const auto home = environment("HOME")) return fs::path(*home) / ".cache" / "magva";
  throw UsageError(
      "Compiled models need a place: set XDG_CACHE_HOME or HOME to a folder that can be written.");
}

void check_bridgestan(const fs::path& folder) {
  for (const auto* part : {"Makefile", "src/bridgestan.h"}) {
    if (!fs::exists(folder / part)) {
      throw UsageError(fmt::format("BRIDGESTAN names '{}', which is no BridgeStan folder: it has no '{}'.",
                                   folder.string(), part));
    }
  }
}

/// Held for as long as one process compiles: BridgeStan's own objects are made in its folder.
class CompileLock {
 public:
  explicit CompileLock(const fs::path& file)
      : number_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (number_ < 0 || flock(number_, LOCK_EX) != 0) {
      throw IoError(fmt::format("The file '{}' cannot be locked: {}.", file.string(), std::strerror(errno)));
    }
  }
  ~CompileLock() { close(number_); }
  CompileLock(const CompileLock&) = delete;
  CompileLock& operator=(const CompileLock&) = delete;

 private:
  int number_;
};

/// A new folder, removed with all it holds. Its path has no character that make or a shell would read
/// otherwise.
class BuildFolder {
 public:
  BuildFolder() {
    const auto safe = [](const std::string& path) {
      return std::all_of(path.begin(), path.end(),
                         [](unsigned char c) { return std::isalnum(c) || std::strchr("/._-", c); });
    };
    const std::string temporary = fs::temp_directory_path().string();
    std::string name = (safe(temporary) ? temporary : std::string("/tmp")) + "/magva-XXXXXX";
    if (!mkdtemp(name.data())) {
      throw IoError(fmt::format("No temporary folder '{}' can be made: {}.", name, std::strerror(errno)));
    }
    path_ = name;
  }
  ~BuildFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A digest of a sequence of texts. Each text's length goes in with it, so that no two sequences run
/// together.
class Digest {
 public:
  void add(const std::string& text) {
    const std::string length = std::to_string(text.size()) + ":";
    sha256_.update(length.data(), length.size());
    sha256_.update(text.data(), text.size());
  }
  std::string hex() { return sha256_.hex(); }

 private:
  table::Sha256 sha256_;
};

std::string digest_of(const std::vector<ProgramFile>& files, const fs::path& bridgestan) {
  Digest digest;
  for (const auto& file : files) {
    digest.add(file.name);
    digest.add(file.text);
  }
  // A library finds its thread library by BridgeStan's place.
  digest.add(fs::weakly_canonical(bridgestan).string());
  for (const auto* part : {"Makefile", "make/local", "src/version.hpp", "stan/src/stan/version.hpp"}) {
    digest.add(content(bridgestan / part));
  }
  digest.add(kThreads);
  digest.add(kNameInMessages);
  for (const auto* flags : {"CXX", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "O", "STANCFLAGS"}) {
    digest.add(environment(flags).value_or(""));
  }
  return digest.hex().substr(0, 32);
}

/// What the compilers said: no account of make's own, no folder of ours, and not more than a screen of it.
std::string compiler_message(const std::string& output, const fs::path& folder) {
  constexpr int most_lines = 40;
  std::istringstream in(output);
  std::string message;
  int lines = 0;
  for (std::string line; std::getline(in, line) && lines < most_lines;) {
    if (line.empty() || line.starts_with("make") || line.starts_with("--- ")) continue;
    const std::string prefix = folder.string() + "/";
    for (auto at = line.find(prefix); at != std::string::npos; at = line.find(prefix))
      line.erase(at, prefix.size());
    message += (lines == 0 ? "" : "\n") + line;
    ++lines;
  }
  return message;
}

void write(const std::vector<ProgramFile>& files, const fs::path& folder) {
  for (const auto& file : files) {
    std::ofstream out(folder / file.name, std::ios::binary);
    if (!(out << file.text << std::flush)) {
      throw IoError(fmt::format("The file '{}' cannot be written.", (folder / file.name).string()));
    }
  }
}

void move_into_cache(const fs::path& from, const fs::path& to) {
  io::AtomicFile library(to);
  std::error_code failed;
  fs::copy_file(from, library.temporary(), fs::copy_options::overwrite_existing, failed);
  if (failed) throw io::write_error(to, failed.value());
  library.commit();
}

void build(const fs::path& program, const std::vector<ProgramFile>& files, const fs::path& library,
           const CompileOptions& options) {
  const SignalsHeld held;
  const BuildFolder folder;
  write(files, folder.path());
  const std::string stem = fs::path(files.front().name).stem().string();
  const fs::path target = folder.path() / (stem + "_model.so");
  options.progress(
      fmt::format("Compiling {} with BridgeStan (kept for the next time) ...", program.filename().string()));
  const auto step = [&](const std::string& line) {
    if (line.starts_with("--- ")) options.progress(line);
  };
  // Through the environment, where BridgeStan's make/local may add to the flags. The library's messages at
  // run time name the program as the compiler does, so it must not be told a temporary folder.
  const std::string stanc_flags =
      fmt::format("STANCFLAGS={}{} --include-paths={} {}", kNameInMessages, files.front().name,
                  folder.path().string(), environment("STANCFLAGS").value_or(""));
  const auto made = run_process(
      {"env", stanc_flags, "make", "-s", "-C", options.bridgestan.string(), kThreads, target.string()}, step);
  if (made.status == kNotFound)
    throw IoError("A Stan program is compiled by 'make', which is not installed.");
  if (made.status != 0 || !fs::exists(target)) {
    throw CompileError(fmt::format("The Stan program '{}' does not compile (make ended with status {})",
                                   program.string(), made.status),
                       compiler_message(made.output, folder.path()));
  }
  move_into_cache(target, library);
}

}  // namespace

CompileOptions compile_options_from_environment() {
  const auto bridgestan = environment("BRIDGESTAN");
  if (!bridgestan) {
    throw UsageError(
        "A .stan program needs a compiler: set the environment variable BRIDGESTAN to a BridgeStan folder, "
        "or give the "
        "library that BridgeStan made of the program (model.so).");
  }
  CompileOptions options;
  options.bridgestan = *bridgestan;
  options.cache = cache_folder();
  check_bridgestan(options.bridgestan);
  return options;
}

fs::path compile(const fs::path& program, const CompileOptions& options) {
  const auto files = read_program(program);
  const std::string stem = fs::path(files.front().name).stem().string();
  fs::path library = options.cache / fmt::format("{}-{}.so", stem, digest_of(files, options.bridgestan));
  if (fs::exists(library)) return library;

  std::error_code failed;
  fs::create_directories(options.cache, failed);
  if (failed) {
    throw IoError(fmt::format("The folder '{}' for compiled models cannot be made: {}.",
                              options.cache.string(), failed.message()));
  }
  const CompileLock lock(options.cache / "compile.lock");
  if (!fs::exists(library)) build(program, files, library, options);
  return library;
}

fs::path library_of(const fs::path& model, std::function<void(const std::string&)> progress) {
  if (model.extension() != ".stan") return model;
  auto options = compile_options_from_environment();
  options.progress = std::move(progress);
  return compile(model, options);
}

}  // namespace magva::stan
