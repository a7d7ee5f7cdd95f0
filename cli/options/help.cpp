#include "options/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace magva::options {

namespace {

constexpr std::size_t kIndent = 26;  // of the texts beside option names

void append_entry(std::string& out, const std::string& heading, const std::string& text, std::size_t width) {
  std::string lead = "  " + heading;
  if (lead.size() + 2 > kIndent) {
    out += lead + "\n";
    lead.clear();
  }
  for (const auto& line : wrap(text, width - kIndent)) {
    out += fmt::format("{:<{}}{}\n", lead, kIndent, line);
    lead.clear();
  }
}

void append_paragraph(std::string& out, const std::string& text, std::size_t width) {
  for (const auto& line : wrap(text, width)) out += line + "\n";
}

void append_exit_codes(std::string& out, std::size_t width) {
  out += "\nExit codes:\n";
  for (const auto& [code, meaning] : exit_code_texts())
    append_entry(out, std::to_string(code), meaning, width);
}

std::size_t usable(int width) { return static_cast<std::size_t>(std::clamp(width, 60, 100)); }

}  // namespace

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line;
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > width) lines.push_back(std::exchange(line, ""));
      line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(line);
  }
  return lines;
}

std::string usage_line(const Command& command) {
  std::string line = "magva " + command.name;
  for (const auto& argument : command.arguments)
    line += (argument.required ? " " + argument.name : " [" + argument.name + "]") +
            (argument.repeatable ? "..." : "");
  return line + " [options]";
}

std::string help_with_default(const OptionSpec& option) {
  std::string text = option.help;
  if (option.choices.size() > 1) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (!option.standard.empty()) text += fmt::format(" (default: {})", option.standard);
  if (option.repeatable) text += "; may be given several times";
  return text;
}

std::string option_heading(const OptionSpec& option) {
  std::string heading = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  heading += "--" + option.name;
  if (!option.value.empty()) heading += " " + option.value;
  return heading;
}

std::string program_help(const Program& program, int columns) {
  const std::size_t width = usable(columns);
  std::string out = fmt::format("{}: {}\n\nUsage: magva COMMAND [arguments] [options]\n\nCommands:\n",
                                program.name, program.summary);
  for (const auto& command : program.commands) append_entry(out, command.name, command.summary, width);
  out += "\nOptions:\n";
  append_entry(out, "-h, --help", "show this help; magva COMMAND --help shows that of a command", width);
  append_entry(out, "--version", "show the version", width);
  append_exit_codes(out, width);
  out +=
      "\nExamples:\n  magva fit data.csv --response y --out fit/\n  magva summary fit/\n  magva predict fit/ "
      "new.csv\n";
  return out;
}

std::string command_help(const Command& command, int columns) {
  const std::size_t width = usable(columns);
  std::string out = fmt::format("Usage: {}\n\n", usage_line(command));
  append_paragraph(out, command.description, width);
  if (!command.arguments.empty()) out += "\nArguments:\n";
  for (const auto& argument : command.arguments) append_entry(out, argument.name, argument.help, width);
  for (const auto& group : command.groups) {
    out += fmt::format("\n{}:\n", group.title);
    for (const auto& option : group.options)
      append_entry(out, option_heading(option), help_with_default(option), width);
  }
  out += "\nHelp:\n";
  append_entry(out, "-h, --help", "show this help", width);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const auto& example : command.examples)
    out += fmt::format("  {}:\n    {}\n", example.text, example.command);
  append_exit_codes(out, width);
  return out;
}

namespace {

// Roff takes a leading point or apostrophe for a request, and '-' for a hyphen that may be drawn as another
// sign.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out += out.empty() ? escaped(line) + "\n" : ".PP\n" + escaped(line) + "\n";
  return out;
}

void append_command(std::string& out, const Command& command) {
  out += fmt::format(".SH {}\n.B {}\n.PP\n{}", escaped("magva " + command.name), escaped(usage_line(command)),
                     paragraphs(command.description));
  for (const auto& argument : command.arguments)
    out += fmt::format(".TP\n.I {}\n{}\n", escaped(argument.name), escaped(argument.help));
  for (const auto& group : command.groups) {
    out += fmt::format(".SS {}\n", escaped(group.title));
    for (const auto& option : group.options)
      out += fmt::format(".TP\n.B {}\n{}\n", escaped(option_heading(option)),
                         escaped(help_with_default(option)));
  }
  if (command.examples.empty()) return;
  out += ".SS Examples\n";
  for (const auto& example : command.examples)
    out += fmt::format(".TP\n{}\n.EX\n{}\n.EE\n", escaped(example.text), escaped(example.command));
}

}  // namespace

std::string man_page(const Program& program, const std::string& version) {
  std::string out = fmt::format(".TH MAGVA 1 \"\" \"magva {}\" \"User Commands\"\n", version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", program.name, escaped(program.summary));
  out += ".SH SYNOPSIS\n.B magva\n.I COMMAND\n[arguments] [options]\n.SH COMMANDS\n";
  for (const auto& command : program.commands)
    out += fmt::format(".TP\n.B {}\n{}\n", escaped(command.name), escaped(command.summary));
  for (const auto& command : program.commands) append_command(out, command);
  out +=
      ".SH OPTIONS OF ALL COMMANDS\n.TP\n.B \\-h, \\-\\-help\nshow the help of magva, or of a command\n"
      ".TP\n.B \\-\\-version\nshow the version\n";
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_code_texts())
    out += fmt::format(".TP\n.B {}\n{}\n", code, escaped(meaning));
  return out;
}

}  // namespace magva::options
