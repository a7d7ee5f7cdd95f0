#pragma once
// The sinh-arcsinh transform of Jones & Pewsey (2009) of every coordinate: skewness and tails of a margin,
// monotone and with an inverse in closed form. Smith, Loaiza-Maya & Nott (2020) fit such transforms of a
// Gaussian: an implicit copula.
#include "shape/layer.hpp"

namespace magva {

/// y = c + exp(w) f((x - c) exp(-w)) in every coordinate, with
///   f(u) = (sinh(exp(t) asinh(u) + s) - sinh(s)) / (cosh(s) exp(t)).
/// The skewness s and the tail t bend the line, c and w say where and how sharply. Written so that y = x and
/// dy/dx = 1 at x = c whatever the parameters: they hardly move location and scale, which are the base
/// Gaussian's, and a fit of all is well-conditioned. The identity at s = t = 0.
class SinhArcsinh final : public Layer {
 public:
  /// The identity.
  explicit SinhArcsinh(Index dimension);
  /// One row per coordinate: s, t, c, w.
  explicit SinhArcsinh(const Matrix& parameters);

  std::unique_ptr<Layer> clone() const override { return std::make_unique<SinhArcsinh>(*this); }
  Index dimension() const override { return parameters_.front().value.rows(); }

  void forward(MatrixRef x, VectorRef log_det) const override;
  void invert(MatrixRef y) const override;
  void pull_back(ConstMatrixRef x, MatrixRef v) const override;
  void push_forward(ConstMatrixRef x, MatrixRef v) const override;
  void add_log_det_gradient(ConstMatrixRef x, double factor, MatrixRef v) const override;

  void set_gradients(ConstMatrixRef x, ConstMatrixRef v) override;
  std::vector<LayerParameter>& parameters() override { return parameters_; }
  void constrain() override;
  void write(io::ChecksummedWriter& out) const override;
  static std::unique_ptr<Layer> read(io::ChecksummedReader& in, Index dimension);

 private:
  struct Transform;
  struct Point;
  Transform transform() const;

  std::vector<LayerParameter> parameters_;  // s, t, c, w
};

}  // namespace magva
