#include "models.hpp"

#include <cmath>

namespace magva::bench {

void plain_logistic(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                    Matrix& gradient, Matrix& eta) {
  const double q = static_cast<double>(x.cols());
  eta.noalias() = x * theta;
  log_density =
      (eta.array().colwise() * y.array() - (eta.array().max(0.0) + (-eta.array().abs()).exp().log1p()))
          .colwise()
          .sum()
          .transpose();
  eta = (-(1.0 + (-eta.array()).exp()).inverse()).colwise() + y.array();
  gradient.noalias() = x.transpose() * eta;
  gradient -= theta / 10.0;
  log_density.array() -=
      0.5 * q * std::log(20.0 * M_PI) + theta.colwise().squaredNorm().transpose().array() / 20.0;
}

void plain_horseshoe(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                     Matrix& gradient, Matrix& eta) {
  const Index q = x.cols() - 1;
  eta.noalias() = x * theta.topRows(q + 1);
  log_density =
      (eta.array().colwise() * y.array() - (eta.array().max(0.0) + (-eta.array().abs()).exp().log1p()))
          .colwise()
          .sum()
          .transpose();
  eta = (-(1.0 + (-eta.array()).exp()).inverse()).colwise() + y.array();
  gradient.topRows(q + 1).noalias() = x.transpose() * eta;
  for (Index s = 0; s < theta.cols(); ++s) {
    const double t = theta(2 * q + 1, s);
    const auto beta = theta.col(s).segment(1, q).array();
    const auto l = theta.col(s).segment(q + 1, q).array();
    const Eigen::ArrayXd k = (-2.0 * (l + t)).exp();
    const Eigen::ArrayXd square = beta.square() * k;
    gradient(0, s) -= theta(0, s) / 10.0;
    gradient.col(s).segment(1, q).array() -= beta * k;
    gradient.col(s).segment(q + 1, q) = square - 1.0 - l.tanh();
    gradient(2 * q + 1, s) = (square - 1.0).sum() - std::tanh(t);
    log_density(s) += (-0.5 * std::log(2.0 * M_PI) - l - t - 0.5 * square).sum() +
                      (std::log(2.0 / M_PI) + l - (1.0 + (2.0 * l).exp()).log()).sum() +
                      std::log(2.0 / M_PI) + t - std::log1p(std::exp(2.0 * t)) - 0.5 * std::log(20.0 * M_PI) -
                      theta(0, s) * theta(0, s) / 20.0;
  }
}

}  // namespace magva::bench
