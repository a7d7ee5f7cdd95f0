#pragma once
// A Sylvester flow (van den Berg, Hasenclever, Tomczak & Welling 2018),
//   y = x + Q R tanh(S Q'x + b),
// with orthonormal m x M Q, a point of the Stiefel manifold, and upper triangular R and S. In the span of Q
// its Jacobian is I + R diag(tanh') S, upper triangular, so that its determinant is the product of
// 1 + r_ii s_ii tanh'. As 0 < tanh' <= 1 the map is invertible if r_ii s_ii > -1 for all i: the diagonals
// are s_ii = exp(w_i) and r_ii = (exp(v_i) - 1) / s_ii, which is every such pair but for signs that tanh
// makes up for. The inverse is found in the span of Q from its last coordinate to the first: each is the
// root of an increasing function of one variable.
#include <cstdint>

#include "shape/layer.hpp"

namespace magva {

class Sylvester final : public Layer {
 public:
  /// The identity, R = 0, with random Q and b.
  Sylvester(Index dimension, Index columns, std::uint64_t seed);
  /// `r` and `s` hold v and w on their diagonals.
  Sylvester(Matrix q, Matrix r, Matrix s, Vector b);

  std::unique_ptr<Layer> clone() const override { return std::make_unique<Sylvester>(*this); }
  Index dimension() const override { return q().rows(); }

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
  struct Inside;  // what happens in the span of Q
  Inside inside(ConstMatrixRef x) const;
  Matrix upper_r() const;
  Matrix upper_s() const;
  const Matrix& q() const { return parameters_[0].value; }
  const Matrix& r() const { return parameters_[1].value; }
  const Matrix& s() const { return parameters_[2].value; }
  const Matrix& b() const { return parameters_[3].value; }

  std::vector<LayerParameter> parameters_;
};

}  // namespace magva
