#include "scale/likelihood_model.hpp"

#include <optional>

#include "magva/minibatch.hpp"
#include "models/likelihood.hpp"
#include "models/prior.hpp"
#include "scale/device_rows.hpp"

namespace magva::detail {

namespace {

class NoExpectedPrior final : public ExpectedPrior {
 public:
  bool log_concave() const override { return true; }
  double expect(const GaussianView&, VectorRef, SymmetricEntries&) const override { return 0; }
};

/// Coefficients that are coordinates, with the density 1.
class NoPrior final : public CoefficientPrior {
 public:
  explicit NoPrior(Index coefficients) : coefficients_(coefficients) {}
  Index coefficients() const override { return coefficients_; }
  Index dimension() const override { return coefficients_; }
  double add_to(const double*, const double*, double*) const override { return 0; }
  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    return names[static_cast<std::size_t>(i)];
  }
  std::shared_ptr<const ExpectedPrior> expectations() const override {
    return std::make_shared<NoExpectedPrior>();
  }

 private:
  Index coefficients_;
};

NormalMarginal last_marginal(const GaussianView& q) {
  const Index last = q.mean.size() - 1;
  return {q.mean(last), q.covariance(last, last)};
}

/// Takes the prior of the likelihood's own coordinate out of a regression's expectations.
class ExpectedRows final : public ExpectedLogDensity {
 public:
  ExpectedRows(const ExpectedLogDensity& inner, std::shared_ptr<const ExpectedLikelihood> likelihood,
               bool has_nuisance)
      : inner_(inner), likelihood_(std::move(likelihood)), has_nuisance_(has_nuisance) {}

  Index dimension() const override { return inner_.dimension(); }
  bool log_concave() const override { return inner_.log_concave(); }
  Index terms() const override { return inner_.terms(); }
  std::unique_ptr<Scratch> make_scratch(Index factors) const override { return inner_.make_scratch(factors); }

  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) const override {
    const double value = inner_.expect(q, gradient, curvature, evaluation);
    const NuisanceSums prior = nuisance_prior(q);
    const Index last = dimension() - 1;
    gradient(last) -= prior.slope;
    curvature.diagonal(last) -= prior.curvature;
    curvature.times_factors.row(last) -= prior.curvature * q.factors.row(last);
    return value - prior.value;
  }

  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                Evaluation& evaluation) const override {
    const double value = inner_.expect(q, gradient, curvature, evaluation);
    const NuisanceSums prior = nuisance_prior(q);
    gradient(dimension() - 1) -= prior.slope;
    curvature(dimension() - 1, dimension() - 1) -= prior.curvature;
    return value - prior.value;
  }

 private:
  NuisanceSums nuisance_prior(const GaussianView& q) const {
    return has_nuisance_ ? likelihood_->nuisance_prior(last_marginal(q)) : NuisanceSums{};
  }

  const ExpectedLogDensity& inner_;
  std::shared_ptr<const ExpectedLikelihood> likelihood_;
  bool has_nuisance_;
};

/// The rows of a regression on this machine.
class LocalRows final : public SampledModel {
 public:
  explicit LocalRows(const Regression& regression)
      : regression_(std::make_shared<const Regression>(
            regression.with_prior(std::make_shared<NoPrior>(regression.coefficient_count())))),
        sampled_(Minibatch::rows_of(regression_)),
        constant_(regression.terms().constant) {
    const Likelihood& likelihood = regression_->likelihood();
    if (const ExpectedLogDensity* expected = regression_->expectations())
      expected_.emplace(*expected, likelihood.expectations(), likelihood.nuisance_count() > 0);
  }

  Index dimension() const override { return regression_->dimension(); }
  Index rows() const override { return regression_->rows(); }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override {
    return regression_->make_scratch(draws);
  }
  std::unique_ptr<Scratch> make_sample_scratch(Index draws, Index rows) const override {
    return sampled_->make_sample_scratch(draws, rows);
  }
  const ExpectedLogDensity* expectations() const override { return expected_ ? &*expected_ : nullptr; }

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    regression_->evaluate(theta, log_density, gradient, evaluation);
    remove_nuisance_priors(theta, log_density, gradient);
  }
  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override {
    if (sample.count == 0) {
      log_density.setConstant(constant_);
      gradient.setZero();
      return;
    }
    sampled_->evaluate_sample(sample, theta, log_density, gradient, evaluation);
    remove_nuisance_priors(theta, log_density, gradient);
  }

 private:
  void remove_nuisance_priors(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient) const {
    const Likelihood& likelihood = regression_->likelihood();
    for (Index k = 0; k < likelihood.nuisance_count(); ++k) {
      const Index at = regression_->coefficient_count() + k;
      for (Index s = 0; s < theta.cols(); ++s) {
        double slope = 0;
        log_density(s) -= likelihood.nuisance_prior(k, theta(at, s), slope);
        gradient(at, s) -= slope;
      }
    }
  }

  std::shared_ptr<const Regression> regression_;
  std::shared_ptr<const SampledModel> sampled_;  // the same
  double constant_;
  std::optional<ExpectedRows> expected_;
};

