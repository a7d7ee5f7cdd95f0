// Responses that are not gaussian, with independent groups: the effects are integrated out numerically; the
// coefficients, the family's own parameters and the terms' covariances are left.
#include <fmt/format.h>

#include <cmath>

#include "mixed/group_integral.hpp"
#include "mixed/methods.hpp"

namespace magva::mixed {

namespace {

class Quadrature final : public MixedModel, public Model {
 public:
  explicit Quadrature(std::unique_ptr<const GroupIntegral> integral)
      : integral_(std::move(integral)),
        problem_(integral_->problem()),
        hyper_(problem_),
        chunks_(make_chunks(integral_->ends())),
        constant_(likelihood_constant(problem_)),
        units_(Vector::Ones(dimension())) {
    units_.head(coefficients()) = coefficient_units(problem_);
  }

  const Model& model() const override { return *this; }
  MixedMethod method() const override { return MixedMethod::quadrature; }
  std::string describe() const override {
    return fmt::format("{}, so that {}", integral_->describe(), parameters_left(dimension()));
  }
  std::vector<std::string> population_names() const override {
    return mixed::population_names(problem_, hyper_);
  }
  std::vector<std::string> effect_names(std::size_t term) const override {
    return mixed::effect_names(problem_.data.terms.at(term));
  }
  std::size_t term_count() const override { return problem_.data.terms.size(); }
  double work() const override {
    constexpr double kPerDensity = 20;  // of a logarithm, an exponential and what goes with them
    return static_cast<double>(problem_.rows()) * (kPerDensity * integral_->evaluations_per_row() +
                                                   4 * static_cast<double>(problem_.coefficients()));
  }
  Vector units() const override { return units_; }
  Vector log_densities(ConstMatrixRef theta, Workers& workers) const override;
  MixedDraws draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const override;
  Matrix draw_population(ConstMatrixRef theta, std::uint64_t /*seed*/, Workers& /*workers*/) const override {
    Matrix out(coefficients() + hyper_.quantity_count(), theta.cols());
    out.topRows(coefficients()) = theta.topRows(coefficients());
    for (Index s = 0; s < theta.cols(); ++s)
      hyper_.quantities(theta.col(s).data() + coefficients(), out.col(s).data() + coefficients());
    return out;
  }

