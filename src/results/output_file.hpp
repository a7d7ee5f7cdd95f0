#pragma once
// The one rule about files that a command writes: no output destroys what the user has. An output never names
// a file that is read in the same run, another output of it, or a file of a fit; it replaces an existing file
// only if that is an earlier output of the same kind, or if the user insists.
#include <filesystem>
#include <string>
#include <vector>

namespace magva::results {

enum class OutputKind { kDrawsCsv, kCmdstanCsv, kNetcdf, kPredictions, kScores, kReport, kDesign };

/// What a file of this kind is called in messages: 'draws', 'a report'.
const char* describe(OutputKind kind);

/// Whether an existing file looks like an output of this kind. `names`: of the parameters, which head a CSV
/// file of draws.
bool is_output_of_kind(const std::filesystem::path& file, OutputKind kind,
                       const std::vector<std::string>& names = {});

class OutputRule {
 public:
  /// `inputs`: the files that the run reads; those that do not exist, and "-", are passed over.
  explicit OutputRule(std::vector<std::string> inputs, bool replace_any = false)
      : inputs_(std::move(inputs)), replace_any_(replace_any) {}

  /// UsageError, naming the option, if the rule forbids this output. Whatever is no regular file (a pipe, a
  /// device, "-") is allowed: nothing in it can be lost.
  void check(const std::string& option, const std::filesystem::path& file, OutputKind kind,
             const std::vector<std::string>& names = {});

 private:
  std::vector<std::string> inputs_;
  std::vector<std::filesystem::path> outputs_;
  bool replace_any_;
};

}  // namespace magva::results
