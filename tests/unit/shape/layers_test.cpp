// Inverses, determinants and derivatives of the layers and of maps made of them, against finite differences.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <functional>

#include "shape/sinh_arcsinh.hpp"
#include "shape/sylvester.hpp"
#include "unit/shape/shape_maps.hpp"

namespace magva {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;  // of central differences with that step, for values around 1

using Map = std::function<Matrix(const Matrix&)>;

Matrix jacobian(const Map& map, const Vector& at) {
  Matrix out(at.size(), at.size());
  for (Index j = 0; j < at.size(); ++j) {
    Vector up = at;
    Vector down = at;
    up(j) += kStep;
    down(j) -= kStep;
    out.col(j) = (map(up) - map(down)) / (2 * kStep);
  }
  return out;
}

Vector slope(const std::function<double(const Vector&)>& of, const Vector& at) {
  Vector out(at.size());
  for (Index j = 0; j < at.size(); ++j) {
    Vector up = at;
    Vector down = at;
    up(j) += kStep;
    down(j) -= kStep;
    out(j) = (of(up) - of(down)) / (2 * kStep);
  }
  return out;
}

Matrix forward(const Layer& layer, Matrix x) {
  Vector log_det = Vector::Zero(x.cols());
  layer.forward(x, log_det);
  return x;
}

double log_det(const Layer& layer, Matrix x) {
  Vector out = Vector::Zero(1);
  layer.forward(x, out);
  return out(0);
}

std::unique_ptr<Layer> only_layer(ShapeMap map) { return std::move(map.stages().front().layers.front()); }

class LayerTest : public testing::TestWithParam<int> {
 protected:
  /// A sinh-arcsinh transform, and flows with fewer columns than coordinates and with as many.
  std::unique_ptr<Layer> layer() const {
    switch (GetParam()) {
      case 0:
        return only_layer(test::random_skewed(4, 3));
      case 1:
        return only_layer(test::random_flow(3, 1, 5));
      default:
        return only_layer(test::random_flow(11, 1, 7));
    }
  }
};

TEST_P(LayerTest, InvertsWhatItMaps) {
  const auto f = layer();
  const Matrix x = 2 * test::random_matrix(f->dimension(), 50, 1);
  Matrix y = forward(*f, x);
  EXPECT_GT((y - x).norm(), 1);
  f->invert(y);
  EXPECT_LT((y - x).cwiseAbs().maxCoeff(), 1e-11);
}

TEST_P(LayerTest, DerivativesAreThoseOfFiniteDifferences) {
  const auto f = layer();
  const Vector x = test::random_matrix(f->dimension(), 1, 2);
  const Matrix by_x = jacobian([&](const Matrix& at) { return forward(*f, at); }, x);
  EXPECT_NEAR(log_det(*f, x), std::log(by_x.determinant()), kTolerance);

  const Matrix v = test::random_matrix(x.size(), 1, 4);
  Matrix pulled = v;
  f->pull_back(x, pulled);
  EXPECT_LT((pulled - by_x.transpose() * v).norm(), kTolerance * v.norm() * by_x.norm());
  f->push_forward(x, pulled);
  EXPECT_LT((pulled - v).norm(), 1e-11);

  Matrix by_log_det = Matrix::Zero(x.size(), 1);
  f->add_log_det_gradient(x, 1, by_log_det);
  const Vector expected = slope([&](const Vector& at) { return log_det(*f, at); }, x);
  EXPECT_LT((by_log_det - expected).norm(), kTolerance * (1 + expected.norm()));
}

TEST_P(LayerTest, GradientsOfParametersAreThoseOfFiniteDifferences) {
  const auto f = layer();
  const Matrix x = test::random_matrix(f->dimension(), 3, 6);
  const Matrix v = test::random_matrix(f->dimension(), 3, 8);
  f->set_gradients(x, v);
  for (std::size_t k = 0; k < f->parameters().size(); ++k) {
    const Matrix found = f->parameters()[k].gradient;
    const Vector values = f->parameters()[k].value.reshaped();
    const Vector expected = slope(
        [&](const Vector& at) {
          f->parameters()[k].value.reshaped() = at;
          return forward(*f, x).cwiseProduct(v).sum();
        },
        values);
    f->parameters()[k].value.reshaped() = values;
    EXPECT_LT((found.reshaped() - expected).norm(), kTolerance * (1 + expected.norm())) << "parameter " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerTest, testing::Values(0, 1, 2));

TEST(Sylvester, InvertsNearTheEdgeOfWhatIsInvertible) {
  Matrix r = Matrix::Zero(2, 2);
  r.diagonal() << -5, 5;  // slopes from exp(-5) to exp(5)
  r(0, 1) = 3;
  Matrix s = Matrix::Zero(2, 2);
  s.diagonal() << 3, -3;
  s(0, 1) = -2;
  const Sylvester f(Matrix::Identity(2, 2), r, s, Vector::Constant(2, .3));
  const Matrix x = 3 * test::random_matrix(2, 200, 1);
  Matrix y = forward(f, x);
  f.invert(y);
  // A slope of exp(-5) magnifies the rounding of y by 150.
  EXPECT_LT((y - x).cwiseAbs().maxCoeff(), 1e-10);
}

class ShapeMapTest : public testing::TestWithParam<int> {
 protected:
  ShapeMap map() const { return GetParam() == 0 ? test::random_skewed(3, 11) : test::random_flow(3, 3, 13); }
};

TEST_P(ShapeMapTest, InvertsAndHasTheDeterminantOfFiniteDifferences) {
  const ShapeMap map = this->map();
  const Matrix z = 2 * test::random_matrix(3, 20, 1);
  EXPECT_LT((map.invert(map.forward(z).theta) - z).cwiseAbs().maxCoeff(), 1e-10);
  const Matrix by_z = jacobian([&](const Matrix& at) { return map.forward(at).theta; }, z.col(0));
  EXPECT_NEAR(map.forward(z).log_det(0), std::log(by_z.determinant()), kTolerance);
}

TEST_P(ShapeMapTest, CarriesGradientsAndScores) {
  const ShapeMap map = this->map();
  const Vector z = test::random_matrix(3, 1, 2);
  const ShapePass pass = map.forward(z);
  const Vector v = test::random_matrix(3, 1, 3);
  // log h(theta) = v'theta, and log density of z = v'z.
  const Vector by_base = slope(
      [&](const Vector& at) {
        const ShapePass there = map.forward(at);
        return v.dot(there.theta.col(0)) + there.log_det(0);
      },
      z);
  EXPECT_LT((map.gradient_by_base(pass, v) - by_base).norm(), kTolerance * by_base.norm());
  const Vector by_theta = slope(
      [&](const Vector& at) {
        const Matrix back = map.invert(at);
        return v.dot(back.col(0)) - map.forward(back).log_det(0);
      },
      pass.theta.col(0));
  EXPECT_LT((map.score(pass, v) - by_theta).norm(), kTolerance * (1 + by_theta.norm()));
}

TEST_P(ShapeMapTest, GradientsOfParametersReachAllLayers) {
  ShapeMap map = this->map();
  const Matrix z = test::random_matrix(3, 4, 5);
  const Matrix v = test::random_matrix(3, 4, 6);
  (void)map.set_gradients(map.forward(z), v);
  for (ShapeStage& stage : map.stages())
    for (auto& layer : stage.layers)
      for (LayerParameter& parameter : layer->parameters()) {
        const Vector values = parameter.value.reshaped();
        const Vector expected = slope(
            [&](const Vector& at) {
              parameter.value.reshaped() = at;
              return map.forward(z).theta.cwiseProduct(v).sum();
            },
            values);
        parameter.value.reshaped() = values;
        EXPECT_LT((parameter.gradient.reshaped() - expected).norm(), kTolerance * (1 + expected.norm()));
      }
}

INSTANTIATE_TEST_SUITE_P(All, ShapeMapTest, testing::Values(0, 1));

}  // namespace
}  // namespace magva
