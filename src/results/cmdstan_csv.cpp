#include "results/cmdstan_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "magva/error.hpp"
#include "results/whole_file.hpp"
#include "version.hpp"

namespace magva::results {
namespace {

std::string head(const Draws& draws, const Origin& origin) {
  // CmdStan's readers take `key = value` from these lines; a value must not carry a line of its own.
  std::string model = origin.model;
  std::replace_if(
      model.begin(), model.end(), [](char c) { return c == '\n' || c == '\r' || c == '='; }, '_');
  return fmt::format(
      "# Independent draws from a Gaussian approximation ({}), by magva {}.\n"
      "# model = {}\n"
      "# method = pathfinder\n"
      "#   pathfinder\n"
      "#     num_draws = {}\n"
      "#     num_paths = 1\n"
      "# num_samples = {}\n"
      "# num_warmup = 0\n"
      "# save_warmup = 0\n"
      "# thin = 1\n"
      "# id = 1\n"
      "# random\n"
      "#   seed = {}\n",
      origin.family, version(), model, draws.size(), draws.size(), origin.seed);
}

void append_draw(fmt::memory_buffer& line, const Draws& draws, Index s) {
  auto out = std::back_inserter(line);
  fmt::format_to(out, "{},{},{}", draws.lp(s), draws.log_p(s), draws.log_g(s));
  for (const double value : draws.values.col(s)) fmt::format_to(out, ",{}", value);
  line.push_back('\n');
}

}  // namespace

std::string cmdstan_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == ']') continue;
    out += c == '.' ? ':' : c == '[' || c == ',' ? '.' : c;
  }
  return out;
}

void write_cmdstan_csv(const std::filesystem::path& file, const Draws& draws, const Origin& origin) {
  WholeFile whole(file);
  std::ofstream out(whole.temporary(), std::ios::binary);
  out << head(draws, origin) << "lp__,log_p__,log_g__";
  for (const auto& name : draws.names) out << ',' << cmdstan_name(name);
  out << '\n';
  fmt::memory_buffer line;
  for (Index s = 0; s < draws.size() && out; ++s) {
    line.clear();
    append_draw(line, draws, s);
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
  out.close();
  if (!out) throw IoError(fmt::format("The file '{}' cannot be written.", file.string()));
  whole.commit();
}

}  // namespace magva::results
