#include "objective.hpp"

#include "search/mode_search.hpp"

namespace magva::bench {

namespace {

constexpr int kIterations = 2000;  // of one L-BFGS run
constexpr int kRuns = 20;          // each starts with an empty memory
constexpr double kFloor = 1e-4;
constexpr double kProgress = 2e-3;  // nats of a run below which there is no further one

/// Coordinates (u, V, e): mean = centre + R u, W = diag(scale) V, d = scale (floor + exp(e)), where the floor
/// keeps Sigma^-1 computable.
class Objective final : public Model {
 public:
  Objective(const Expected& expected, const Gaussian& start, const Frame& frame)
      : expected_(expected),
        frame_(frame),
        centre_(start.mean()),
        scale_(start.residual_sd()),
        rank_(start.rank()) {}

  Index dimension() const override { return m() * (rank_ + 2); }

  Vector coordinates(const Gaussian& q) const {
    Vector out = Vector::Zero(dimension());
    out.segment(m(), m() * rank_) = Matrix(scale_.cwiseInverse().asDiagonal() * q.factors()).reshaped();
    return out;
  }

  Parts parts(ConstVectorRef x) const {
    const Matrix v = x.segment(m(), m() * rank_).reshaped(m(), rank_);
    return {centre_ + frame_.times(x.head(m())), scale_.asDiagonal() * v,
            scale_.array() * (kFloor + x.tail(m()).array().exp())};
  }

  void evaluate(ConstMatrixRef theta, VectorRef value, MatrixRef gradient, Evaluation&) const override {
    for (Index s = 0; s < theta.cols(); ++s) value(s) = evaluate_one(theta.col(s), gradient.col(s));
  }

 private:
  Index m() const { return centre_.size(); }

  double evaluate_one(ConstVectorRef x, VectorRef gradient) const {
    const Parts at = parts(x);
    Parts d;
    const double value = expected_.value(at, d);
    const Gaussian q = Gaussian::low_rank(at.mean, at.factors, at.residual);
    if (rank_ > 0) d.factors += q.solve(at.factors);
    d.residual += q.precision_diagonal().cwiseProduct(at.residual);
    gradient.head(m()) = frame_.transposed(d.mean);
    gradient.segment(m(), m() * rank_) = Matrix(scale_.asDiagonal() * d.factors).reshaped();
    gradient.tail(m()) = d.residual.cwiseProduct(at.residual - kFloor * scale_);
    return value + .5 * q.log_determinant();
  }

  const Expected& expected_;
  const Frame& frame_;
  Vector centre_;
  Vector scale_;
  Index rank_;
};

}  // namespace

Frame dense_frame(Matrix root) {
  const auto shared = std::make_shared<const Matrix>(std::move(root));
  return {[shared](ConstVectorRef u) { return Vector(*shared * u); },
          [shared](ConstVectorRef g) { return Vector(shared->transpose() * g); }};
}

Frame diagonal_frame(Vector scales) {
  const auto times = [scales = std::move(scales)](ConstVectorRef u) {
    return Vector(scales.cwiseProduct(u));
  };
  return {times, times};
}

Gaussian ascend(const Expected& expected, const Gaussian& start, const Frame& frame) {
  const Objective objective(expected, start, frame);
  Evaluator evaluator(objective, 1);
  Vector at = objective.coordinates(start);
  for (int run = 0; run < kRuns; ++run) {
    const ModeSearch search = search_mode(evaluator, at, kIterations);
    at = search.end.theta;
    if (search.end.log_density - search.path.front().log_density < kProgress) break;
  }
  Parts best = objective.parts(at);
  return Gaussian::low_rank(std::move(best.mean), std::move(best.factors), std::move(best.residual));
}

}  // namespace magva::bench
