#pragma once
// Help for people, made from the option table.
#include <string>
#include <vector>

#include "options/option_spec.hpp"

namespace magva::options {

std::string program_help(const Program& program, int width);
std::string command_help(const Command& command, int width);

/// 'magva fit FILE [options]'
std::string usage_line(const Command& command);
/// The help sentence with the default behind it.
std::string help_with_default(const OptionSpec& option);
/// '-n, --number N'
std::string option_heading(const OptionSpec& option);

/// Breaks text into lines of at most `width` bytes; existing newlines stay.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

/// The manual page magva(1) in roff, made from the option table.
std::string man_page(const Program& program, const std::string& version);

}  // namespace magva::options
