#include "magva/regression.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "magva/error.hpp"
#include "models/expected_regression.hpp"
#include "models/regression_terms.hpp"
#include "models/row_chunks.hpp"

namespace magva {

namespace {

using detail::DrawLayout;
using detail::padded;
using detail::RegressionScratch;
using detail::RowChunkWork;
using detail::sum_of_draw;

std::shared_ptr<const Vector> fill_up(ConstVectorRef values) {
  const auto filled = std::make_shared<Vector>(Vector::Zero(padded(values.size())));
  filled->head(values.size()) = values;
  return filled;
}

std::vector<std::string> default_names(Index count) {
  std::vector<std::string> names;
  for (Index j = 0; j < count; ++j) names.push_back(fmt::format("beta[{}]", j + 1));
  return names;
}

/// Empty, or as long as the design.
void require_length(const Vector& values, Index rows, const char* name) {
  if (values.size() != 0 && values.size() != rows)
    throw DataError(fmt::format("the design has {} rows but there are {} {}", rows, values.size(), name));
}

void require_finite_offset(const Vector& offset) {
  for (Index i = 0; i < offset.size(); ++i)
    if (!std::isfinite(offset(i)))
      throw DataError(fmt::format("the offset of row {} is {}; offsets must be finite", i + 1, offset(i)));
}

ResponseRows rows_of(const RegressionData& data) {
  const auto start = [](const Vector& values) { return values.size() == 0 ? nullptr : values.data(); };
  return {data.response.data(), start(data.trials), start(data.status), data.response.size()};
}

/// n trials with y successes are one with y / n, counted n times.
void trials_to_weights(RegressionData& data) {
  data.response.array() /= data.trials.array();
  data.weights.array() *= data.trials.array();
}

void require_sound(const RegressionData& data, const Likelihood& likelihood, Index prior_coefficients) {
  const Index n = data.design.rows();
  const Index q = data.design.cols();
  if (n == 0 || q == 0)
    throw DataError(
        fmt::format("the design has {} rows and {} columns; at least one of each is needed", n, q));
  if (data.response.size() != n)
    throw DataError(
        fmt::format("the design has {} rows but there are {} responses", n, data.response.size()));
  require_length(data.weights, n, "weights");
  require_length(data.offset, n, "offsets");
  require_length(data.trials, n, "numbers of trials");
  require_length(data.status, n, "statuses");
  require_finite_offset(data.offset);
  if (!data.names.empty() && static_cast<Index>(data.names.size()) != q)
    throw DataError(fmt::format("the design has {} columns but there are {} names", q, data.names.size()));
  if (prior_coefficients != q)
    throw DataError(
        fmt::format("the design has {} columns but the prior is for {} coefficients", q, prior_coefficients));
  for (Index i = 0; i < data.weights.size(); ++i)
    if (!(data.weights(i) >= 0.0 && std::isfinite(data.weights(i))))
      throw DataError(fmt::format("the weight of row {} is {}; weights must be finite and not negative",
                                  i + 1, data.weights(i)));
  if (data.weights.size() != 0 && data.weights.sum() == 0.0)
    throw DataError("all weights are 0: no observation is left");
  for (const std::string& problem : likelihood.validate_rows(rows_of(data))) throw DataError(problem);
}

}  // namespace

Regression::Regression(RegressionData data, std::shared_ptr<const Likelihood> likelihood,
                       std::shared_ptr<const CoefficientPrior> prior)
    : rows_(data.design.rows()), likelihood_(std::move(likelihood)), prior_(std::move(prior)) {
  require_sound(data, *likelihood_, prior_->coefficients());
  unweighted_ = data.weights.size() == 0 && data.trials.size() == 0;
  if (data.weights.size() == 0) data.weights = Vector::Ones(rows_);
  constant_ = likelihood_->constant_of_rows(rows_of(data), data.weights);
  if (data.trials.size() != 0) {
    trials_ = fill_up(data.trials);
    trials_to_weights(data);
  }
  if (data.offset.size() != 0) offset_ = fill_up(data.offset);
  if (data.status.size() != 0) status_ = fill_up(data.status);
  response_ = fill_up(data.response);
  weight_ = fill_up(data.weights);
  names_ = data.names.empty() ? default_names(data.design.cols()) : std::move(data.names);
  kernel_ = detail::make_kernel(data.design);
  find_expectations();
}

void Regression::find_expectations() {
  const auto expected_likelihood = likelihood_->expectations();
  const auto expected_prior = prior_->expectations();
  expected_ = nullptr;
  if (expected_likelihood && expected_prior)
    expected_ = std::make_shared<detail::ExpectedRegression>(
        detail::RegressionParts{kernel_, response_, weight_, offset_, status_, constant_, dimension(),
                                likelihood_->nuisance_count() > 0, expected_likelihood, expected_prior});
}

Index Regression::dimension() const { return prior_->dimension() + likelihood_->nuisance_count(); }

std::unique_ptr<Scratch> Regression::make_scratch(Index max_draws) const {
  return make_scratch(max_draws, rows_);
}

std::unique_ptr<Scratch> Regression::make_scratch(Index max_draws, Index sampled_rows) const {
  const Design& design = kernel_->design();
  const double share = static_cast<double>(sampled_rows) / static_cast<double>(rows_);
  const Index chunks = detail::chunk_count(static_cast<double>(design.entries()) * share, design.cols());
  return std::make_unique<RegressionScratch>(max_draws, chunks, *kernel_, prior_->buffer_size());
}

void Regression::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                          Evaluation& evaluation) const {
  evaluate_sample({nullptr, rows_, 1.0}, theta, log_density, gradient, evaluation);
}

