#include "fitting/log_densities.hpp"

#include <algorithm>

namespace magva::fitting {

Vector log_densities(const Model& model, ConstMatrixRef theta, int threads) {
  constexpr Index kBatch = 64;
  Workers workers(threads);
  const auto scratch = model.make_scratch(kBatch);
  Evaluation evaluation{*scratch, workers};
  Vector out(theta.cols());
  Matrix gradient(theta.rows(), kBatch);
  for (Index begin = 0; begin < theta.cols(); begin += kBatch) {
    const Index count = std::min(kBatch, theta.cols() - begin);
    model.evaluate(theta.middleCols(begin, count), out.segment(begin, count), gradient.leftCols(count),
                   evaluation);
  }
  return out;
}

}  // namespace magva::fitting
