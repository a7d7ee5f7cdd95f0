#include "options/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace magva::options {

namespace {

std::vector<std::string> command_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& command : program.commands) names.push_back(command.name);
  return names;
}

std::string all_flags(const Command& command) {
  std::string out;
  for (const auto& option : command.options())
    out += fmt::format("{}--{}", out.empty() ? "" : " ", option.name);
  return out;
}

std::string bash_values(const OptionSpec& option) {
  if (!option.choices.empty())
    return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", fmt::join(option.choices, " "));
  if (option.kind == ValueKind::file) return "COMPREPLY=($(compgen -f -- \"$current\"))";
  if (option.kind == ValueKind::folder) return "COMPREPLY=($(compgen -d -- \"$current\"))";
  return "COMPREPLY=()";
}

std::string bash_case(const Command& command) {
  std::string out = fmt::format("    {})\n      case \"$previous\" in\n", command.name);
  for (const auto& option : command.options())
    if (option.kind != ValueKind::flag)
      out += fmt::format("        --{}) {}; return ;;\n", option.name, bash_values(option));
  out += fmt::format(
      "      esac\n      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))\n"
      "      else COMPREPLY=($(compgen -f -- \"$current\")); fi\n      ;;\n",
      all_flags(command));
  return out;
}

// Within zsh's specifications brackets, colons and quotes have a meaning.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
    if (c == '\'') out += "\\''";
  }
  return out;
}

std::string zsh_action(ValueKind kind, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format("({})", fmt::join(choices, " "));
  if (kind == ValueKind::file) return "_files";
  if (kind == ValueKind::folder) return "_files -/";
  return "";
}

std::string zsh_case(const Command& command) {
  std::string out = fmt::format("    {})\n      _arguments", command.name);
  for (const auto& option : command.options()) {
    const std::string star = option.repeatable ? "*" : "";
    out += fmt::format(" \\\n        '{}--{}[{}]", star, option.name, zsh_text(option.help));
    if (option.kind != ValueKind::flag)
      out += fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option.kind, option.choices));
    out += "'";
  }
  for (const auto& argument : command.arguments)
    out += fmt::format(" \\\n        '{}:{}:{}'", argument.repeatable ? "*" : "", argument.name,
                       zsh_action(argument.kind, {}));
  return out + "\n      ;;\n";
}

}  // namespace

std::string bash_completion(const Program& program) {
  std::string out = fmt::format(
      "# bash completion for magva; load it with: source <(magva completion bash)\n"
      "_magva() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\")); "
      "return; fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n",
      fmt::join(command_names(program), " "));
  for (const auto& command : program.commands) out += bash_case(command);
  return out + "  esac\n}\ncomplete -o filenames -F _magva magva\n";
}

std::string zsh_completion(const Program& program) {
  std::string out =
      "#compdef magva\n# zsh completion for magva; load it with: source <(magva completion zsh)\n_magva() {\n"
      "  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  for (const auto& command : program.commands)
    out += fmt::format("      '{}:{}'\n", command.name, zsh_text(command.summary));
  out +=
      "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n"
      "  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const auto& command : program.commands) out += zsh_case(command);
  // Autoloaded from a folder of functions it completes at once; sourced it registers itself.
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _magva ]]; then _magva \"$@\"; else compdef _magva magva; fi\n";
}

}  // namespace magva::options