namespace {

/// Sums over all rows of the sample, in the scratch's first chunk.
void add_up_rows(const DrawLayout& layout, const RowChunkWork& work, RegressionScratch& scratch, Index draws,
                 Workers& workers) {
  workers.run(scratch.chunks, work);
  detail::add_chunks(scratch, layout.packed_size(), draws);
}

}  // namespace

detail::Observations Regression::observations() const {
  return {response_->data(), weight_->data(), unweighted_, offset_ ? offset_->data() : nullptr,
          status_ ? status_->data() : nullptr};
}

void Regression::set_shapes(ConstMatrixRef theta, RegressionScratch& scratch) const {
  for (Index s = 0; s < theta.cols(); ++s)
    scratch.shapes[static_cast<std::size_t>(s)] = detail::shape_at(*likelihood_, theta.col(s));
}

// `gradient` begins with the log likelihood's by the coefficients; completes it, and returns the log density.
double Regression::add_prior(const DrawLayout& layout, ConstMatrixRef theta, Index s,
                             RegressionScratch& scratch, double* gradient) const {
  double log_density = constant_ + sum_of_draw(&BlockSums::log_likelihood, layout, scratch, s) +
                       prior_->add_to(theta.col(s).data(), scratch.coefficients.col(s).data(), gradient);
  constexpr std::array kGradients = {&BlockSums::nuisance_gradient, &BlockSums::second_gradient};
  for (Index k = 0; k < likelihood_->nuisance_count(); ++k) {
    const Index at = prior_->dimension() + k;
    gradient[at] = sum_of_draw(kGradients[static_cast<std::size_t>(k)], layout, scratch, s);
    log_density += likelihood_->nuisance_prior(k, theta(at, s), gradient[at]);
  }
  return log_density;
}

void Regression::evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                                 MatrixRef gradient, Evaluation& evaluation) const {
  auto& scratch = static_cast<RegressionScratch&>(evaluation.scratch);
  const Index draws = theta.cols();
  const DrawLayout layout = DrawLayout::plain(*kernel_, draws);
  set_shapes(theta, scratch);
  detail::pack_draws(layout, *prior_, theta, scratch);
  const RowChunkWork work(layout, *likelihood_, sample, observations(), scratch, draws);
  add_up_rows(layout, work, scratch, draws, evaluation.workers);
  detail::unpack_draws(layout, scratch, gradient);
  for (Index s = 0; s < draws; ++s)
    log_density(s) = add_prior(layout, theta, s, scratch, gradient.col(s).data());
}

