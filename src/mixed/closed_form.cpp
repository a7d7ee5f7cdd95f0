// Gaussian responses: y = X beta + Z u + noise, beta and u normal given the parameters that are left, log
// sigma, the coordinates of the terms' covariances and, for Student-t priors, the logarithm of the factor
// lambda by which each such coefficient's prior variance is multiplied, lambda ~ inverse gamma(nu / 2, nu /
// 2).
//
// With u = Lambda v and beta = beta0 + S g, all of v and g have prior variance 1 and, given y, precision
// A = B' F' W F B + I, F = [Z X], B = blockdiag(Lambda, S) / sigma: Bates, Maechler, Bolker & Walker (2015),
// where sds of zero are no difficulty. The derivatives are expectations given y (Fisher's identity).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "magva/error.hpp"
#include "mixed/block_system.hpp"
#include "mixed/methods.hpp"
#include "mixed/system_draws.hpp"

namespace magva::mixed {

namespace {

/// Effects and coefficients given theta and y: mean and Cholesky factor, all in units of the prior's sds.
struct Conditional {
  BlockSystem::Scales scales;  // B
  Vector prior_mean;
  Vector mean;
  double sigma = 1;
  double log_determinant = 0;  // of A
  double distance = 0;         // |y - F B v|^2 / sigma^2 + |v - prior mean|^2 at the mean
};

class ClosedForm final : public MixedModel, public Model {
 public:
  explicit ClosedForm(Problem problem)
      : problem_(std::move(problem)),
        hyper_(problem_),
        student_(problem_),
        system_(problem_),
        pool_(system_.cholesky()) {
    summarise_rows();
  }

