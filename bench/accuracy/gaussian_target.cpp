#include <Eigen/Cholesky>

#include "magva/error.hpp"
#include "target.hpp"

namespace magva::bench {

namespace {

class GaussianModel final : public Model {
 public:
  explicit GaussianModel(Gaussian posterior)
      : posterior_(std::move(posterior)),
        scaled_(posterior_.residual_sd().cwiseAbs2().cwiseInverse().asDiagonal() * posterior_.factors()),
        constant_(posterior_.log_density(posterior_.mean())(0)) {
    Matrix capacitance = posterior_.factors().transpose() * scaled_;
    capacitance.diagonal().array() += 1;
    solved_ = Eigen::LLT<Matrix>(capacitance).solve(scaled_.transpose()).transpose();
  }
  Index dimension() const override { return posterior_.dimension(); }
  // Woodbury's identity, prepared: D^-2 - D^-2 W (I + W' D^-2 W)^-1 W' D^-2.
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override {
    const Matrix apart = theta.colwise() - posterior_.mean();
    gradient = -(posterior_.residual_sd().cwiseAbs2().cwiseInverse().asDiagonal() * apart);
    gradient.noalias() += scaled_ * (solved_.transpose() * apart);
    log_density = .5 * apart.cwiseProduct(gradient).colwise().sum().transpose().array() + constant_;
  }
  const Gaussian& posterior() const { return posterior_; }

 private:
  Gaussian posterior_;
  Matrix scaled_, solved_;
  double constant_;
};

class GaussianTarget final : public Target {
 public:
  explicit GaussianTarget(Gaussian posterior) : model_(std::move(posterior)) {}
  const Model& model() const override { return model_; }
  double elbo(const Gaussian& q) const override { return -kl_divergence(q, model_.posterior()); }

  double best(Index rank, const std::vector<Gaussian>&) const override {
    const Gaussian& p = model_.posterior();
    if (rank >= p.rank()) return 0;
    if (rank > 0) throw UsageError("the best Gaussian of that rank is not known");
    // The best mean-field Gaussian has the conditional sds.
    return elbo(Gaussian::low_rank(p.mean(), Matrix(p.dimension(), 0),
                                   p.precision_diagonal().cwiseSqrt().cwiseInverse()));
  }

 private:
  GaussianModel model_;
};

}  // namespace

std::unique_ptr<Target> gaussian_target(Gaussian posterior) {
  return std::make_unique<GaussianTarget>(std::move(posterior));
}

}  // namespace magva::bench
