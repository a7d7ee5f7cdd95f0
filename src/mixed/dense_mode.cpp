#include "mixed/dense_mode.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "magva/error.hpp"

namespace magva::mixed {

namespace {

constexpr int kMostNewtonIterations = 100;
constexpr int kMostTrials = 12;
/// A step is worth its evaluation if it promises more nats.
constexpr double kWorthwhile = 1e-4;
/// Second derivatives are differences of gradients over this share of a unit at the start, and over this many
/// sds at the mode: what counts there is the posterior's width, not the limit.
constexpr double kFirstDifference = 1e-3;
constexpr double kLastDifference = .5;
/// In one step no parameter moves by more units.
constexpr double kLongest = 2;
/// Curvature along any axis is at least this, in units at first, relative to the search's at the end.
constexpr double kLeastCurvature = .02;
/// At the mode the search's curvature may differ by this factor before it goes on with the better one.
constexpr double kCurvatureFactor = 3;
constexpr int kMostCurvatures = 3;

/// The matrix with eigenvalues of at least `least` in magnitude, and positive: a Newton step along a
/// direction of the wrong curvature is then still one upwards.
Matrix made_positive(const Matrix& symmetric, double least) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(.5 * (symmetric + symmetric.transpose()));
  const Vector values = eigen.eigenvalues().cwiseAbs().cwiseMax(least);
  return eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
}

/// In coordinates of the given unit: quasi-Newton steps (BFGS) from a curvature by differences.
class DenseSearch {
 public:
  DenseSearch(Evaluator& evaluator, ConstVectorRef start, ConstVectorRef unit)
      : evaluator_(evaluator), unit_(unit), at_{start.cwiseQuotient(unit), Vector(start.size()), 0} {
    evaluate(at_);
    if (!std::isfinite(at_.value))
      throw DataError("the log density is not finite where the search starts: check the data's scale");
    differentiate();
  }

  DenseMode run() {
    for (int k = 0; k < kMostCurvatures; ++k) {
      const bool risen = ascend();
      const Matrix seen = curvature_at_mode();
      const Vector factors =
          Eigen::GeneralizedSelfAdjointEigenSolver<Matrix>(seen, curvature_, Eigen::EigenvaluesOnly)
              .eigenvalues();
      curvature_ = seen;
      found_.converged = risen;
      const Vector step = newton_step();
      const bool near = step.dot(at_.gradient) < 100 * kWorthwhile;
      if (near && factors.minCoeff() > 1 / kCurvatureFactor && factors.maxCoeff() < kCurvatureFactor) {
        at_.theta += step;
        break;
      }
    }
    found_.theta = unit_.cwiseProduct(at_.theta);
    found_.precision = unit_.cwiseInverse().asDiagonal() * curvature_ * unit_.cwiseInverse().asDiagonal();
    return found_;
  }

 private:
  struct Point {
    Vector theta, gradient;
    double value;
  };

  void evaluate(Point& point) {
    point.value = evaluator_.evaluate(Vector(unit_.cwiseProduct(point.theta)), point.gradient);
    point.gradient.array() *= unit_.array();
  }

  /// Gradients at the columns, in units; where there is none, that of the present point.
  Matrix gradients(const Matrix& theta) {
    Vector values(theta.cols());
    Matrix out(theta.rows(), theta.cols());
    evaluator_.evaluate(Matrix(unit_.asDiagonal() * theta), values, out);
    out = unit_.asDiagonal() * out;
    for (Index k = 0; k < theta.cols(); ++k)
      if (!std::isfinite(values(k))) out.col(k) = at_.gradient;
    return out;
  }

  void differentiate() {
    const Index m = unit_.size();
    const Matrix shifted = (kFirstDifference * Matrix::Identity(m, m)).colwise() + at_.theta;
    const Matrix differences = (-gradients(shifted)).colwise() + at_.gradient;
    curvature_ = made_positive(differences / kFirstDifference, kLeastCurvature);
  }

  Vector newton_step() const {
    Vector step = curvature_.llt().solve(at_.gradient);
    const double longest = step.cwiseAbs().maxCoeff();
    return longest > kLongest ? Vector(step * (kLongest / longest)) : step;
  }

  /// Whether it has come to where steps promise nothing.
  bool ascend() {
    bool fresh = found_.iterations == 0;
    while (found_.iterations < kMostNewtonIterations) {
      const Vector step = newton_step();
      if (step.dot(at_.gradient) < kWorthwhile) return true;
      report();
      ++found_.iterations;
      Point next{at_.theta, Vector(step.size()), 0};
      if (!line_search(step, next)) {
        if (fresh) return step.dot(at_.gradient) < 100 * kWorthwhile;
        differentiate();
        fresh = true;
        continue;
      }
      fresh = false;
      const bool updated = update(next);
      at_ = std::move(next);
      if (updated) continue;
      differentiate();
      fresh = true;
    }
    return false;
  }

  void report() const {
    if (evaluator_.control() != nullptr)
      evaluator_.control()->report(found_.iterations, std::numeric_limits<double>::quiet_NaN());
  }

  bool line_search(const Vector& step, Point& next) {
    const double slope = step.dot(at_.gradient);
    double t = 1;
    for (int k = 0; k < kMostTrials; ++k) {
      next.theta = at_.theta + t * step;
      evaluate(next);
      const double gain = next.value - at_.value;
      if (gain >= 1e-4 * t * slope) return true;
      // The maximum of the parabola through what is known, within reason.
      const double best = std::isfinite(gain) ? .5 * slope * t / (slope - gain / t) : 0;
      t = std::clamp(best, .1 * t, .5 * t);
    }
    return false;
  }

  /// False if the step has not seen the curvature of a maximum.
  bool update(const Point& next) {
    const Vector step = next.theta - at_.theta, change = at_.gradient - next.gradient;
    const double seen = step.dot(change);
    if (!(seen > 1e-8 * step.norm() * change.norm())) return false;
    const Vector expected = curvature_ * step;
    curvature_ += change * change.transpose() / seen - expected * expected.transpose() / step.dot(expected);
    return true;
  }

  /// By central differences along axes on which the present curvature is 1.
  Matrix curvature_at_mode() {
    const Index m = unit_.size();
    const Eigen::LLT<Matrix> llt(curvature_);
    const Matrix axes = llt.matrixU().solve(Matrix::Identity(m, m));
    Matrix theta(m, 2 * m);
    theta << kLastDifference * axes, -kLastDifference * axes;
    const Matrix found = gradients(theta.colwise() + at_.theta);
    const Matrix times_axes = (found.rightCols(m) - found.leftCols(m)) / (2 * kLastDifference);
    const Matrix relative = made_positive(axes.transpose() * times_axes, kLeastCurvature);
    const Matrix lower = llt.matrixL();
    return lower * relative * lower.transpose();
  }

  Evaluator& evaluator_;
  Vector unit_;
  Point at_;
  Matrix curvature_;
  DenseMode found_;
};

}  // namespace

Gaussian DenseMode::gaussian() const {
  const Matrix covariance = precision.llt().solve(Matrix::Identity(theta.size(), theta.size()));
  return Gaussian::dense(theta, covariance.llt().matrixL());
}

DenseMode find_dense_mode(Evaluator& evaluator, ConstVectorRef start, ConstVectorRef unit) {
  return DenseSearch(evaluator, start, unit).run();
}

}  // namespace magva::mixed
