#pragma once
// Smooth invertible maps of R^m of which a shape is made, with all that fitting one takes. Points and
// covectors have one column per draw.
#include <memory>
#include <vector>

#include "core/checksummed_file.hpp"
#include "magva/types.hpp"
#include "rule/block.hpp"

namespace magva {

/// A parameter of a layer, the manifold that it lies on, and the gradient of the ELBO.
struct LayerParameter {
  ManifoldKind manifold = ManifoldKind::kEuclidean;
  Matrix value;
  Matrix gradient;
};

/// y = f(x). With J = f'(x):
class Layer {
 public:
  virtual ~Layer() = default;

  virtual std::unique_ptr<Layer> clone() const = 0;
  virtual Index dimension() const = 0;

  /// x <- f(x); adds log |det J| to `log_det`.
  virtual void forward(MatrixRef x, VectorRef log_det) const = 0;
  /// y <- f^-1(y), to rounding.
  virtual void invert(MatrixRef y) const = 0;
  /// v <- J' v: the gradient by y of a function becomes that by x.
  virtual void pull_back(ConstMatrixRef x, MatrixRef v) const = 0;
  /// v <- J^-T v.
  virtual void push_forward(ConstMatrixRef x, MatrixRef v) const = 0;
  /// v <- v + factor d log |det J| / dx.
  virtual void add_log_det_gradient(ConstMatrixRef x, double factor, MatrixRef v) const = 0;

  /// The gradients of the parameters: sums over the columns of v' dy / dparameter.
  virtual void set_gradients(ConstMatrixRef x, ConstMatrixRef v) = 0;
  virtual std::vector<LayerParameter>& parameters() = 0;
  /// Brings the parameters back to where f is invertible by a margin, after a step.
  virtual void constrain() = 0;

  virtual void write(io::ChecksummedWriter& out) const = 0;
};

/// DataError if its parts do not fit each other.
std::unique_ptr<Layer> read_layer(io::ChecksummedReader& in, Index dimension);

}  // namespace magva
