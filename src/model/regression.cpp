#include "magva/model/regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "design_kernel.hpp"
#include "magva/error.hpp"
#include "pack.hpp"

namespace magva {

namespace {

using detail::kPadding;
using detail::padded;
using detail::RowBlock;

/// Lanes worth having: each wants enough entries to be worth a thread's while, and all together enough rows
/// that adding up their gradients costs little. A power of two, so that the usual numbers of threads share
/// them evenly.
Index lane_count(double entries, Index cols) {
  constexpr double kEntriesPerLane = 65536.0;
  constexpr double kRowsPerLane = 16.0;
  constexpr double kMostLanes = 64.0;
  const double lanes =
      std::min({entries / kEntriesPerLane, entries / (kRowsPerLane * static_cast<double>(cols)), kMostLanes});
  return static_cast<Index>(std::bit_floor(static_cast<unsigned>(std::max(lanes, 1.0))));
}

/// Everything of one column belongs to one lane; columns are whole cache lines.
struct RegressionScratch final : Scratch {
  RegressionScratch(Index draws, Index lane_total, Index block_rows, Index packed_size, Index prior_buffer)
      : max_draws(draws),
        lanes(lane_total),
        coefficients(padded(prior_buffer), draws),
        packed(packed_size),
        gradient(packed_size, lane_total),
        eta(block_rows * draws, lane_total),
        response(block_rows, lane_total),
        weight(block_rows, lane_total),
        shapes(static_cast<std::size_t>(draws)),
        sums(static_cast<std::size_t>(lane_total * draws)) {}

  BlockSums* lane_sums(Index lane) { return sums.data() + lane * max_draws; }

  Index max_draws;
  Index lanes;
  Matrix coefficients;  // the prior's buffers, one column a draw
  Vector packed;
  Matrix gradient;
  Matrix eta;
  Matrix response;
  Matrix weight;
  std::vector<Shape> shapes;
  std::vector<BlockSums> sums;
};

Vector fill_up(ConstVectorRef values) {
  Vector filled = Vector::Zero(padded(values.size()));
  filled.head(values.size()) = values;
  return filled;
}

std::vector<std::string> default_names(Index count) {
  std::vector<std::string> names;
  for (Index j = 0; j < count; ++j) names.push_back(fmt::format("beta[{}]", j + 1));
  return names;
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
  if (data.weights.size() != 0 && data.weights.size() != n)
    throw DataError(fmt::format("the design has {} rows but there are {} weights", n, data.weights.size()));
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
  for (const std::string& problem : likelihood.problems(data.response)) throw DataError(problem);
}

/// The rows of one lane, a block at a time.
class LaneWork {
 public:
  LaneWork(const detail::DesignKernel& kernel, const Likelihood& likelihood, const RowSample& sample,
           const double* response, const double* weight, RegressionScratch& scratch, Index draws)
      : kernel_(kernel),
        likelihood_(likelihood),
        sample_(sample),
        response_(response),
        weight_(weight),
        scratch_(scratch),
        draws_(draws) {}

  void operator()(Index lane) const {
    const Index step = kernel_.block_rows();
    const Range blocks = piece((sample_.count + step - 1) / step, scratch_.lanes, lane);
    double* gradient = scratch_.gradient.col(lane).data();
    double* eta = scratch_.eta.col(lane).data();
    BlockSums* sums = scratch_.lane_sums(lane);
    std::fill_n(gradient, kernel_.packed_size(draws_), 0.0);
    std::fill_n(sums, draws_, BlockSums{});
    for (Index b = blocks.begin; b < blocks.end; ++b) {
      const RowBlock block{sample_.rows, b * step, std::min(step, sample_.count - b * step)};
      kernel_.multiply(block, scratch_.packed.data(), draws_, eta, step);
      clear_padding(block.size, eta, step);
      likelihood_.evaluate_block(responses(block, lane), eta, step, draws_, scratch_.shapes.data(), sums);
      kernel_.accumulate(block, eta, step, draws_, gradient);
    }
  }

 private:
  void clear_padding(Index rows, double* eta, Index step) const {
    for (Index s = 0; s < draws_; ++s) std::fill(eta + s * step + rows, eta + s * step + padded(rows), 0.0);
  }

  ResponseBlock responses(const RowBlock& block, Index lane) const {
    if (!block.chosen && sample_.scale == 1.0)
      return {response_ + block.begin, weight_ + block.begin, padded(block.size)};
    double* response = scratch_.response.col(lane).data();
    double* weight = scratch_.weight.col(lane).data();
    for (Index i = 0; i < block.size; ++i) {
      response[i] = response_[block.row(i)];
      weight[i] = weight_[block.row(i)] * sample_.scale;
    }
    std::fill(response + block.size, response + padded(block.size), 0.0);
    std::fill(weight + block.size, weight + padded(block.size), 0.0);
    return {response, weight, padded(block.size)};
  }