struct RegressionOfScratch final : Scratch {
  RegressionOfScratch(const SampledModel& rows, Index max_rows, Index prior_buffer, Index draws)
      : inner(rows.make_sample_scratch(draws, max_rows)),
        buffer(prior_buffer, draws),
        theta(rows.dimension(), draws),
        gradient(rows.dimension(), draws) {}
  std::unique_ptr<Scratch> inner;
  Matrix buffer, theta, gradient;
};

}  // namespace

std::unique_ptr<const SampledModel> make_likelihood_model(const Regression& regression) {
  return std::make_unique<LocalRows>(regression);
}

/// Expectations of the rows, in their own coordinates, and of the priors.
class RegressionOf::Expected final : public ExpectedLogDensity {
 public:
  Expected(const ExpectedLogDensity& rows, std::shared_ptr<const ExpectedLikelihood> likelihood,
           std::shared_ptr<const ExpectedPrior> prior, Index coefficients, Index dimension, bool has_nuisance,
           const Regression* whole)
      : rows_(rows),
        likelihood_(std::move(likelihood)),
        prior_(std::move(prior)),
        coefficients_(coefficients),
        dimension_(dimension),
        has_nuisance_(has_nuisance),
        whole_(whole) {}

  Index dimension() const override { return dimension_; }
  std::optional<PredictorTerms> predictor_terms(const GaussianView& q) const override {
    return whole_ != nullptr ? whole_->expectations()->predictor_terms(q) : std::nullopt;
  }
  bool log_concave() const override { return rows_.log_concave() && prior_->log_concave(); }
  Index terms() const override { return rows_.terms(); }
  std::unique_ptr<Scratch> make_scratch(Index factors) const override { return rows_.make_scratch(factors); }

  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) const override {
    Vector slopes(rows_.dimension());
    CurvatureProducts of_rows;
    const Matrix factors = own_rows(q.factors);
    const double value =
        rows_.expect({own_rows(q.mean), factors, own_rows(q.residual_sd)}, slopes, of_rows, evaluation);
    spread(slopes, gradient);
    curvature.times_factors.resize(dimension_, q.factors.cols());
    curvature.diagonal.resize(dimension_);
    spread(of_rows.times_factors, curvature.times_factors);
    spread(of_rows.diagonal, curvature.diagonal);
    SymmetricEntries entries;
    const double priors = expect_priors(q, gradient, entries);
    for (const SymmetricEntry& e : entries) {
      if (e.row == e.column) curvature.diagonal(e.row) += e.value;
      curvature.times_factors.row(e.row) += e.value * q.factors.row(e.column);
      if (e.row != e.column) curvature.times_factors.row(e.column) += e.value * q.factors.row(e.row);
    }
    return value + priors;
  }

  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                Evaluation& evaluation) const override {
    Vector slopes(rows_.dimension());
    Matrix of_rows;
    const Matrix factors = own_rows(q.factors);
    const double value =
        rows_.expect({own_rows(q.mean), factors, own_rows(q.residual_sd)}, slopes, of_rows, evaluation);
    spread(slopes, gradient);
    Matrix wide(dimension_, rows_.dimension());
    spread(of_rows, wide);
    curvature.resize(dimension_, dimension_);
    spread(wide.transpose(), curvature);
    SymmetricEntries entries;
    const double priors = expect_priors(q, gradient, entries);
    for (const SymmetricEntry& e : entries) {
      curvature(e.row, e.column) += e.value;
      if (e.row != e.column) curvature(e.column, e.row) += e.value;
    }
    return value + priors;
  }

 private:
  /// Of all coordinates those that the rows know: the coefficients, which come first, and the nuisance.
  Matrix own_rows(ConstMatrixRef all) const {
    if (all.rows() == 0) return all;
    Matrix own(rows_.dimension(), all.cols());
    own.topRows(coefficients_) = all.topRows(coefficients_);
    if (has_nuisance_) own.bottomRows(1) = all.bottomRows(1);
    return own;
  }
  /// And back, with zeros for the others.
  void spread(ConstMatrixRef own, MatrixRef all) const {
    all.setZero();
    all.topRows(coefficients_) = own.topRows(coefficients_);
    if (has_nuisance_) all.bottomRows(1) = own.bottomRows(1);
  }
  double expect_priors(const GaussianView& q, VectorRef gradient, SymmetricEntries& entries) const {
    const double value = prior_->expect(q, gradient, entries);
    if (!has_nuisance_) return value;
    const NuisanceSums nuisance = likelihood_->nuisance_prior(last_marginal(q));
    const Index last = dimension_ - 1;
    gradient(last) += nuisance.slope;
    entries.push_back({last, last, nuisance.curvature});
    return value + nuisance.value;
  }

  const ExpectedLogDensity& rows_;
  std::shared_ptr<const ExpectedLikelihood> likelihood_;
  std::shared_ptr<const ExpectedPrior> prior_;
  Index coefficients_;
  Index dimension_;
  bool has_nuisance_;
  const Regression* whole_;  // null: not on this machine
};

