// Linear response against refits under small tilts, and against the Hessian of the ELBO by differences.
#include "exact/linear_response.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <cmath>
#include <functional>

#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// y_i ~ Poisson(exp(x_i' theta)), theta ~ N(0, 4 I): E log h is known in closed form.
struct PoissonPosterior {
  RowMatrix x;
  Vector y;
  Vector tilt;

  PoissonPosterior(Index rows, Index columns)
      : x(.7 * test::normals(rows, columns, 31)), y(Vector::LinSpaced(rows, 0, 3).array().round()) {
    tilt = Vector::Zero(columns);
  }

  Vector rates(const Vector& mean, const Matrix& sigma) const {
    const Vector variance = (x * sigma).cwiseProduct(x).rowwise().sum();
    return (x * mean + .5 * variance).array().exp();
  }
  double elbo(const Vector& mean, const Matrix& sigma) const {
    return y.dot(x * mean) - rates(mean, sigma).sum() - (mean.squaredNorm() + sigma.trace()) / 8 +
           tilt.dot(mean) + .5 * std::log(sigma.determinant());
  }
  Matrix curvature(const Vector& rate) const {
    Matrix c = x.transpose() * rate.asDiagonal() * x;
    c.diagonal().array() += .25;
    return c;
  }
  PredictorTerms terms(const Vector& rate) const { return {x, -rate, -.5 * rate}; }
};

struct FullRank {
  Vector mean;
  Matrix sigma;
};

FullRank best_full_rank(const PoissonPosterior& posterior) {
  const Index m = posterior.x.cols();
  FullRank at{Vector::Zero(m), .01 * Matrix::Identity(m, m)};
  for (int i = 0; i < 400; ++i) {
    const Vector rate = posterior.rates(at.mean, at.sigma);
    const Matrix c = posterior.curvature(rate);
    const Vector gradient = posterior.x.transpose() * (posterior.y - rate) - .25 * at.mean + posterior.tilt;
    const double part = i < 20 ? .3 : 1;
    at.mean += part * c.llt().solve(gradient);
    at.sigma = ((1 - part) * at.sigma.inverse() + part * c).inverse();
  }
  return at;
}

void expect_refits_agree(Index rows) {
  const Index m = 4;
  PoissonPosterior posterior(rows, m);
  const FullRank best = best_full_rank(posterior);
  const auto response = linear_response(posterior.terms(posterior.rates(best.mean, best.sigma)), best.sigma);
  ASSERT_TRUE(response.has_value());
  EXPECT_LT((*response - response->transpose()).norm(), 1e-10 * response->norm());
  EXPECT_GT((*response - best.sigma).norm(), .005 * best.sigma.norm());  // there is something to correct
  const double h = 1e-5;
  for (Index i = 0; i < m; ++i) {
    posterior.tilt = h * Vector::Unit(m, i);
    const Vector above = best_full_rank(posterior).mean;
    posterior.tilt = -h * Vector::Unit(m, i);
    const Vector below = best_full_rank(posterior).mean;
    EXPECT_LT(((above - below) / (2 * h) - response->col(i)).norm(), 1e-6 * response->norm());
  }
}

TEST(LinearResponse, EqualsRefitsUnderSmallTiltsWithFewRows) { expect_refits_agree(6); }

TEST(LinearResponse, EqualsRefitsUnderSmallTiltsWithManyRows) { expect_refits_agree(60); }

TEST(LinearResponse, LeavesAQuadraticAlone) {
  const PoissonPosterior posterior(20, 5);
  const Matrix c = posterior.curvature(Vector::Ones(20));
  const PredictorTerms flat{posterior.x, Vector::Zero(20), Vector::Zero(20)};
  EXPECT_LT((*linear_response(flat, c.inverse()) - c.inverse()).norm(), 1e-10);
  // Of low rank, its own covariance is too small; the response is that of the target.
  const Vector d = c.diagonal().cwiseSqrt().cwiseInverse();
  EXPECT_LT((*linear_response(flat, c, Matrix(5, 0), d) - c.inverse()).norm(), 1e-10);
}

using Function = std::function<double(const Vector&)>;

Matrix hessian_by_differences(const Function& f, const Vector& at) {
  const double h = 1e-3;
  const Index n = at.size();
  Matrix out(n, n);
  // Fourth order in h for each of the two derivatives.
  const double step[4] = {-2 * h, -h, h, 2 * h};
  const double weight[4] = {1 / (12 * h), -8 / (12 * h), 8 / (12 * h), -1 / (12 * h)};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) {
          Vector x = at;
          x(i) += step[a];
          x(j) += step[b];
          sum += weight[a] * weight[b] * f(x);
        }
      out(i, j) = sum;
    }
  return out;
}

Vector gradient_by_differences(const Function& f, const Vector& at) {
  const double h = 1e-4;
  Vector out(at.size());
  for (Index i = 0; i < at.size(); ++i)
    out(i) = (f(at + h * Vector::Unit(at.size(), i)) - f(at - h * Vector::Unit(at.size(), i))) / (2 * h);
  return out;
}

/// The inverse, with 0 for directions that change nothing.
Matrix pseudo_inverse(const Matrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(symmetric);
  const double least = 1e-6 * eigen.eigenvalues().cwiseAbs().maxCoeff();
  const Vector inverse =
      eigen.eigenvalues().unaryExpr([&](double l) { return std::abs(l) > least ? 1 / l : 0.0; });
  return eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose();
}

TEST(LinearResponse, OfLowRankIsTheMeansBlockOfTheInverseHessian) {
  const Index m = 6;
  const Index p = 2;
  const PoissonPosterior posterior(12, m);
  const auto factors = [&](const Vector& v) { return Matrix(v.segment(m, m * p).reshaped(m, p)); };
  const auto covariance = [&](const Vector& v) {
    Matrix sigma = factors(v) * factors(v).transpose();
    sigma.diagonal() += v.tail(m).cwiseAbs2();
    return sigma;
  };
  const Function elbo = [&](const Vector& v) { return posterior.elbo(v.head(m), covariance(v)); };
  Vector at(m * (p + 2));
  at << Vector::Zero(m), .2 * test::normals(m * p, 1, 33).col(0), .3 * Vector::Ones(m);
  for (int i = 0; i < 60; ++i) {  // ascent, by the Hessian's absolute values
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(hessian_by_differences(elbo, at));
    const Vector size = eigen.eigenvalues().cwiseAbs().cwiseMax(.05);
    Vector step = eigen.eigenvectors() *
                  (eigen.eigenvectors().transpose() * gradient_by_differences(elbo, at)).cwiseQuotient(size);
    while (!(elbo(at + step) >= elbo(at) - 1e-13)) step *= .5;
    at += step;
  }
  const Matrix inverse = pseudo_inverse(-hessian_by_differences(elbo, at));
  const Vector rate = posterior.rates(at.head(m), covariance(at));
  const auto response =
      linear_response(posterior.terms(rate), posterior.curvature(rate), factors(at), at.tail(m));
  ASSERT_TRUE(response.has_value());
  // Differences of differences, and an optimum that is reached to a gradient of about 1e-8.
  EXPECT_LT((*response - inverse.topLeftCorner(m, m)).norm(), 1e-5 * response->norm());
}

TEST(LinearResponse, IsLeftOutIfItTakesTooLong) {
  const PredictorTerms large{RowMatrix::Zero(30000, 100), Vector::Zero(30000), Vector::Zero(30000)};
  EXPECT_FALSE(linear_response(large, Matrix::Identity(100, 100)).has_value());
}

}  // namespace
}  // namespace magva
