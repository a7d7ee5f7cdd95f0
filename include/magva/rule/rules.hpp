#pragma once
// The update rules of the paper's section 3.2, each written once for flat and curved blocks. All of them
// descend f = -ELBO. A rule takes the Euclidean gradient of f at x and gives a tangent step U, to be
// retracted: the next point is R_x(-U). On a Euclidean block projection and transport are the identity. Every
// rule is odd in the gradient: fed with the gradient of the ELBO, it ascends by R_x(U).
#include <array>

#include "magva/manifold/manifold.hpp"
#include "magva/rule/options.hpp"

namespace magva::rule {

/// RGD-Basic, the paper's equation (RGD): U = alpha grad f.
class Basic {
 public:
  Basic(const RuleOptions& options, Index, Index) : options_(options) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    manifold.project(x, gradient, out, kernel);
    out *= options_.step;
  }
  std::array<Matrix*, 0> state() { return {}; }

 private:
  RuleOptions options_;
};

/// cRGD-M: m <- beta transport(m) + alpha grad f, U = m.
class Momentum {
 public:
  Momentum(const RuleOptions& options, Index rows, Index cols)
      : options_(options), momentum_(Matrix::Zero(rows, cols)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    manifold.project(x, gradient, out, kernel);
    manifold.transport(x, momentum_, momentum_, kernel);
    momentum_ = options_.decay * momentum_ + options_.step * out;
    out = momentum_;
  }
  std::array<Matrix*, 1> state() { return {&momentum_}; }

 private:
  RuleOptions options_;
  Matrix momentum_;
};

/// sgn(e) sqrt|e| + epsilon, the printed rules' root of an accumulator that may be negative.
template <class Array>
auto signed_root(const Array& e, double epsilon) {
  return e.sign() * e.abs().sqrt() + epsilon;
}

/// The denominator, its magnitude kept at or above guard sqrt(1 - beta) |g|.
template <class Root, class Gradient>
auto guarded(const Root& root, const Gradient& gradient, const RuleOptions& options) {
  const double floor = options.guard * std::sqrt(1 - options.decay);
  return (root < 0).select(-(-root).max(floor * gradient.abs()), root.max(floor * gradient.abs()));
}

/// E <- beta transport(E) + (1 - beta) project(g o g), for the printed RMSProp and AdaDelta.
template <Manifold M>
void accumulate(const M& manifold, ConstMatrixRef x, ConstMatrixRef g, double beta, MatrixRef squares,
                MatrixRef work, TallSkinny& kernel) {
  work = g.cwiseAbs2();
  manifold.project(x, work, work, kernel);
  manifold.transport(x, squares, squares, kernel);
  squares = beta * squares + (1 - beta) * work;
}

/// RGD-RMSProp as printed, the paper's equations (Proj118-7) and (G2).
class Rmsprop {
 public:
  Rmsprop(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(Matrix::Zero(rows, cols)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    accumulate(manifold, x, gradient, options_.decay, squares_, out, kernel);
    squares_root_into(gradient, out);
    manifold.project(x, out, out, kernel);
    out *= options_.step;
  }
  std::array<Matrix*, 1> state() { return {&squares_}; }

 private:
  void squares_root_into(ConstMatrixRef gradient, MatrixRef out) {
    out.array() = signed_root(squares_.array(), options_.epsilon);
    out.array() = gradient.array() / guarded(out.array(), gradient.array(), options_);
  }
  RuleOptions options_;
  Matrix squares_;
};

/// RGD-AdaDelta as printed, the paper's equations (B3), (B1), (B2), (Proj118-9). The moment of the steps
/// lives in the tangent space at the previous point, with B(-1) = B(0).
class Adadelta {
 public:
  Adadelta(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        squares_(Matrix::Zero(rows, cols)),
        steps_(Matrix::Zero(rows, cols)),
        previous_(Matrix::Zero(rows, cols)),
        work_(rows, cols),
        started_(Matrix::Zero(1, 1)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    if (started_(0) == 0) previous_ = x;
    accumulate(manifold, x, gradient, options_.decay, squares_, out, kernel);
    out.array() = signed_root(squares_.array(), options_.epsilon);
    out.array() = gradient.array() * signed_root(steps_.array(), options_.epsilon) /
                  guarded(out.array(), gradient.array(), options_);
    accumulate(manifold, previous_, out, options_.decay, steps_, work_, kernel);
    previous_ = x;
    started_(0) = 1;
    manifold.project(x, out, out, kernel);
  }
  std::array<Matrix*, 4> state() { return {&squares_, &steps_, &previous_, &started_}; }

 private:
  RuleOptions options_;
  Matrix squares_, steps_, previous_, work_, started_;
};

/// RMSProp with element-wise accumulators that stay non-negative; the step is projected.
class RmspropStable {
 public:
  RmspropStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(Matrix::Zero(rows, cols)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    squares_.array() = options_.decay * squares_.array() + (1 - options_.decay) * gradient.array().square();
    out.array() = options_.step * gradient.array() / (squares_.array().sqrt() + options_.epsilon);
    manifold.project(x, out, out, kernel);
  }
  std::array<Matrix*, 1> state() { return {&squares_}; }

 private:
  RuleOptions options_;
  Matrix squares_;
};

/// ADADELTA of Zeiler (2012), epsilon inside the roots, accumulators non-negative; the step is projected.
class AdadeltaStable {
 public:
  AdadeltaStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(Matrix::Zero(rows, cols)), steps_(Matrix::Zero(rows, cols)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    const double beta = options_.decay;
    squares_.array() = beta * squares_.array() + (1 - beta) * gradient.array().square();
    out.array() = ((steps_.array() + options_.epsilon) / (squares_.array() + options_.epsilon)).sqrt() *
                  gradient.array();
    steps_.array() = beta * steps_.array() + (1 - beta) * out.array().square();
    manifold.project(x, out, out, kernel);
  }
  std::array<Matrix*, 2> state() { return {&squares_, &steps_}; }

 private:
  RuleOptions options_;
  Matrix squares_, steps_;
};

/// Adam on the Riemannian gradient (Becigneul & Ganea 2019), its first moment transported, its second moment
/// element-wise; both corrected for their start at zero.
class Adam {
 public:
  Adam(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        mean_(Matrix::Zero(rows, cols)),
        squares_(Matrix::Zero(rows, cols)),
        powers_(Matrix::Ones(2, 1)) {}
  template <Manifold M>
  void direction(const M& manifold, ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out,
                 TallSkinny& kernel) {
    manifold.project(x, gradient, out, kernel);
    manifold.transport(x, mean_, mean_, kernel);
    powers_(0) *= options_.momentum;
    powers_(1) *= options_.decay;
    mean_ = options_.momentum * mean_ + (1 - options_.momentum) * out;
    squares_.array() = options_.decay * squares_.array() + (1 - options_.decay) * out.array().square();
    out.array() = options_.step / (1 - powers_(0)) * mean_.array() /
                  ((squares_.array() / (1 - powers_(1))).sqrt() + options_.epsilon);
    manifold.project(x, out, out, kernel);
  }
  std::array<Matrix*, 3> state() { return {&mean_, &squares_, &powers_}; }

 private:
  RuleOptions options_;
  Matrix mean_, squares_, powers_;
};

}  // namespace magva::rule
