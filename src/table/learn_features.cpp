#include "table/learn_features.hpp"

#include <algorithm>
#include <cmath>

namespace magva::input {

namespace {

/// What the cells that are not zero say about a feature.
struct Cells {
  Index count = 0;
  double lowest = 0, highest = 0;

  void add(double value) {
    lowest = count == 0 ? value : std::min(lowest, value);
    highest = count == 0 ? value : std::max(highest, value);
    ++count;
  }
  bool constant(Index rows) const { return count == rows && lowest == highest; }
};

template <class Visit>
void for_each_cell(const SparseRowMatrix& matrix, Visit&& visit) {
  for (Index row = 0; row < matrix.rows(); ++row)
    for (SparseRowMatrix::InnerIterator cell(matrix, row); cell; ++cell) visit(cell.col(), cell.value());
}

}  // namespace

FeatureSelection select_features(const SparseRowMatrix& features,
                                 const std::function<bool(const std::string&)>& wanted) {
  std::vector<Cells> cells(static_cast<std::size_t>(features.cols()));
  for_each_cell(features,
                [&](Index column, double value) { cells[static_cast<std::size_t>(column)].add(value); });
  FeatureSelection selection;
  selection.term.count = features.cols();
  for (Index index = 1; index <= features.cols(); ++index) {
    const Cells& own = cells[static_cast<std::size_t>(index - 1)];
    if (own.count == 0) {
      ++selection.absent;
      continue;
    }
    const std::string name = feature_name(index);
    if (!wanted(name)) continue;
    if (own.constant(features.rows())) {
      selection.dropped.push_back({name, "constant"});
    } else {
      selection.term.kept.push_back(index);
    }
  }
  selection.term.scales.assign(selection.term.kept.size(), 1.0);
  return selection;
}

void scale_features(FeaturesTerm& term, const SparseRowMatrix& features) {
  const auto n = static_cast<double>(features.rows());
  Vector mean = Vector::Zero(features.cols()), squares = mean, zeros = Vector::Constant(features.cols(), n);
  for_each_cell(features, [&](Index column, double value) { mean(column) += value / n; });
  for_each_cell(features, [&](Index column, double value) {
    squares(column) += (value - mean(column)) * (value - mean(column));
    zeros(column) -= 1;
  });
  for (std::size_t i = 0; i < term.kept.size(); ++i) {
    const Index column = term.kept[i] - 1;
    const double variance = (squares(column) + zeros(column) * mean(column) * mean(column)) / (n - 1);
    // Where the squares overflow or vanish the feature stays as it is.
    if (std::isnormal(variance)) term.scales[i] = std::sqrt(variance);
  }
}

}  // namespace magva::input