  const Model& model() const override { return *this; }
  MixedMethod method() const override { return MixedMethod::closed_form; }
  std::string describe() const override {
    return fmt::format("{} are integrated out in closed form: the response is gaussian, so that {}",
                       integrated_effects(problem_), parameters_left(dimension()));
  }
  std::vector<std::string> population_names() const override {
    return mixed::population_names(problem_, hyper_);
  }
  std::vector<std::string> effect_names(std::size_t term) const override {
    return mixed::effect_names(problem_.data.terms.at(term));
  }
  std::size_t term_count() const override { return problem_.data.terms.size(); }
  double work() const override { return 3 * system_.cholesky().work(); }
  Vector units() const override { return Vector::Ones(dimension()); }
  Vector log_densities(ConstMatrixRef theta, Workers& workers) const override {
    Vector out(theta.cols());
    workers.run(theta.cols(), [&](Index s) {
      MemoryPool::Lease memory(pool_);
      out(s) = log_density_at(theta.col(s), *memory);
    });
    return out;
  }
  MixedDraws draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const override;
  Matrix draw_population(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const override {
    return draw(theta, seed, workers).population;
  }

  Index dimension() const override { return hyper_.size() + student_.size(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    evaluation.workers.run(theta.cols(), [&](Index s) {
      MemoryPool::Lease memory(pool_);
      log_density(s) = evaluate_at(theta.col(s), gradient.col(s), *memory);
    });
  }
  Vector start() const override {
    Vector start = Vector::Zero(dimension());
    start.head(hyper_.size()) = hyper_.start(problem_);
    return start;
  }
  std::string parameter_name(Index i) const override {
    if (i < hyper_.size()) return hyper_.coordinate_names()[static_cast<std::size_t>(i)];
    return fmt::format("log_lambda({})", coefficient_name(problem_, student_.coefficient(i - hyper_.size())));
  }

 private:
  void summarise_rows();
  bool condition(ConstVectorRef theta, Conditional& out, SystemMemory& memory) const;
  /// The log likelihood but for the priors of theta.
  double log_likelihood(ConstVectorRef theta, const Conditional& given) const;
  double log_density_at(ConstVectorRef theta, SystemMemory& memory) const;
  double evaluate_at(ConstVectorRef theta, VectorRef gradient, SystemMemory& memory) const;
  double log_prior(ConstVectorRef theta, double* gradient) const {
    return hyper_.log_prior(theta.data(), gradient) +
           student_.log_prior(theta.data() + hyper_.size(), gradient + hyper_.size());
  }

  Problem problem_;
  HyperParameters hyper_;
  StudentFactors student_;
  BlockSystem system_;
  BlockSystem::Gram gram_;
  Vector centre_;       // beta0, subtracted so that sums of squares keep their digits
  Vector moments_;      // F' W (y - offset - X beta0)
  double squares_ = 0;  // of the same, weighted
  double total_weight_ = 0;
  mutable MemoryPool pool_;
};

void ClosedForm::summarise_rows() {
  const Index n = problem_.rows(), p = problem_.coefficients();
  Vector weights(n), target(n);
  for (Index i = 0; i < n; ++i) {
    weights(i) = problem_.weight(i);
    target(i) = problem_.data.response(i) - problem_.offset(i);
  }
  total_weight_ = weights.sum();
  gram_ = system_.gram(weights);
  centre_ = Vector::Zero(p);
  if (p > 0) {
    const Vector xty =
        system_.transposed_times(weights.cwiseProduct(target)).segment(system_.coefficient(), p);
    const Vector precision = problem_.priors.scale.array().square().inverse() * 1e-6;
    centre_ = (gram_.x + Matrix(precision.asDiagonal())).ldlt().solve(xty);
    // An unknown prior sd may come near to zero: then only 0 itself is near its prior.
    for (Index j = 0; j < p; ++j)
      if (problem_.unknown_sd(j) || !centre_.allFinite()) centre_(j) = 0;
    Vector shift = Vector::Zero(system_.size());
    shift.segment(system_.coefficient(), p) = centre_;
    target -= system_.times(shift);
  }
  squares_ = weights.dot(target.cwiseAbs2());
  moments_ = system_.transposed_times(weights.cwiseProduct(target));
}

bool ClosedForm::condition(ConstVectorRef theta, Conditional& out, SystemMemory& memory) const {
  const Index p = problem_.coefficients();
  out.sigma = std::exp(theta(0));
  for (std::size_t k = 0; k < hyper_.terms(); ++k)
    out.scales.term.push_back(hyper_.scale(k).lambda(theta.data() + hyper_.at(k)) / out.sigma);
  const Vector sd = coefficient_sds(problem_, hyper_, theta.data(), theta.data() + hyper_.size());
  out.scales.coefficient = sd / out.sigma;
  out.prior_mean = Vector::Zero(system_.size());
  if (p > 0)
    out.prior_mean.segment(system_.coefficient(), p) = (problem_.priors.location - centre_).cwiseQuotient(sd);

  system_.assemble(gram_, out.scales, memory.factor);
  if (!system_.cholesky().factorise(memory.factor, memory.stack)) return false;
  out.log_determinant = system_.cholesky().log_determinant(memory.factor);
  Vector right = moments_ / out.sigma;
  system_.scale_transposed(out.scales, right);
  right += out.prior_mean;
  out.mean = right;
  system_.cholesky().solve_lower(memory.factor, out.mean);
  out.distance = squares_ / (out.sigma * out.sigma) + out.prior_mean.squaredNorm() - out.mean.squaredNorm();
  system_.cholesky().solve_upper(memory.factor, out.mean);
  return std::isfinite(out.distance) && std::isfinite(out.log_determinant);
}

double ClosedForm::log_likelihood(ConstVectorRef theta, const Conditional& given) const {
  return -.5 * (total_weight_ * (std::log(2 * std::numbers::pi) + 2 * theta(0)) + given.log_determinant +
                given.distance);
}

double ClosedForm::log_density_at(ConstVectorRef theta, SystemMemory& memory) const {
  Conditional given;
  if (!theta.allFinite() || !condition(theta, given, memory)) return std::numeric_limits<double>::quiet_NaN();
  Vector unused(theta.size());
  return log_prior(theta, unused.data()) + log_likelihood(theta, given);
}

double ClosedForm::evaluate_at(ConstVectorRef theta, VectorRef gradient, SystemMemory& memory) const {
  Conditional given;
  if (!theta.allFinite() || !condition(theta, given, memory)) return std::numeric_limits<double>::quiet_NaN();
  system_.cholesky().invert(memory.factor, memory.inverse, memory.stack);
  gradient.setZero();
  const double value = log_prior(theta, gradient.data()) + log_likelihood(theta, given);
  const Vector from_prior = given.mean - given.prior_mean;
  const double residual = given.distance - from_prior.squaredNorm();
  gradient(0) +=
      residual - total_weight_ + static_cast<double>(system_.size()) - system_.trace(memory.inverse);
  for (std::size_t k = 0; k < hyper_.terms(); ++k)
    hyper_.scale(k).add_gradient(theta.data() + hyper_.at(k),
                                 system_.second_moments(k, given.mean, memory.inverse),
                                 gradient.data() + hyper_.at(k));
  if (student_.size() + hyper_.sds().size() == 0) return value;
  const Vector by_log_sd =
      from_prior.segment(system_.coefficient(), problem_.coefficients()).array().square() +
      system_.coefficient_variances(memory.inverse).array() - 1;
  hyper_.sds().add_gradient(theta.data() + hyper_.sds_at(), by_log_sd, gradient.data() + hyper_.sds_at());
  student_.add_gradient(by_log_sd, gradient.data() + hyper_.size());
  return value;
}

MixedDraws ClosedForm::draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const {
  const auto given_theta = [&](ConstVectorRef at, SystemMemory& memory, ConditionalEffects& out) {
    Conditional given;
    if (!condition(at, given, memory)) return false;
    out = {std::move(given.scales), std::move(given.mean), given.sigma};
    return true;
  };
  return draw_effects({problem_, hyper_, system_, centre_, pool_}, theta, seed, workers, given_theta);
}

}  // namespace

std::unique_ptr<const MixedModel> make_closed_form(Problem problem) {
  return std::make_unique<const ClosedForm>(std::move(problem));
}

}  // namespace magva::mixed
