#pragma once
// The one description of an option, from which its flag, its key in configuration files, the help, the shell
// completions and the manual page are all made.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace magva::options {

class Values;

enum class ValueKind { flag, text, integer, number, file, folder };

/// Says what a value must be ('between 1 and 1024'), or nothing if it is fine.
using Check = std::function<std::string(const std::string& value)>;

struct OptionSpec {
  std::string name;      ///< without the dashes
  std::string value;     ///< what the help calls the value; empty for a flag
  std::string standard;  ///< the default, as it would be typed; empty if there is none
  std::string help;      ///< one sentence without the full stop
  ValueKind kind = ValueKind::text;
  Check check = {};
  std::vector<std::string> choices = {};  ///< all values there are, if they can be listed
  bool repeatable = false;
  char letter = 0;  ///< of the short form
};

struct OptionGroup {
  std::string title;
  std::vector<OptionSpec> options;
};

struct ArgumentSpec {
  std::string name;  ///< what the help calls it: FILE
  std::string help;
  ValueKind kind = ValueKind::file;
  bool required = true;
  bool repeatable = false;  ///< of the last argument: it stands for any number of them
};

struct Example {
  std::string text;
  std::string command;
};

struct Command {
  std::string name;
  std::string summary;      ///< a phrase for the list of commands
  std::string description;  ///< paragraphs, separated by newlines
  std::vector<ArgumentSpec> arguments;
  std::vector<OptionGroup> groups;
  std::vector<Example> examples;
  std::function<int(const Values&)> run;

  std::vector<OptionSpec> options() const;  ///< of all groups, --help included
  const OptionSpec* find(const std::string& option) const;
};

struct Program {
  std::string name;
  std::string summary;
  std::vector<Command> commands;

  const Command* find(const std::string& command) const;
};

/// What exit codes mean, for the help and the manual.
struct ExitCodeText {
  int code;
  std::string meaning;
};
std::vector<ExitCodeText> exit_code_texts();

// The checks that options share.

/// The whole text as a number, or nothing.
std::optional<std::int64_t> to_integer(const std::string& text);
std::optional<double> to_number(const std::string& text);

Check integer_between(std::int64_t least, std::int64_t most);
Check positive_number();
/// One of the texts, or what `otherwise` accepts.
Check one_of(std::vector<std::string> texts, Check otherwise = {});

}  // namespace magva::options