void Regression::evaluate_antithetic(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                                     Evaluation& evaluation) const {
  const Index draws = theta.cols();
  const Index pairs = draws / 2;
  // One pair has nothing to share, and products that are not linear in theta cannot be.
  if (pairs < 2 || !prior_->coefficients_are_coordinates())
    return Model::evaluate_antithetic(theta, log_density, gradient, evaluation);
  auto& scratch = static_cast<RegressionScratch&>(evaluation.scratch);
  const DrawLayout layout = DrawLayout::antithetic(*kernel_, draws);
  set_shapes(theta, scratch);
  detail::pack_pairs(*kernel_, theta, scratch);
  const RowChunkWork work(layout, *likelihood_, {nullptr, rows_, 1.0}, observations(), scratch, draws);
  add_up_rows(layout, work, scratch, draws, evaluation.workers);
  gradient.leftCols(pairs + 1).bottomRows(dimension() - design().cols()).setZero();
  detail::unpack_pairs(*kernel_, scratch, gradient);

  // The prior's gradient and the nuisance parameter's are each draw's own.
  auto own = gradient.col(draws - 1);
  for (Index s = 0; s < draws; ++s) {
    own.head(design().cols()).setZero();
    log_density(s) = add_prior(layout, theta, s, scratch, own.data());
    gradient.col(s % pairs) += (s < pairs ? .5 : -.5) * own;
    gradient.col(pairs) += own / static_cast<double>(draws);
  }
}

const Design& Regression::design() const { return kernel_->design(); }

Vector Regression::start() const {
  Vector theta = Vector::Zero(dimension());
  const auto response = response_->head(rows_);
  const auto weight = weight_->head(rows_);
  double intercept = likelihood_->intercept_start(response, weight);
  if (offset_) intercept -= weight.dot(offset_->head(rows_)) / weight.sum();
  prior_->start(theta.head(prior_->dimension()), intercept, rows_);
  for (Index k = 0; k < likelihood_->nuisance_count(); ++k)
    theta(prior_->dimension() + k) = likelihood_->nuisance_start(k, response, weight);
  return theta;
}

std::string Regression::parameter_name(Index i) const {
  const Index own = i - prior_->dimension();
  return own >= 0 ? likelihood_->nuisance_name(own) : prior_->parameter_name(i, names_);
}

void Regression::coefficients(ConstVectorRef theta, VectorRef out) const {
  Vector buffer(prior_->buffer_size());
  out =
      Eigen::Map<const Vector>(prior_->coefficients_at(theta.data(), buffer.data()), prior_->coefficients());
}

detail::RegressionTerms Regression::terms() const {
  return {design(),    response_, weight_, offset_,     status_,
          unweighted_, constant_, names_,  likelihood_, prior_};
}

namespace {

template <class Scalar>
Rows some_of(const DenseRows<Scalar>& rows, Range range) {
  return DenseRows<Scalar>{rows.data + range.begin * rows.stride, range.size(), rows.cols, rows.stride,
                           rows.single};
}
// The starts of some of the rows count from the beginning of the whole.
Rows some_of(const SparseRows& rows, Range range) {
  return SparseRows{rows.starts + range.begin, rows.columns, rows.values, range.size(), rows.cols};
}

}  // namespace

// By each row alone, so that it does not depend on the rows that others have.
double Regression::constant_of_rows() const {
  Vector response = response_->head(rows_);
  Vector weight = weight_->head(rows_);
  if (trials_) {
    response = (response.array() * trials_->head(rows_).array()).round();
    weight.array() /= trials_->head(rows_).array();
  }
  return likelihood_->constant_of_rows(
      {response.data(), trials_ ? trials_->data() : nullptr, status_ ? status_->data() : nullptr, rows_},
      weight);
}

Regression Regression::on_rows(Range rows) const {
  Regression out = *this;
  const auto some = [&](std::shared_ptr<const Vector>& values) {
    if (values) values = fill_up(values->segment(rows.begin, rows.size()));
  };
  some(out.response_);
  some(out.weight_);
  some(out.offset_);
  some(out.status_);
  some(out.trials_);
  out.rows_ = rows.size();
  out.constant_ = out.constant_of_rows();
  out.kernel_ = detail::make_kernel(
      Design::view(std::visit([&](const auto& all) { return some_of(all, rows); }, design().storage()),
                   std::make_shared<const Design>(design())));
  out.find_expectations();
  return out;
}

Regression Regression::with_prior(std::shared_ptr<const CoefficientPrior> prior) const {
  Regression out = *this;
  out.prior_ = std::move(prior);
  out.find_expectations();
  return out;
}

Index Regression::coefficient_count() const { return prior_->coefficients(); }

Regression logistic_regression(RegressionData data, const PriorOptions& prior) {
  const Index q = data.design.cols();
  return {std::move(data), bernoulli_logit(), make_prior(prior, q)};
}

Regression poisson_regression(RegressionData data, const PriorOptions& prior) {
  const Index q = data.design.cols();
  return {std::move(data), poisson_log(), make_prior(prior, q)};
}

}  // namespace magva
