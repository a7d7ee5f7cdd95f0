#pragma once
// Figures by gnuplot: one panel per file, so that a page can lay panels out for any width.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace magva::report {

/// Okabe & Ito's palette, which colour-blind readers can tell apart.
namespace colour {
inline constexpr const char* kBlue = "#0072b2";
inline constexpr const char* kVermillion = "#d55e00";
inline constexpr const char* kGreen = "#009e73";
inline constexpr const char* kPurple = "#cc79a7";
inline constexpr const char* kOrange = "#e69f00";
inline constexpr const char* kGrey = "#8a8a8a";
}  // namespace colour

enum class Mark { line, dashed, points, steady_points, band, interval };

/// `low` and `high` are for bands and intervals, which for an interval are along the x axis.
struct Series {
  std::string title;  ///< in the key; empty: not there
  std::string colour;
  Mark mark = Mark::line;
  std::vector<double> x, y, low = {}, high = {};
};

using Range = std::pair<double, double>;

struct Panel {
  std::string name;  ///< of its files
  std::string title;
  std::string x_label, y_label;
  std::string description;  ///< for those who cannot see it
  std::vector<Series> series = {};
  std::optional<Range> x_range = {}, y_range = {};
  std::vector<std::string> y_names = {};  ///< labels at y = 1, 2, ... from the top, in place of numbers
  bool key_below = false;                 ///< instead of in the lower right corner
  int width = 340, height = 260;
};

/// Writes NAME.dat for each panel and one script into the folder and has gnuplot make NAME.svg and NAME.png.
/// Returns a sentence if there is no gnuplot; throws IoError if it fails.
std::string draw(const std::vector<Panel>& panels, const std::filesystem::path& folder);

/// The panels of a folder as part of a page; those without a picture as a sentence.
std::string html(const std::vector<Panel>& panels, const std::filesystem::path& folder);

}  // namespace magva::report
