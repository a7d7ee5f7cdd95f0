#include "experiments/printed_adadelta.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "core/noise.hpp"

namespace magva::experiments {

namespace {

constexpr double kBeta = .95, kEpsilon = 1e-6;

/// pi_B(Z) = Z - B sym(B'Z).
Matrix tangent_part(const Matrix& b, const Matrix& z) {
  const Matrix inner = b.transpose() * z;
  return z - b * (inner + inner.transpose()) / 2;
}

/// The printed sgn(E) sqrt|E| + epsilon.
Matrix signed_root(const Matrix& e) {
  return (e.array().sign() * e.array().abs().sqrt() + kEpsilon).matrix();
}

/// Zeiler's rule, ascending.
class EuclideanAdadelta {
 public:
  explicit EuclideanAdadelta(Index size) : gradients_(Vector::Zero(size)), steps_(Vector::Zero(size)) {}
  void ascend(Vector& x, const Vector& gradient) {
    gradients_ = kBeta * gradients_ + (1 - kBeta) * gradient.cwiseAbs2();
    const Vector step =
        ((steps_.array() + kEpsilon).sqrt() / (gradients_.array() + kEpsilon).sqrt() * gradient.array())
            .matrix();
    steps_ = kBeta * steps_ + (1 - kBeta) * step.cwiseAbs2();
    x += step;
  }

 private:
  Vector gradients_, steps_;
};

/// The paper's equations (B3), (B1), (B2), (Proj118-9) for f = -ELBO.
class StiefelAdadelta {
 public:
  explicit StiefelAdadelta(const Matrix& b)
      : previous_(b), gradients_(Matrix::Zero(b.rows(), b.cols())), steps_(gradients_) {}

  /// Returns Delta B; B moves unless it is not finite.
  Matrix descend(Matrix& b, const Matrix& gradient) {
    gradients_ = kBeta * tangent_part(b, gradients_) + (1 - kBeta) * tangent_part(b, gradient.cwiseAbs2());
    const Matrix step = signed_root(steps_).cwiseQuotient(signed_root(gradients_)).cwiseProduct(gradient);
    steps_ =
        kBeta * tangent_part(previous_, steps_) + (1 - kBeta) * tangent_part(previous_, step.cwiseAbs2());
    previous_ = b;
    if (step.allFinite() && steps_.allFinite()) {
      const Eigen::JacobiSVD<Matrix> svd(b - tangent_part(b, step),
                                         Eigen::ComputeThinU | Eigen::ComputeThinV);
      b = svd.matrixU() * svd.matrixV().transpose();
    }
    return step;
  }
  bool finite() const { return gradients_.allFinite() && steps_.allFinite(); }
  double negative_share() const {
    return static_cast<double>((gradients_.array() < 0).count()) / static_cast<double>(gradients_.size());
  }

 private:
  Matrix previous_, gradients_, steps_;
};

/// q = N(mu, B D1^2 B' + D2^2).
struct StiefelGaussian {
  Vector mu, d1, d2;
  Matrix b;
};

StiefelGaussian first_gaussian(Index m, Index rank, const StartingValues& start, std::uint64_t seed) {
  Matrix normals(m, rank);
  Noise(seed, NoiseStream::kFactors).fill(0, 0, normals);
  return {Vector::Zero(m), Vector::Constant(rank, start.factor_scale),
          Vector::Constant(m, start.residual_scale),
          Eigen::HouseholderQR<Matrix>(normals).householderQ() * Matrix::Identity(m, rank)};
}

/// The paper's equations (Stiefel2) to (Stiefel4) for one draw, with g the gradient of log h there.
StiefelGaussian elbo_gradient(const StiefelGaussian& q, const Vector& g, const Vector& z,
                              const Vector& epsilon) {
  const Index rank = q.b.cols();
  // Sigma^-1 B D1 = D2^-2 A (I + A' D2^-2 A)^-1 with A = B D1.
  const Vector inverse = q.d2.cwiseAbs2().cwiseInverse();
  const Matrix a = q.b * q.d1.asDiagonal(), scaled = inverse.asDiagonal() * a;
  const Matrix capacitance = Matrix::Identity(rank, rank) + a.transpose() * scaled;
  const Matrix solved = capacitance.llt().solve(scaled.transpose()).transpose();
  const Vector diagonal = inverse - solved.cwiseProduct(scaled).rowwise().sum();
  return {g, (q.b.transpose() * g).cwiseProduct(z) + q.b.cwiseProduct(solved).colwise().sum().transpose(),
          g.cwiseProduct(epsilon) + diagonal.cwiseProduct(q.d2),
          g * z.cwiseProduct(q.d1).transpose() + solved * q.d1.asDiagonal()};
}

}  // namespace

PrintedAdadelta follow_printed_adadelta(const Model& model, Index rank, const StartingValues& start,
                                        std::int64_t iterations, std::uint64_t seed) {
  const Index m = model.dimension();
  StiefelGaussian q = first_gaussian(m, rank, start, seed);
  EuclideanAdadelta mean_rule(m), d1_rule(rank), d2_rule(m);
  StiefelAdadelta factor_rule(q.b);
  Workers workers(1);
  const auto scratch = model.make_scratch(1);
  const Noise source(seed, NoiseStream::kFit);
  Matrix noise(m + rank, 1), gradient(m, 1);
  Vector log_density(1);
  PrintedAdadelta out{};
  for (std::int64_t t = 1; t <= iterations; ++t) {
    source.fill(static_cast<std::uint64_t>(t), 0, noise);
    const Vector z = noise.col(0).head(rank), epsilon = noise.col(0).tail(m);
    const Matrix theta = q.mu + q.b * q.d1.cwiseProduct(z) + q.d2.cwiseProduct(epsilon);
    Evaluation evaluation{*scratch, workers, 0};
    model.evaluate(theta, log_density, gradient, evaluation);
    const StiefelGaussian by = elbo_gradient(q, gradient.col(0), z, epsilon);
    mean_rule.ascend(q.mu, by.mu);
    d1_rule.ascend(q.d1, by.d1);
    d2_rule.ascend(q.d2, by.d2);
    const Matrix step = factor_rule.descend(q.b, -by.b);
    out.negative_share += factor_rule.negative_share() / static_cast<double>(iterations);
    if (!step.allFinite() || !factor_rule.finite()) {
      out.first_not_finite = t;
      break;
    }
    out.largest_step = std::max(out.largest_step, step.cwiseAbs().maxCoeff());
  }
  return out;
}

}  // namespace magva::experiments
