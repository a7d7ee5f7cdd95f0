// Responses that are not gaussian, with crossed groups or many effects: given the hyper-parameters, effects
// and coefficients are approximated by a Gaussian at their joint mode, whose precision is sparse (Laplace's
// method, as in lme4, INLA and TMB).
//
// With u = Lambda v and beta = m + S g, and A = B' F' W F B + I at the mode (block_system.hpp), the log
// likelihood is sum w log p - |v|^2 / 2 - log|A| / 2. Its derivatives by B are those of a gaussian model with
// the mean of v moved by a = A^-1 B' F' t, t_i = h_i w_i l'''_i / 2, h_i = f_i' B A^-1 B' f_i: the change of
// the determinant with the mode. With several linear predictors h_i is a matrix and l'''_i a tensor.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "mixed/block_system.hpp"
#include "mixed/group_integral.hpp"
#include "mixed/methods.hpp"
#include "mixed/row_likelihood.hpp"
#include "mixed/system_draws.hpp"

namespace magva::mixed {

namespace {

constexpr int kMostInnerSteps = 60;
/// Of the squared Newton step at the mode: for gradients, whose differences count, and for values, which take
/// the last step into account.
constexpr double kGradientTolerance = 1e-12;
constexpr double kValueTolerance = 1e-5;

class Laplace final : public MixedModel, public Model {
 public:
  explicit Laplace(Problem problem)
      : problem_(std::move(problem)),
        hyper_(problem_),
        student_(problem_),
        likelihood_(make_row_likelihood(problem_)),
        system_(problem_),
        constant_(likelihood_constant(problem_)),
        pool_(system_.cholesky()) {
    Vector centre = Vector::Zero(system_.size());
    if (problem_.coefficients() > 0)
      centre.segment(system_.coefficient(), problem_.coefficients()) = problem_.priors.location;
    base_ = system_.times(centre);
    for (Index i = 0; i < problem_.rows(); ++i) base_.row(i).array() += problem_.offset(i);
    first_mode_ = Vector::Zero(system_.size());
    Inner inner;
    MemoryPool::Lease memory(pool_);
    if (!find_mode(start(), kGradientTolerance, inner, *memory)) return;
    first_mode_ = inner.v;
    first_information_ = system_.gram(inner.weight).term;
    find_pulls(inner.scales);
  }

  const Model& model() const override { return *this; }
  MixedMethod method() const override { return MixedMethod::laplace; }
  std::string describe() const override {
    return fmt::format("{} are integrated out by Laplace's method to second order, since {}, so that {}",
                       integrated_effects(problem_), reason(), parameters_left(dimension()));
  }
  std::vector<std::string> population_names() const override {
    return mixed::population_names(problem_, hyper_);
  }
  std::vector<std::string> effect_names(std::size_t term) const override {
    return mixed::effect_names(problem_.data.terms.at(term));
  }
  std::size_t term_count() const override { return problem_.data.terms.size(); }
  double work() const override {
    const auto p = static_cast<double>(problem_.coefficients());
    const auto predictors = static_cast<double>(problem_.predictors);
    return 6 * (system_.cholesky().work() +
                static_cast<double>(problem_.rows()) * (100 * predictors * predictors + p * p));
  }
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
  const char* reason() const {
    if (!problem_.priors.horseshoes.empty()) return "coefficients have horseshoe priors";
    return problem_.data.terms.empty() ? "smooth terms have unknown sds"
                                       : "groups are crossed, nested or have many effects";
  }
  struct Inner {
    BlockSystem::Scales scales;
    Vector own;          // the family's own values
    Vector v;            // the mode
    Vector last_step;    // to it from where everything else is
    Matrix weight;       // W
    Matrix eta, slopes;  // of the rows
    double value = 0;    // sum w log p - |v|^2 / 2
    double log_determinant = 0;
  };
  BlockSystem::Scales scales_at(ConstVectorRef theta) const;
  RowsAt rows_at(const Inner& inner) const {
    return {0, problem_.rows(), inner.eta.data(), problem_.rows(), inner.own.data()};
  }
  double objective(const Vector& v, Inner& inner) const;
  /// The mode and the factor of A there; false if there is none.
  bool find_mode(ConstVectorRef theta, double tolerance, Inner& inner, SystemMemory& memory) const;
  void find_pulls(const BlockSystem::Scales& scales);
  Vector mode_guess(const BlockSystem::Scales& scales) const;
  /// G of mode_guess.
  Eigen::Map<const Matrix> information(std::size_t k, Index g, Index q) const {
    return {first_information_[k].data() + g * q * q, q, q};
  }
  double log_density_at(ConstVectorRef theta, SystemMemory& memory) const;
  /// t of the comment above.
  Matrix half_contracted(const ThirdDerivatives& thirds, const Matrix& forms) const;
  /// h_i of all rows, and how far the mean of v is from its mode, to first order (a of the comment above).
  struct MeanShift {
    Matrix forms;
    Vector shift;
  };
  MeanShift mean_shift(const Inner& inner, SystemMemory& memory) const;
  /// With the change of the determinant by the last step.
  double second_order(const Inner& inner, SystemMemory& memory) const;
  double evaluate_at(ConstVectorRef theta, VectorRef gradient, SystemMemory& memory) const;
  void add_own_gradient(ConstVectorRef theta, const Inner& inner, const MeanShift& shift,
                        VectorRef gradient) const;
  double log_prior(ConstVectorRef theta, double* gradient) const {
    return hyper_.log_prior(theta.data(), gradient) +
           student_.log_prior(theta.data() + hyper_.size(), gradient + hyper_.size());
  }

