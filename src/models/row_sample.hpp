#pragma once
#include <memory>

#include "magva/model.hpp"

namespace magva {

/// Some of the rows, standing for all: their part of the log likelihood is multiplied by `scale`.
struct RowSample {
  const Index* rows = nullptr;  ///< null: the rows 0 .. count - 1
  Index count = 0;
  double scale = 1.0;
};

/// A model whose log density is a sum over rows, which can be evaluated on a sample of them.
class SampledModel : public Model {
 public:
  virtual Index rows() const = 0;
  /// For `evaluate_sample` with at most so many draws and rows.
  virtual std::unique_ptr<Scratch> make_sample_scratch(Index max_draws, Index max_rows) const = 0;
  /// `evaluate` on a sample; constants and priors are taken whole.
  virtual void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                               MatrixRef gradient, Evaluation& evaluation) const = 0;
  /// The rows begin .. begin + count - 1 will be read soon.
  virtual void announce(Index /*begin*/, Index /*count*/) const {}
};

}  // namespace magva
