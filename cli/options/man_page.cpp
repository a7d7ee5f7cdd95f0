#include "options/man_page.hpp"

#include <fmt/format.h>

#include <sstream>

#include "options/help.hpp"

namespace magva::options {

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