  Index dimension() const override { return coefficients() + hyper_.size(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  Vector start() const override {
    Vector start(dimension());
    start << coefficient_start(problem_), hyper_.start(problem_);
    return start;
  }
  std::string parameter_name(Index i) const override {
    if (i < coefficients()) return coefficient_name(problem_, i);
    return hyper_.coordinate_names()[static_cast<std::size_t>(i - coefficients())];
  }

 private:
  Index coefficients() const { return problem_.coefficients(); }
  HyperValues hyper_values(const double* theta) const {
    const double* at = theta + coefficients();
    HyperValues values{hyper_.own_values(at), {}};
    for (std::size_t k = 0; k < hyper_.terms(); ++k)
      values.lambda.push_back(hyper_.scale(k).lambda(at + hyper_.at(k)));
    return values;
  }
  /// The chunk's part of the log likelihood; its gradient goes to a column.
  double evaluate_chunk(const GroupChunk& chunk, const double* theta, VectorRef gradient) const;

  std::unique_ptr<const GroupIntegral> integral_;
  const Problem& problem_;
  HyperParameters hyper_;
  std::vector<GroupChunk> chunks_;
  double constant_;
  Vector units_;
};

double Quadrature::evaluate_chunk(const GroupChunk& chunk, const double* theta, VectorRef gradient) const {
  const HyperValues at = hyper_values(theta);
  IntegralSums sums{Vector::Zero(hyper_.own_count()), {}};
  for (const Matrix& lambda : at.lambda) sums.moments.push_back(Matrix::Zero(lambda.rows(), lambda.cols()));
  Vector eta(chunk.rows * problem_.predictors), slopes(eta.size());
  linear_predictor(problem_, chunk, theta, eta.data());
  const double value = integral_->integrate(chunk, at, eta.data(), slopes.data(), sums);
  gradient.setZero();
  add_coefficient_gradient(problem_, chunk, slopes.data(), gradient.data());
  const double* hyper_theta = theta + coefficients();
  double* hyper_gradient = gradient.data() + coefficients();
  hyper_.add_own_gradient(hyper_theta, sums.by_own, hyper_gradient);
  for (std::size_t k = 0; k < hyper_.terms(); ++k)
    hyper_.scale(k).add_gradient(hyper_theta + hyper_.at(k), sums.moments[k], hyper_gradient + hyper_.at(k));
  return value;
}

void Quadrature::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                          Evaluation& evaluation) const {
  const auto chunks = static_cast<Index>(chunks_.size());
  Matrix partial(dimension(), chunks * theta.cols());
  Vector value(chunks * theta.cols());
  evaluation.workers.run(chunks * theta.cols(), [&](Index task) {
    const Index s = task / chunks;
    value(task) = evaluate_chunk(chunks_[static_cast<std::size_t>(task % chunks)], theta.col(s).data(),
                                 partial.col(task));
  });
  for (Index s = 0; s < theta.cols(); ++s) {
    gradient.col(s).setZero();
    log_density(s) =
        constant_ + coefficient_log_prior(problem_, hyper_, theta.col(s).data(), gradient.col(s).data()) +
        hyper_.log_prior(theta.col(s).data() + coefficients(), gradient.col(s).data() + coefficients());
    for (Index c = 0; c < chunks; ++c) {
      log_density(s) += value(s * chunks + c);
      gradient.col(s) += partial.col(s * chunks + c);
    }
  }
}

Vector Quadrature::log_densities(ConstMatrixRef theta, Workers& workers) const {
  const auto chunks = static_cast<Index>(chunks_.size());
  Matrix value(chunks, theta.cols());
  workers.run(chunks * theta.cols(), [&](Index task) {
    const Index s = task / chunks, c = task % chunks;
    const GroupChunk& chunk = chunks_[static_cast<std::size_t>(c)];
    Vector eta(chunk.rows * problem_.predictors);
    linear_predictor(problem_, chunk, theta.col(s).data(), eta.data());
    value(c, s) = integral_->log_integral(chunk, hyper_values(theta.col(s).data()), eta.data());
  });
  Vector out(theta.cols()), unused(dimension());
  for (Index s = 0; s < theta.cols(); ++s) {
    const double* at = theta.col(s).data();
    out(s) = constant_ + coefficient_log_prior(problem_, hyper_, at, unused.data()) +
             hyper_.log_prior(at + coefficients(), unused.data() + coefficients());
    for (Index c = 0; c < chunks; ++c) out(s) += value(c, s);
  }
  return out;
}

MixedDraws Quadrature::draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const {
  MixedDraws out{draw_population(theta, seed, workers), {}};
  for (const GroupTerm& term : problem_.data.terms)
    out.effects.emplace_back(term.level_count() * term.effect_count(), theta.cols());
  const auto chunks = static_cast<Index>(chunks_.size());
  const std::vector<Range> runs = equal_columns(theta);
  workers.run(chunks * static_cast<Index>(runs.size()), [&](Index task) {
    const Range run = runs[static_cast<std::size_t>(task / chunks)];
    const GroupChunk& chunk = chunks_[static_cast<std::size_t>(task % chunks)];
    std::vector<EffectColumns> columns(static_cast<std::size_t>(run.size()));
    for (Index s = run.begin; s < run.end; ++s)
      for (Matrix& effects : out.effects)
        columns[static_cast<std::size_t>(s - run.begin)].push_back(effects.col(s).data());
    Vector eta(chunk.rows * problem_.predictors);
    linear_predictor(problem_, chunk, theta.col(run.begin).data(), eta.data());
    integral_->draw(chunk, hyper_values(theta.col(run.begin).data()), eta.data(), seed,
                    static_cast<std::uint32_t>(run.begin), columns);
  });
  return out;
}

}  // namespace

std::unique_ptr<const MixedModel> make_quadrature(std::unique_ptr<const GroupIntegral> integral) {
  return std::make_unique<const Quadrature>(std::move(integral));
}

}  // namespace magva::mixed
