#include <Eigen/Cholesky>

#include <cmath>

#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "objective.hpp"

namespace magva::bench {

namespace {

class ExactExpectation final : public Expected {
 public:
  explicit ExactExpectation(const Glm& glm) : glm_(glm), squares_(glm.design().cwiseAbs2()) {}
  Index dimension() const override { return glm_.dimension(); }

  // E log h depends on Sigma through its predictors' variances: its derivative is -E[-Hessian]/2.
  double value(const Parts& at, Parts& derivative) const override {
    const Matrix& x = glm_.design();
    const Matrix xw = x * at.factors;
    const Vector square = at.residual.cwiseAbs2();
    const auto e = glm_.expectation(at.mean, xw.rowwise().squaredNorm() + squares_ * square,
                                    at.factors.rowwise().squaredNorm() + square);
    const Vector prior = glm_.prior_variance().cwiseInverse();
    derivative.mean = e.gradient;
    derivative.factors = -(x.transpose() * (e.weight.asDiagonal() * xw)) - prior.asDiagonal() * at.factors;
    derivative.residual = -(squares_.transpose() * e.weight + prior).cwiseProduct(at.residual);
    return e.value;
  }

 private:
  const Glm& glm_;
  Matrix squares_;
};

class SampledExpectation final : public Expected {
 public:
  SampledExpectation(const Model& model, Index rank, Index pairs)
      : model_(model), evaluator_(model, 1), noise_(rank + model.dimension(), 2 * pairs) {
    auto half = noise_.leftCols(pairs);
    Noise(1, NoiseStream::kEvaluation).fill(0, 0, half);
    const Eigen::LLT<Matrix> second(half * half.transpose() / static_cast<double>(pairs));
    second.matrixL().solveInPlace(half);
    noise_.rightCols(pairs) = -half;
  }
  Index dimension() const override { return model_.dimension(); }

  double value(const Parts& at, Parts& derivative) const override {
    const Index m = dimension();
    const auto z = noise_.topRows(at.factors.cols());
    const auto epsilon = noise_.bottomRows(m);
    const auto n = static_cast<double>(noise_.cols());
    Matrix theta = at.factors * z;
    theta += at.residual.asDiagonal() * epsilon;
    theta.colwise() += at.mean;
    Vector log_density(theta.cols());
    Matrix gradient(m, theta.cols());
    evaluator_.evaluate(theta, log_density, gradient);
    derivative.mean = gradient.rowwise().mean();
    derivative.factors = gradient * z.transpose() / n;
    derivative.residual = gradient.cwiseProduct(epsilon).rowwise().mean();
    return log_density.mean();
  }

 private:
  const Model& model_;
  mutable Evaluator evaluator_;
  Matrix noise_;
};

}  // namespace

std::unique_ptr<Expected> exact_expectation(const Glm& glm) {
  return std::make_unique<ExactExpectation>(glm);
}

std::unique_ptr<Expected> sampled_expectation(const Model& model, Index rank, Index pairs) {
  return std::make_unique<SampledExpectation>(model, rank, pairs);
}

}  // namespace magva::bench
