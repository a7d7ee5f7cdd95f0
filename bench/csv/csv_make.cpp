// Writes a CSV file of numbers: odd columns with six decimals, even ones with all digits that a double needs.
// usage: csv_make FILE BYTES COLUMNS
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>

namespace {
std::string header(int columns) {
  std::string line;
  for (int j = 1; j <= columns; ++j) line += fmt::format("{}x{}", j > 1 ? "," : "", j);
  return line + "\n";
}

template <class Random>
void append_row(std::string& text, int columns, Random& random) {
  std::normal_distribution<double> normal;
  for (int j = 1; j <= columns; ++j) {
    if (j > 1) text += ',';
    if (j % 2 == 1)
      fmt::format_to(std::back_inserter(text), "{:.6f}", normal(random));
    else
      fmt::format_to(std::back_inserter(text), "{}", normal(random));
  }
  text += '\n';
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(argv[1], "wb"), std::fclose);
  if (!file) return 74;
  const std::size_t bytes = std::stoull(argv[2]);
  const int columns = std::stoi(argv[3]);
  std::mt19937_64 random(1);
  std::string text = header(columns);
  for (std::size_t written = 0; written < bytes; text.clear()) {
    while (text.size() < (std::size_t{1} << 20U)) append_row(text, columns, random);
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return 74;
    written += text.size();
  }
  return 0;
}
