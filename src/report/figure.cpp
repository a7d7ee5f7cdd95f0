#include "report/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "report/page.hpp"
#include "report/table.hpp"
#include "results/text.hpp"
#include "stan/process.hpp"

namespace magva::report {

namespace {

enum class GnuplotOutcome { done, missing };

/// Runs gnuplot on a script, in the script's folder. IoError, with what gnuplot said, if it fails.
GnuplotOutcome run_gnuplot(const std::filesystem::path& script) {
  constexpr int kNotFound = 127;  // env's status if there is no such program
  const auto absolute = std::filesystem::absolute(script);
  const stan::ProcessResult run = stan::run_process(
      {"/usr/bin/env", "-C", absolute.parent_path().string(), "gnuplot", absolute.filename().string()},
      [](const std::string&) {});
  if (run.status == kNotFound) return GnuplotOutcome::missing;
  if (run.status != 0)
    throw IoError(
        fmt::format("gnuplot could not draw '{}': {}", absolute.string(), run.output.substr(0, 500)));
  return GnuplotOutcome::done;
}

}  // namespace

namespace {

constexpr const char* kStyle = R"(set encoding utf8
set border 3 lc rgb '#555555'
set tics nomirror tc rgb '#333333'
set grid ytics lc rgb '#dddddd' lw 1 lt 1
set key noopaque samplen 1.4 spacing 1.1 tc rgb '#222222'
set datafile missing 'NaN'
)";

/// In single quotes gnuplot takes a text as it is: no commands, variables or escapes in it.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : results::printable(text)) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

/// The label of a tic is a format in which a number may be printed.
std::string quoted_label(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '%' ? 2 : 1, c);
  return in_quotes(doubled);
}

void write_numbers(const Panel& panel, std::ostream& out) {
  const auto at = [](const std::vector<double>& values, std::size_t i) {
    return i < values.size() && std::isfinite(values[i]) ? fmt::format("{:.8g}", values[i])
                                                         : std::string("NaN");
  };
  for (const Series& series : panel.series) {
    out << "# " << results::printable(series.title) << ": x y low high\n";
    for (std::size_t i = 0; i < series.x.size(); ++i)
      out << at(series.x, i) << ' ' << at(series.y, i) << ' ' << at(series.low, i) << ' '
          << at(series.high, i) << '\n';
    out << "\n\n";
  }
}

std::string plotted(const Series& series, const std::string& file, std::size_t index) {
  const std::string data = fmt::format("{} index {}", in_quotes(file), index);
  const std::string title = series.title.empty() ? "notitle" : "title " + in_quotes(series.title);
  switch (series.mark) {
    case Mark::line:
      return fmt::format("{} using 1:2 with lines lw 2 lc rgb '{}' {}", data, series.colour, title);
    case Mark::dashed:
      return fmt::format("{} using 1:2 with lines lw 1.6 dt (8,5) lc rgb '{}' {}", data, series.colour,
                         title);
    case Mark::points:
      return fmt::format("{} using 1:2 with points pt 7 ps .25 lc rgb '{}' {}", data, series.colour, title);
    case Mark::steady_points:
      return fmt::format("{} using 1:2 with points pt 7 ps .8 lc rgb '{}' {}", data, series.colour, title);
    case Mark::band:
      return fmt::format("{} using 1:3:4 with filledcurves fs transparent solid .28 noborder lc rgb '{}' {}",
                         data, series.colour, title);
    case Mark::interval:
      return fmt::format("{} using 1:2:3:4 with xerrorbars pt 7 ps .5 lw 1.8 lc rgb '{}' {}", data,
                         series.colour, title);
  }
  return {};
}

std::string range(const std::optional<Range>& range) {
  return range ? fmt::format("[{:.8g}:{:.8g}]", range->first, range->second) : std::string("[*:*]");
}

/// A step of 1, 2 or 5 times a power of ten that gives so few labels that they do not overlap.
std::string tics(const char* axis, const std::optional<Range>& range, double most) {
  if (!range || !(range->second > range->first)) return fmt::format("set {} auto\n", axis);
  const double least = (range->second - range->first) / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double digit : {5., 2., 1.})
    if (digit * power >= least) step = digit * power;
  return fmt::format("set {} {:.8g}\n", axis, step);
}

