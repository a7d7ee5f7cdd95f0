#include "magva/draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/atomic_file.hpp"
#include "magva/diagnostics.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "results/names.hpp"
#include "results/text.hpp"

namespace magva::results {

namespace {

std::string head(const Draws& draws, const Origin& origin) {
  // CmdStan's readers take `key = value` from these lines; a value must not carry a line of its own.
  std::string model = origin.model;
  std::replace_if(
      model.begin(), model.end(), [](char c) { return c == '\n' || c == '\r' || c == '='; }, '_');
  return fmt::format(
      "# Independent draws from an approximation ({}), by magva {}.\n"
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
  fmt::format_to(out, "{},{},{}", draws.log_p(s), draws.log_p(s), draws.log_q(s));
  for (const double value : draws.values.col(s)) fmt::format_to(out, ",{}", value);
  line.push_back('\n');
}

}  // namespace

Draws take_draws(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed) {
  Draws draws;
  for (const auto& quantity : reporter.quantities()) draws.names.push_back(quantity.name);
  draws.values = reporter.report(theta, seed);
  return draws;
}

Draws take_draws(const source::ModelSource& source, const Posterior& posterior, const Matrix& theta,
                 std::uint64_t seed) {
  Draws draws = take_draws(*source.reporter, theta, seed);
  draws.log_p = log_densities(*source.model, theta);
  draws.log_q = posterior.log_density(theta);
  return draws;
}

void write_csv(std::ostream& out, const Draws& draws) {
  const bool densities = draws.log_p.size() > 0;
  std::string head = densities ? "log_q,log_p" : "";
  for (const auto& name : draws.names) head += (head.empty() ? "" : ",") + csv_text(name);
  out << head << '\n';
  for (Index s = 0; s < draws.size(); ++s) {
    std::string line = densities ? fmt::format("{},{}", draws.log_q(s), draws.log_p(s)) : "";
    for (Index i = 0; i < draws.values.rows(); ++i)
      fmt::format_to(std::back_inserter(line), "{}{}", line.empty() ? "" : ",", draws.values(i, s));
    out << line << '\n';
  }
}

void write_cmdstan_csv(const std::filesystem::path& file, const Draws& draws, const Origin& origin) {
  io::write_text(file, [&](std::ostream& out) {
    out << head(draws, origin) << "lp__,log_p__,log_g__";
    for (const auto& name : draws.names) out << ',' << cmdstan_name(name);
    out << '\n';
    fmt::memory_buffer line;
    for (Index s = 0; s < draws.size() && out; ++s) {
      line.clear();
      append_draw(line, draws, s);
      out.write(line.data(), static_cast<std::streamsize>(line.size()));
    }
  });
}

}  // namespace magva::results