  const detail::DesignKernel& kernel_;
  const Likelihood& likelihood_;
  const RowSample& sample_;
  const double* response_;
  const double* weight_;
  RegressionScratch& scratch_;
  Index draws_;
};

void add(const BlockSums& from, BlockSums& to) {
  for (std::size_t part = 0; part < from.log_likelihood.size(); ++part) {
    to.log_likelihood[part] += from.log_likelihood[part];
    to.nuisance_gradient[part] += from.nuisance_gradient[part];
  }
}

double total(const std::array<double, 8>& parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

/// Adds all lanes to the first, in order.
void add_lanes(RegressionScratch& scratch, Index packed_size, Index draws) {
  auto total = scratch.gradient.col(0).head(packed_size);
  for (Index lane = 1; lane < scratch.lanes; ++lane) {
    total += scratch.gradient.col(lane).head(packed_size);
    for (Index s = 0; s < draws; ++s) add(scratch.lane_sums(lane)[s], scratch.lane_sums(0)[s]);
  }
}

}  // namespace

Regression::Regression(RegressionData data, std::shared_ptr<const Likelihood> likelihood,
                       std::shared_ptr<const CoefficientPrior> prior)
    : rows_(data.design.rows()), likelihood_(std::move(likelihood)), prior_(std::move(prior)) {
  require_sound(data, *likelihood_, prior_->coefficients());
  if (data.weights.size() == 0) data.weights = Vector::Ones(rows_);
  constant_ = likelihood_->constant(data.response, data.weights);
  response_ = fill_up(data.response);
  weight_ = fill_up(data.weights);
  names_ = data.names.empty() ? default_names(data.design.cols()) : std::move(data.names);
  kernel_ = detail::make_kernel(data.design);
}

Index Regression::dimension() const { return prior_->dimension() + (likelihood_->has_nuisance() ? 1 : 0); }

std::unique_ptr<Scratch> Regression::make_scratch(Index max_draws) const {
  return make_scratch(max_draws, rows_);
}

std::unique_ptr<Scratch> Regression::make_scratch(Index max_draws, Index sampled_rows) const {
  const Design& design = kernel_->design();
  const double share = static_cast<double>(sampled_rows) / static_cast<double>(rows_);
  const Index lanes = lane_count(static_cast<double>(design.entries()) * share, design.cols());
  return std::make_unique<RegressionScratch>(max_draws, lanes, kernel_->block_rows(),
                                             kernel_->packed_size(max_draws), prior_->buffer_size());
}

void Regression::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                          Evaluation& evaluation) const {
  evaluate_sample({nullptr, rows_, 1.0}, theta, log_density, gradient, evaluation);
}

void Regression::evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                                 MatrixRef gradient, Evaluation& evaluation) const {
  auto& scratch = static_cast<RegressionScratch&>(evaluation.scratch);
  const Index draws = theta.cols();
  const Index nuisance = prior_->dimension();  // where the likelihood's own coordinate is, if it has one
  const bool has_nuisance = likelihood_->has_nuisance();
  for (Index s = 0; s < draws; ++s) {
    const double* beta = prior_->coefficients_at(theta.col(s).data(), scratch.coefficients.col(s).data());
    kernel_->pack(beta, s, draws, scratch.packed.data());
    scratch.shapes[static_cast<std::size_t>(s)] = likelihood_->shape(has_nuisance ? theta(nuisance, s) : 0.0);
  }

  const LaneWork work(*kernel_, *likelihood_, sample, response_.data(), weight_.data(), scratch, draws);
  evaluation.workers.run(scratch.lanes, work);
  add_lanes(scratch, kernel_->packed_size(draws), draws);

  for (Index s = 0; s < draws; ++s) {
    double* column = gradient.col(s).data();
    kernel_->unpack(scratch.gradient.col(0).data(), s, draws, column);
    const BlockSums& sums = scratch.lane_sums(0)[s];
    log_density(s) = constant_ + total(sums.log_likelihood) +
                     prior_->add_to(theta.col(s).data(), scratch.coefficients.col(s).data(), column);
    if (!has_nuisance) continue;
    column[nuisance] = total(sums.nuisance_gradient);
    log_density(s) += likelihood_->nuisance_prior(theta(nuisance, s), column[nuisance]);
  }
}

const Design& Regression::design() const { return kernel_->design(); }

Vector Regression::start() const {
  Vector theta = Vector::Zero(dimension());
  const auto response = response_.head(rows_);
  const auto weight = weight_.head(rows_);
  prior_->start(theta.head(prior_->dimension()), likelihood_->intercept_start(response, weight), rows_);
  if (likelihood_->has_nuisance()) theta(prior_->dimension()) = likelihood_->nuisance_start(response, weight);
  return theta;
}

std::string Regression::parameter_name(Index i) const {
  return i == prior_->dimension() ? likelihood_->nuisance_name() : prior_->parameter_name(i, names_);
}

void Regression::coefficients(ConstVectorRef theta, VectorRef out) const {
  Vector buffer(prior_->buffer_size());
  out =
      Eigen::Map<const Vector>(prior_->coefficients_at(theta.data(), buffer.data()), prior_->coefficients());
}

Shape Regression::shape(ConstVectorRef theta) const {
  return likelihood_->shape(likelihood_->has_nuisance() ? theta(prior_->dimension()) : 0.0);
}

Regression logistic_regression(RegressionData data, const PriorOptions& prior) {
  const Index q = data.design.cols();
  return {std::move(data), bernoulli_logit(), make_prior(prior, q)};
}

Regression poisson_regression(RegressionData data, const PriorOptions& prior) {
  const Index q = data.design.cols();
  return {std::move(data), poisson_log(), make_prior(prior, q)};
}

}  // namespace magva
