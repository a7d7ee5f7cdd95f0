#include <fmt/format.h>

#include <filesystem>

#include "commands/commands.hpp"
#include "commands/fit_options.hpp"
#include "commands/outputs.hpp"
#include "commands/sources.hpp"
#include "core/atomic_file.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

int run_convert(const options::Values& values) {
  if (!values.given("out")) throw UsageError("no file is named for the design: choose one with --out");
  output_rule(values).check("--out", values.text("out"), results::OutputKind::kDesign);
  const source::Converted done = source::convert_table(convert_options(values));
  if (values.flag("quiet")) return kOk;
  for (const auto& note : done.notes) terminal::say_line("note: " + note);
  const std::string out = values.text("out");
  if (io::is_stream(out)) return kOk;
  fmt::print("{} rows and {} columns, {:.1f} MB, written to {}; fit them with: magva fit {}\n", done.rows,
             done.columns, static_cast<double>(std::filesystem::file_size(out)) / 1e6, out, out);
  return kOk;
}

}  // namespace

options::Command convert() {
  return {
      .name = "convert",
      .summary = "encode a table once and for all, for fits that map it into memory",
      .description =
          "Writes a design file: the rows of a table as numbers, encoded as 'magva fit' would, with "
          "response, "
          "weights and all that prediction needs. 'magva fit' and 'magva predict' take it in place of the "
          "table; its rows stay on disk until they are read, so that it may be larger than memory.\n"
          "The table is read twice, a block of rows at a time: what comes from a pipe is copied to TMPDIR "
          "first. With --discretise it is read whole.",
      .arguments = {{"FILE",
                     "a table with a header: CSV or TSV, plain or gzipped, '-' for standard input; a quoted "
                     "pattern such as 'part-*.csv' for several files that are parts of one",
                     options::ValueKind::file}},
      .groups = convert_option_groups(),
      .examples = {{"convert and fit", "magva convert data.csv --response y --out data.magva"},
                   {"half the size", "magva convert data.csv --response y --float32 --out data.magva"},
                   {"new rows for a fit", "magva convert new.csv --like fit/ --out new.magva"}},
      .run = run_convert};
}

}  // namespace magva::commands
