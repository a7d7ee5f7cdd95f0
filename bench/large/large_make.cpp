// Writes a design file of a logistic regression with known coefficients, part by part.
// usage: large_make FILE ROWS COLUMNS float64|float32
// Column j (from 1) is half a common normal and a normal of its own; its coefficient is ((j mod 7) - 3) / 20,
// the intercept's -.5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "core/noise.hpp"
#include "table/design_file.hpp"

namespace {

using magva::Index;

constexpr Index kPartRows = 20'000;

magva::Vector coefficients(Index columns) {
  magva::Vector beta(columns + 1);
  beta(0) = -.5;
  for (Index j = 1; j <= columns; ++j) beta(j) = static_cast<double>(j % 7 - 3) / 20;
  return beta;
}

magva::design_file::Header header(Index rows, Index columns, const std::string& element) {
  magva::design_file::Header head;
  head.made_by = "large_make";
  head.rows = rows;
  head.element =
      element == "float32" ? magva::design_file::Element::float32 : magva::design_file::Element::float64;
  head.spec.response = {"y", magva::table::ResponseKind::binary, false, {"0", "1"}};
  for (Index j = 1; j <= columns; ++j)
    head.spec.terms.push_back({fmt::format("x{}", j), magva::table::NumberTerm{}});
  head.source = {"simulated", rows, columns + 1, ""};
  return head;
}

/// The rows from `first` on, as a function of their number alone.
magva::table::EncodedRows part(Index first, Index rows, const magva::Vector& beta) {
  const Index columns = beta.size() - 1;
  magva::Matrix noise(columns + 1, rows);
  magva::Noise(1, magva::NoiseStream::kEvaluation).fill(0, static_cast<std::uint32_t>(first), noise);
  magva::table::EncodedRows design;
  design.x.resize(rows, columns + 1);
  design.y.resize(rows);
  design.rows.resize(static_cast<std::size_t>(rows));
  std::mt19937_64 random(static_cast<std::uint64_t>(first));
  std::uniform_real_distribution<double> uniform;
  for (Index i = 0; i < rows; ++i) {
    design.x(i, 0) = 1;
    design.x.row(i).tail(columns) = (noise.col(i).tail(columns).array() + .5 * noise(0, i)).transpose();
    design.y(i) = uniform(random) < 1 / (1 + std::exp(-design.x.row(i).dot(beta))) ? 1 : 0;
  }
  return design;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Index rows = std::stoll(argv[2]);
  const magva::Vector beta = coefficients(std::stoll(argv[3]));
  magva::design_file::Writer writer(argv[1], header(rows, beta.size() - 1, argv[4]));
  for (Index first = 0; first < rows; first += kPartRows)
    writer.append(part(first, std::min(kPartRows, rows - first), beta));
  writer.commit();
  return 0;
}
