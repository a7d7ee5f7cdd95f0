// Responses that are not gaussian, with crossed groups or many effects: given the hyper-parameters, effects
// and coefficients are approximated by a Gaussian at their joint mode, whose precision is sparse (Laplace's
// method, as in lme4, INLA and TMB).
//
// With u = Lambda v and beta = m + S g, and A = B' F' W F B + I at the mode (block_system.hpp), the log
// likelihood is sum w log p - |v|^2 / 2 - log|A| / 2. Its derivatives by B are those of a gaussian model with
// the mean of v moved by a = A^-1 B' F' t, t_i = h_i w_i l'''_i / 2, h_i = f_i' B A^-1 B' f_i: the change of
// the determinant with the mode.
#include <fmt/format.h>

#include <cmath>

#include "mixed/block_system.hpp"
#include "mixed/methods.hpp"
#include "mixed/system_draws.hpp"

namespace magva::mixed {

namespace {

constexpr int kMostInnerSteps = 60;
/// Of the squared Newton step at the mode: for gradients, whose differences count, and for values.
constexpr double kGradientTolerance = 1e-12;
constexpr double kValueTolerance = 1e-8;

class Laplace final : public MixedModel, private Model {
 public:
  explicit Laplace(Problem problem)
      : problem_(std::move(problem)),
        hyper_(problem_),
        student_(problem_),
        system_(problem_),
        constant_(likelihood_constant(problem_)),
        pool_(system_.cholesky()) {
    Vector centre = Vector::Zero(system_.size());
    if (problem_.coefficients() > 0)
      centre.segment(system_.coefficient(), problem_.coefficients()) = problem_.priors.location;
    base_ = system_.times(centre);
    for (Index i = 0; i < problem_.rows(); ++i) base_(i) += problem_.offset(i);
    first_mode_ = Vector::Zero(system_.size());
    Inner inner;
    MemoryPool::Lease memory(pool_);
    if (!find_mode(start(), kGradientTolerance, inner, *memory)) return;
    first_mode_ = inner.v;
    first_scales_ = inner.scales;
    first_information_ = system_.gram(inner.weight).term;
  }

