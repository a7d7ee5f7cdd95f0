#pragma once
// What standard output and standard error are connected to.
#include <cstdio>
#include <string>
#include <string_view>

namespace magva::terminal {

bool is_terminal(std::FILE* stream);
/// Columns of the terminal, or 80.
int width(std::FILE* stream);
/// Bold if the stream is a terminal and NO_COLOR is not set, plain otherwise.
std::string bold(std::FILE* stream, std::string_view text);
std::string warning_colour(std::FILE* stream, std::string_view text);

/// Writes to standard error. Whether it arrives makes no difference: a fit goes on with nobody listening.
void say(std::string_view text) noexcept;
/// The same for a line of plain text, whose control characters are escaped.
void say_line(std::string_view text);

/// IoError if what was written to standard output did not arrive.
void flush_output();

}  // namespace magva::terminal