  Problem problem_;
  HyperParameters hyper_;
  StudentFactors student_;
  std::unique_ptr<const RowLikelihood> likelihood_;
  BlockSystem system_;
  double constant_;
  Matrix base_;  // linear predictors at v = 0
  // Where searches begin: the mode at the start, the information about the effects of each group there, and
  // how far the data pull them.
  Vector first_mode_, first_pull_;
  std::vector<Vector> first_information_;
  mutable MemoryPool pool_;
};

BlockSystem::Scales Laplace::scales_at(ConstVectorRef theta) const {
  BlockSystem::Scales scales;
  for (std::size_t k = 0; k < hyper_.terms(); ++k)
    scales.term.push_back(hyper_.scale(k).lambda(theta.data() + hyper_.at(k)));
  scales.coefficient = coefficient_sds(problem_, hyper_, theta.data(), theta.data() + hyper_.size());
  return scales;
}

double Laplace::objective(const Vector& v, Inner& inner) const {
  Vector b = v;
  system_.scale(inner.scales, b);
  inner.eta = base_ + system_.times(b);
  Vector values(problem_.rows());
  likelihood_->curvatures(rows_at(inner), values.data(), inner.slopes.data(), inner.weight.data());
  return values.sum() - .5 * v.squaredNorm();
}

// The effects of a group whose rows have the information G and pull by r have their mode at
// v = (I + Lambda' G Lambda)^-1 Lambda' r, roughly; r is what makes this true at the start.
void Laplace::find_pulls(const BlockSystem::Scales& scales) {
  first_pull_ = first_mode_;
  for (std::size_t k = 0; k < first_information_.size(); ++k) {
    const Matrix& lambda = scales.term[k];
    const Index q = lambda.rows();
    for (Index g = 0; g < problem_.data.terms[k].level_count(); ++g) {
      const Vector v = first_mode_.segment(system_.effect(k, g), q);
      first_pull_.segment(system_.effect(k, g), q) =
          lambda.triangularView<Eigen::Lower>().transpose().solve(v) + information(k, g, q) * (lambda * v);
    }
  }
}

Vector Laplace::mode_guess(const BlockSystem::Scales& scales) const {
  Vector v = first_mode_;
  for (std::size_t k = 0; k < first_information_.size(); ++k) {
    const Matrix& lambda = scales.term[k];
    const Index q = lambda.rows();
    if (q > kSmall) continue;
    for (Index g = 0; g < problem_.data.terms[k].level_count(); ++g) {
      const Index at = system_.effect(k, g);
      if (q == 1) {
        const double s = lambda(0, 0);
        v(at) = s * first_pull_(at) / (1 + s * s * first_information_[k](g));
        continue;
      }
      SmallMatrix precision = lambda.transpose() * information(k, g, q).lazyProduct(lambda);
      precision.diagonal().array() += 1;
      v.segment(at, q) = precision.llt().solve(lambda.transpose() * first_pull_.segment(at, q));
    }
  }
  return v;
}

bool Laplace::find_mode(ConstVectorRef theta, double tolerance, Inner& inner, SystemMemory& memory) const {
  inner.scales = scales_at(theta);
  inner.own = hyper_.own_values(theta.data());
  inner.weight.resize(problem_.rows(), pair_count(problem_.predictors));
  inner.slopes.resize(problem_.rows(), problem_.predictors);
  inner.v = mode_guess(inner.scales);
  Vector next = inner.v, step = Vector::Zero(next.size());
  inner.value = -std::numeric_limits<double>::infinity();
  for (int k = 0; k < kMostInnerSteps; ++k) {
    const double value = objective(next, inner);
    if (!(value >= inner.value - 1e-10 * std::abs(inner.value))) {  // too far: go back half the way
      step *= .5;
      next = inner.v + step;
      continue;
    }
    inner.value = value;
    inner.v = next;
    system_.assemble(system_.gram(inner.weight), inner.scales, memory.factor);
    if (!system_.cholesky().factorise(memory.factor, memory.stack)) return false;
    step = system_.transposed_times(inner.slopes);
    system_.scale_transposed(inner.scales, step);
    step -= inner.v;
    system_.cholesky().solve_lower(memory.factor, step);
    const double length = step.squaredNorm();
    system_.cholesky().solve_upper(memory.factor, step);
    inner.log_determinant = system_.cholesky().log_determinant(memory.factor);
    if (length < tolerance) {
      inner.value += .5 * length;
      inner.v += step;
      inner.last_step = std::move(step);
      return std::isfinite(inner.log_determinant);
    }
    next = inner.v + step;
  }
  return false;
}

Matrix Laplace::half_contracted(const ThirdDerivatives& thirds, const Matrix& forms) const {
  const Index predictors = problem_.predictors, points = thirds.points();
  Matrix t = Matrix::Zero(forms.rows(), predictors);
  for (Index i = 0; i < t.rows(); ++i)
    for (Index k = 0; k < points; ++k) {
      const auto d = thirds.direction.col(i * points + k);
      double form = 0;
      for (Index a = 0; a < predictors; ++a)
        for (Index b = 0; b < predictors; ++b) form += d(a) * d(b) * forms(i, pair_place(a, b));
      for (Index c = 0; c < predictors; ++c) t(i, c) += .5 * thirds.size(k, i) * form * d(c);
    }
  return t;
}

/// Sum over rows of l3_cde l3_fgh h_cf h_dg h_eh.
double own_cubes(const ThirdDerivatives& thirds, const Matrix& forms) {
  const Index predictors = thirds.direction.rows(), points = thirds.points();
  double sum = 0;
  for (Index i = 0; i < forms.rows(); ++i)
    for (Index k = 0; k < points; ++k)
      for (Index l = 0; l < points; ++l) {
        double form = 0;
        for (Index a = 0; a < predictors; ++a)
          for (Index b = 0; b < predictors; ++b)
            form += thirds.direction(a, i * points + k) * thirds.direction(b, i * points + l) *
                    forms(i, pair_place(a, b));
        sum += thirds.size(k, i) * thirds.size(l, i) * form * form * form;
      }
  return sum;
}

// The next terms of the expansion of the integral (Shun & McCullagh 1995): with third and fourth derivatives
// l3, l4 of the rows' log densities and h_ij = f_i' B A^-1 B' f_j,
//   sum l4_i h_ii^2 / 8 + sum l3_i l3_j h_ii h_ij h_jj / 8 + sum l3_i l3_j h_ij^3 / 12.
// Of the last sum only rows that share a group count, with h_ij as if all other effects were known.
double Laplace::second_order(const Inner& inner, SystemMemory& memory) const {
  system_.cholesky().invert(memory.factor, memory.inverse, memory.stack);
  const Matrix forms = system_.row_forms(inner.scales, memory.inverse);
  const ThirdDerivatives thirds = likelihood_->thirds(rows_at(inner));
  const double cubes = own_cubes(thirds, forms) + system_.shared_cubes(inner.scales, inner.weight, thirds);
  Vector a = system_.transposed_times(half_contracted(thirds, forms));
  system_.scale_transposed(inner.scales, a);
  const double by_last_step = a.dot(inner.last_step);
  system_.cholesky().solve_lower(memory.factor, a);
  return by_last_step + likelihood_->contracted_fourths(rows_at(inner), forms) / 8 + .5 * a.squaredNorm() +
         cubes / 12;
}

double Laplace::log_density_at(ConstVectorRef theta, SystemMemory& memory) const {
  Inner inner;
  if (!theta.allFinite() || !find_mode(theta, kValueTolerance, inner, memory))
    return std::numeric_limits<double>::quiet_NaN();
  Vector unused(theta.size());
  return constant_ + log_prior(theta, unused.data()) + inner.value - .5 * inner.log_determinant +
         second_order(inner, memory);
}

Laplace::MeanShift Laplace::mean_shift(const Inner& inner, SystemMemory& memory) const {
  system_.cholesky().invert(memory.factor, memory.inverse, memory.stack);
  Matrix forms = system_.row_forms(inner.scales, memory.inverse);
  Matrix t = half_contracted(likelihood_->thirds(rows_at(inner)), forms);
  // Where a density is not concave the weight stays at zero.
  for (Index i = 0; i < t.rows(); ++i)
    if (inner.weight.row(i).isZero(0)) t.row(i).setZero();
  Vector a = system_.transposed_times(t);
  system_.scale_transposed(inner.scales, a);
  system_.cholesky().solve_lower(memory.factor, a);
  system_.cholesky().solve_upper(memory.factor, a);
  return {std::move(forms), std::move(a)};
}

void Laplace::add_own_gradient(ConstVectorRef theta, const Inner& inner, const MeanShift& shift,
                               VectorRef gradient) const {
  if (hyper_.own_count() == 0) return;
  Vector b = shift.shift;
  system_.scale(inner.scales, b);
  const Vector moved = system_.times(b);
  std::vector<PointDerivatives> rows(static_cast<std::size_t>(moved.size()));
  problem_.family->derivatives(problem_.response(), inner.eta.data(), inner.own.data(), rows.data());
  Vector by_own = Vector::Zero(hyper_.own_count());
  for (Index i = 0; i < moved.size(); ++i) {
    const PointDerivatives& row = rows[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < kMostOwnParameters; ++k) {
      const Index at = problem_.family->own_of_row(problem_.data.response(i), static_cast<Index>(k));
      if (at < 0) continue;
      const double shape = row.by_eta2 < 0 ? .5 * shift.forms(i) * row.by_eta2_own[k] : 0.0;
      by_own(at) += problem_.weight(i) * (row.by_own[k] + shape + moved(i) * row.by_eta_own[k]);
    }
  }
  hyper_.add_own_gradient(theta.data(), by_own, gradient.data());
}

double Laplace::evaluate_at(ConstVectorRef theta, VectorRef gradient, SystemMemory& memory) const {
  Inner inner;
  if (!theta.allFinite() || !find_mode(theta, kGradientTolerance, inner, memory))
    return std::numeric_limits<double>::quiet_NaN();
  gradient.setZero();
  const double value =
      constant_ + log_prior(theta, gradient.data()) + inner.value - .5 * inner.log_determinant;
  const MeanShift shift = mean_shift(inner, memory);
  const Vector& a = shift.shift;
  for (std::size_t k = 0; k < hyper_.terms(); ++k) {
    Matrix moments = system_.second_moments(k, inner.v, memory.inverse);
    const Index q = moments.rows();
    for (Index g = 0; g < problem_.data.terms[k].level_count(); ++g) {
      const auto av = a.segment(system_.effect(k, g), q);
      const auto vv = inner.v.segment(system_.effect(k, g), q);
      moments += av * vv.transpose() + vv * av.transpose();
    }
    hyper_.scale(k).add_gradient(theta.data() + hyper_.at(k), moments, gradient.data() + hyper_.at(k));
  }
  add_own_gradient(theta, inner, shift, gradient);
  if (student_.size() + hyper_.sds().size() == 0) return value;
  const auto v = inner.v.segment(system_.coefficient(), problem_.coefficients()).array();
  const auto moved = a.segment(system_.coefficient(), problem_.coefficients()).array();
  const Vector by_log_sd = v * (v + 2 * moved) + system_.coefficient_variances(memory.inverse).array() - 1;
  hyper_.sds().add_gradient(theta.data() + hyper_.sds_at(), by_log_sd, gradient.data() + hyper_.sds_at());
  student_.add_gradient(by_log_sd, gradient.data() + hyper_.size());
  return value;
}

MixedDraws Laplace::draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const {
  const auto given_theta = [&](ConstVectorRef at, SystemMemory& memory, ConditionalEffects& out) {
    Inner inner;
    if (!find_mode(at, kValueTolerance, inner, memory)) return false;
    inner.v += mean_shift(inner, memory).shift;
    out = {std::move(inner.scales), std::move(inner.v), 1};
    return true;
  };
  return draw_effects({problem_, hyper_, system_, problem_.priors.location, pool_}, theta, seed, workers,
                      given_theta);
}

}  // namespace

std::unique_ptr<const MixedModel> make_laplace(Problem problem) {
  return std::make_unique<const Laplace>(std::move(problem));
}

}  // namespace magva::mixed