  const Model& model() const override { return *this; }
  MixedMethod method() const override { return MixedMethod::laplace; }
  std::string describe() const override {
    return fmt::format(
        "group effects and coefficients are integrated out by Laplace's method to second order, since {}, so "
        "that {} parameters are left",
        problem_.priors.horseshoes.empty() ? "groups are crossed, nested with slopes or have many effects"
                                           : "coefficients have horseshoe priors",
        dimension());
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
    return 6 * (system_.cholesky().work() + static_cast<double>(problem_.rows()) * (100 + p * p));
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
  struct Inner {
    BlockSystem::Scales scales;
    Vector own;                          // the family's own values
    Vector v;                            // the mode
    Vector weight;                       // W
    Vector eta, slopes, curvatures;      // of the rows
    std::vector<PointDerivatives> rows;  // at the mode
    double value = 0;                    // sum w log p - |v|^2 / 2
    double log_determinant = 0;
  };
  BlockSystem::Scales scales_at(ConstVectorRef theta) const;
  double objective(const Vector& v, Inner& inner) const;
  /// The mode and the factor of A there; false if there is none.
  bool find_mode(ConstVectorRef theta, double tolerance, Inner& inner, SystemMemory& memory) const;
  Vector mode_guess(const BlockSystem::Scales& scales) const;
  double log_density_at(ConstVectorRef theta, SystemMemory& memory) const;
  /// h_i of all rows, and how far the mean of v is from its mode, to first order (a of the comment above).
  struct MeanShift {
    Vector forms;
    Vector shift;
  };
  MeanShift mean_shift(const Inner& inner, SystemMemory& memory) const;
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
  BlockSystem system_;
  double constant_;
  Vector base_;        // linear predictor at v = 0
  Vector first_mode_;  // where searches begin, the scales there, and the information about each effect
  BlockSystem::Scales first_scales_;
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
  problem_.family->curvatures(problem_.response(), inner.eta.data(), inner.own.data(), values.data(),
                              inner.slopes.data(), inner.curvatures.data());
  double sum = -.5 * v.squaredNorm();
  for (Index i = 0; i < values.size(); ++i) sum += problem_.weight(i) * values(i);
  return sum;
}

// A single effect with the information w of its group's rows has its mode at v proportional to s / (1 + s^2
// w), roughly.
Vector Laplace::mode_guess(const BlockSystem::Scales& scales) const {
  Vector v = first_mode_;
  for (std::size_t k = 0; k < first_information_.size(); ++k) {
    if (scales.term[k].rows() > 1) continue;
    const double s = scales.term[k](0, 0), before = first_scales_.term[k](0, 0);
    for (Index g = 0; g < first_information_[k].size(); ++g) {
      const double w = first_information_[k](g);
      v(system_.effect(k, g)) *= s / before * (1 + before * before * w) / (1 + s * s * w);
    }
  }
  return v;
}

bool Laplace::find_mode(ConstVectorRef theta, double tolerance, Inner& inner, SystemMemory& memory) const {
  inner.scales = scales_at(theta);
  inner.own = hyper_.own_values(theta.data());
  for (Vector* values : {&inner.weight, &inner.slopes, &inner.curvatures}) values->resize(problem_.rows());
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
    for (Index i = 0; i < problem_.rows(); ++i) {
      inner.slopes(i) *= problem_.weight(i);
      inner.weight(i) = problem_.weight(i) * std::max(0.0, -inner.curvatures(i));
    }
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
      inner.rows.resize(static_cast<std::size_t>(problem_.rows()));
      problem_.family->derivatives(problem_.response(), inner.eta.data(), inner.own.data(),
                                   inner.rows.data());
      return std::isfinite(inner.log_determinant);
    }
    next = inner.v + step;
  }
  return false;
}

// The next terms of the expansion of the integral (Shun & McCullagh 1995): with third and fourth derivatives
// l3, l4 of the rows' log densities and h_ij = f_i' B A^-1 B' f_j,
//   sum l4_i h_ii^2 / 8 + sum l3_i l3_j h_ii h_ij h_jj / 8 + sum l3_i l3_j h_ij^3 / 12.
// Of the last sum only rows that share a group count, with h_ij as if all other effects were known.
double Laplace::second_order(const Inner& inner, SystemMemory& memory) const {
  system_.cholesky().invert(memory.factor, memory.inverse, memory.stack);
  const Vector forms = system_.row_forms(inner.scales, memory.inverse);
  const Index n = forms.size();
  constexpr double kStep = 1e-3;
  std::vector<PointDerivatives> above(static_cast<std::size_t>(n)), below(above);
  problem_.family->derivatives(problem_.response(), Vector(inner.eta.array() + kStep).data(),
                               inner.own.data(), above.data());
  problem_.family->derivatives(problem_.response(), Vector(inner.eta.array() - kStep).data(),
                               inner.own.data(), below.data());
  Vector third(n), t(n);
  double fourth = 0, cubes = 0;
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    third(i) = problem_.weight(i) * inner.rows[row].by_eta3;
    t(i) = .5 * forms(i) * third(i);
    fourth +=
        problem_.weight(i) * (above[row].by_eta3 - below[row].by_eta3) / (2 * kStep) * forms(i) * forms(i);
    cubes += third(i) * third(i) * forms(i) * forms(i) * forms(i);
  }
  cubes += system_.shared_cubes(inner.scales, inner.weight, third);
  Vector a = system_.transposed_times(t);
  system_.scale_transposed(inner.scales, a);
  system_.cholesky().solve_lower(memory.factor, a);
  return fourth / 8 + .5 * a.squaredNorm() + cubes / 12;
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
  const Vector forms = system_.row_forms(inner.scales, memory.inverse);
  Vector t(forms.size());
  for (Index i = 0; i < t.size(); ++i) {
    const PointDerivatives& row = inner.rows[static_cast<std::size_t>(i)];
    t(i) = row.by_eta2 < 0 ? .5 * forms(i) * problem_.weight(i) * row.by_eta3 : 0.0;
  }
  Vector a = system_.transposed_times(t);
  system_.scale_transposed(inner.scales, a);
  system_.cholesky().solve_lower(memory.factor, a);
  system_.cholesky().solve_upper(memory.factor, a);
  return {forms, std::move(a)};
}

void Laplace::add_own_gradient(ConstVectorRef theta, const Inner& inner, const MeanShift& shift,
                               VectorRef gradient) const {
  if (hyper_.own_count() == 0) return;
  Vector b = shift.shift;
  system_.scale(inner.scales, b);
  const Vector moved = system_.times(b);
  Vector by_own = Vector::Zero(hyper_.own_count());
  for (Index i = 0; i < moved.size(); ++i) {
    const PointDerivatives& row = inner.rows[static_cast<std::size_t>(i)];
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
