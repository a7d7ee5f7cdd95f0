#pragma once
// theta = T(z): a chain of layers, each in coordinates of its own, x = root^-1 (z - centre). A diagonal root
// makes that the parameters' coordinates; the Cholesky factor of a covariance makes it those in which its
// Gaussian is standard normal, before the mixing matrix.
#include <memory>
#include <string>
#include <vector>

#include "shape/layer.hpp"

namespace magva {

class Gaussian;

/// Layers that share coordinates.
struct ShapeStage {
  Vector centre;
  Matrix root;  ///< lower triangular, with a positive diagonal
  std::vector<std::unique_ptr<Layer>> layers;
};

/// What one evaluation of T leaves for derivatives.
struct ShapePass {
  std::vector<Matrix> inputs;  ///< of each layer, in its own coordinates
  Matrix theta;
  Vector log_det;  ///< log |det T'|
};

class ShapeMap {
 public:
  ShapeMap() = default;
  ShapeMap(const ShapeMap& other);
  ShapeMap(ShapeMap&&) = default;
  ShapeMap& operator=(ShapeMap&&) = default;
  ~ShapeMap() = default;

  /// Both start as the identity, in the coordinates of a Gaussian. Skewed: sinh-arcsinh transforms before its
  /// mixing matrix and in the parameters' coordinates.
  static ShapeMap skewed(const Gaussian& around);
  static ShapeMap flow(const Gaussian& around, int layers, std::uint64_t seed);
  /// A skewed one in the parameters' coordinates alone, x = (z - centre) / scale.
  static ShapeMap of_margins(Vector centre, const Vector& scale, std::unique_ptr<Layer> layer);

  /// "skewed" or "flow".
  const std::string& name() const { return name_; }
  Index dimension() const { return stages_.front().centre.size(); }
  std::vector<ShapeStage>& stages() { return stages_; }

  ShapePass forward(ConstMatrixRef z) const;
  Matrix invert(ConstMatrixRef theta) const;
  /// The gradient by z of g(T(z)) + log |det T'(z)|, where v is the gradient of g by theta.
  Matrix gradient_by_base(const ShapePass& pass, Matrix v) const;
  /// The gradient by theta of the log density of T(z), where v is that by z of the log density of z.
  Matrix score(const ShapePass& pass, Matrix v) const;
  /// Sets the gradients of all parameters to the sums over columns of v' dtheta / dparameter, and returns
  /// T'(z)' v.
  Matrix set_gradients(const ShapePass& pass, Matrix v);

  void write(io::ChecksummedWriter& out) const;
  static ShapeMap read(io::ChecksummedReader& in, Index dimension);

 private:
  std::string name_;
  std::vector<ShapeStage> stages_;
};

/// A lower triangular root of a Gaussian's covariance.
Matrix covariance_root(const Gaussian& gaussian);

}  // namespace magva