RegressionOf::RegressionOf(const RegressionTerms& terms, std::unique_ptr<const SampledModel> rows,
                           Vector start, std::shared_ptr<const Regression> whole)
    : likelihood_(terms.likelihood),
      prior_(terms.prior),
      names_(terms.names),
      rows_(std::move(rows)),
      start_(std::move(start)),
      whole_(std::move(whole)) {
  const ExpectedLogDensity* of_rows = rows_->expectations();
  const auto of_likelihood = likelihood_->expectations();
  const auto of_prior = prior_->expectations();
  if (of_rows != nullptr && of_likelihood && of_prior)
    expected_ = std::make_unique<Expected>(*of_rows, of_likelihood, of_prior, prior_->coefficients(),
                                           dimension(), likelihood_->nuisance_count() > 0, whole_.get());
}

RegressionOf::~RegressionOf() = default;

Index RegressionOf::dimension() const { return prior_->dimension() + likelihood_->nuisance_count(); }

std::unique_ptr<Scratch> RegressionOf::make_scratch(Index max_draws) const {
  return make_sample_scratch(max_draws, rows());
}

std::unique_ptr<Scratch> RegressionOf::make_sample_scratch(Index max_draws, Index max_rows) const {
  return std::make_unique<RegressionOfScratch>(*rows_, max_rows, prior_->buffer_size(), max_draws);
}

const ExpectedLogDensity* RegressionOf::expectations() const { return expected_.get(); }

bool RegressionOf::wants_family() const {
  const auto* device = dynamic_cast<const DeviceRows*>(rows_.get());
  return device != nullptr && dimension() > device->family_above();
}

std::optional<std::string> RegressionOf::family_stays() const {
  if (!wants_family()) return "its rows are not on a GPU, or it has few parameters";
  if (!prior_->independent()) return "coefficients whose priors depend on each other have no kernels";
  return std::nullopt;
}

std::unique_ptr<DeviceFamily> RegressionOf::make_device_family(magva_cuda_family_options options) const {
  const IndependentPriors priors = prior_->independent().value();
  Vector unused = Vector::Zero(prior_->dimension());
  const double constant = prior_->add_to(priors.location.data(), nullptr, unused.data());
  return dynamic_cast<const DeviceRows&>(*rows_).make_family(options, priors, constant);
}

std::string RegressionOf::parameter_name(Index i) const {
  const Index own = i - prior_->dimension();
  return own >= 0 ? likelihood_->nuisance_name(own) : prior_->parameter_name(i, names_);
}

void RegressionOf::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                            Evaluation& evaluation) const {
  evaluate_by([&](ConstMatrixRef at, VectorRef value, MatrixRef slope,
                  Evaluation& inner) { rows_->evaluate(at, value, slope, inner); },
              theta, log_density, gradient, evaluation);
}

void RegressionOf::evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                                   MatrixRef gradient, Evaluation& evaluation) const {
  evaluate_by([&](ConstMatrixRef at, VectorRef value, MatrixRef slope,
                  Evaluation& inner) { rows_->evaluate_sample(sample, at, value, slope, inner); },
              theta, log_density, gradient, evaluation);
}

template <class EvaluateRows>
void RegressionOf::evaluate_by(const EvaluateRows& evaluate_rows, ConstMatrixRef theta, VectorRef log_density,
                               MatrixRef gradient, Evaluation& evaluation) const {
  auto& scratch = static_cast<RegressionOfScratch&>(evaluation.scratch);
  const Index draws = theta.cols();
  const Index coefficients = prior_->coefficients();
  const Index own = likelihood_->nuisance_count();
  for (Index s = 0; s < draws; ++s) {
    const double* beta = prior_->coefficients_at(theta.col(s).data(), scratch.buffer.col(s).data());
    scratch.theta.col(s).head(coefficients) = Eigen::Map<const Vector>(beta, coefficients);
    scratch.theta.col(s).tail(own) = theta.col(s).tail(own);
  }
  Evaluation inner{*scratch.inner, evaluation.workers, evaluation.iteration};
  evaluate_rows(scratch.theta.leftCols(draws), log_density, scratch.gradient.leftCols(draws), inner);
  for (Index s = 0; s < draws; ++s) {
    gradient.col(s).head(coefficients) = scratch.gradient.col(s).head(coefficients);
    log_density(s) +=
        prior_->add_to(theta.col(s).data(), scratch.buffer.col(s).data(), gradient.col(s).data());
    gradient.col(s).tail(own) = scratch.gradient.col(s).tail(own);
    for (Index k = 0; k < own; ++k) {
      const Index at = prior_->dimension() + k;
      log_density(s) += likelihood_->nuisance_prior(k, theta(at, s), gradient(at, s));
    }
  }
}

}  // namespace magva::detail
