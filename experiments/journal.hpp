#pragma once
// runs.jsonl: the finished runs of an experiment, one line each, so that an interrupted experiment goes on
// where it stopped. The first line holds the settings that all of them share.
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace magva::experiments {

using Json = nlohmann::json;

class Journal {
 public:
  /// Takes up the journal in `path` where its settings are these; starts a new one otherwise.
  Journal(std::filesystem::path path, const Json& settings);

  /// Runs that an earlier process left.
  std::size_t taken_up() const { return taken_up_; }
  /// Whether an older journal with other settings was put aside.
  bool replaced() const { return replaced_; }
  bool has(const std::string& key) const;
  /// The result of a finished run; it must be there.
  const Json& at(const std::string& key) const;
  /// On disk when this returns. May be called by several threads.
  void add(const std::string& key, Json result);

 private:
  bool take_up(const Json& settings);

  std::filesystem::path path_;
  mutable std::mutex mutex_;
  std::map<std::string, Json> runs_;
  std::size_t taken_up_ = 0;
  bool replaced_ = false;
};

}  // namespace magva::experiments