std::string names_on_y(const Panel& panel) {
  if (panel.y_names.empty()) return tics("ytics", panel.y_range, panel.height / 45.);
  std::string out;
  for (std::size_t i = 0; i < panel.y_names.size(); ++i)
    out += fmt::format("{}{} {}", i > 0 ? ", " : "", quoted_label(panel.y_names[i]), i + 1);
  return fmt::format("set ytics ({}) noenhanced\nset yrange [{}:.3]\n", out,
                     static_cast<double>(panel.y_names.size()) + .7);
}

std::string script(const Panel& panel) {
  std::string out = fmt::format("set title {} tc rgb '#111111'\nset xlabel {}\nset ylabel {}\n",
                                in_quotes(panel.title), in_quotes(panel.x_label), in_quotes(panel.y_label));
  out += fmt::format("set xrange {}\nset yrange {}\n", range(panel.x_range), range(panel.y_range)) +
         tics("xtics", panel.x_range, panel.width / 75.) + names_on_y(panel);
  out += panel.key_below ? "set key below horizontal center\n" : "set key inside bottom right vertical\n";
  std::string plot = "plot ";
  for (std::size_t i = 0; i < panel.series.size(); ++i)
    plot += (i > 0 ? ", \\\n  " : "") + plotted(panel.series[i], panel.name + ".dat", i);
  const std::string size = fmt::format("{},{}", panel.width, panel.height);
  out += fmt::format(
             "set terminal svg size {} dynamic noenhanced font 'sans-serif,12' background rgb 'white'\nset "
             "output {}\n",
             size, in_quotes(panel.name + ".svg")) +
         plot + "\n";
  out += fmt::format(
             "set terminal pngcairo size {},{} noenhanced font 'sans,12' fontscale 2 linewidth 2 pointscale "
             "2\nset "
             "output {}\n",
             2 * panel.width, 2 * panel.height, in_quotes(panel.name + ".png")) +
         plot + "\nunset output\n";
  return out;
}

}  // namespace

std::string draw(const std::vector<Panel>& panels, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw io::write_error(folder, failed.value());
  // Whatever gnuplot is to write is new: a link of that name in a stranger's folder leads nowhere.
  for (const Panel& panel : panels)
    for (const char* ending : {".dat", ".svg", ".png"})
      std::filesystem::remove(folder / (panel.name + ending), failed);
  std::filesystem::remove(folder / "figures.gp", failed);
  for (const Panel& panel : panels)
    io::write_text(folder / (panel.name + ".dat"), [&](std::ostream& out) { write_numbers(panel, out); });
  const auto path = folder / "figures.gp";
  io::write_text(path, [&](std::ostream& out) {
    out << kStyle;
    for (const Panel& panel : panels) out << '\n' << script(panel);
  });
  if (run_gnuplot(path) == GnuplotOutcome::missing)
    return "gnuplot is not installed, so there are no figures: install Debian's gnuplot-nox and run the "
           "command again";
  return {};
}

std::string html(const std::vector<Panel>& panels, const std::filesystem::path& folder) {
  if (panels.empty()) return {};
  int widest = 0;
  for (const Panel& panel : panels) widest = std::max(widest, panel.width);
  std::string out = fmt::format("<div class=\"panels\" style=\"--panel: {}px\">\n", 4 * widest / 5);
  for (const Panel& panel : panels) {
    const auto picture = folder / (panel.name + ".svg");
    out += std::filesystem::exists(picture)
               ? fmt::format("<img alt=\"{}\" width=\"{}\" height=\"{}\" src=\"{}\">\n",
                             escape_html(panel.description), panel.width, panel.height,
                             data_uri("image/svg+xml", io::read_text(picture)))
               : fmt::format("<p>({}: not drawn.)</p>\n", escape_html(panel.title));
  }
  return out + "</div>\n";
}

}  // namespace magva::report
