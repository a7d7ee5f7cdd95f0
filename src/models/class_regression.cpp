#include "magva/class_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "models/class_likelihood.hpp"
#include "models/design_kernel.hpp"
#include "models/prior.hpp"
#include "models/regression_scratch.hpp"

namespace magva {

/// Columns of `eta` and of packed coefficients: the predictors of the first draw, of the second, ... All that
/// a chunk of rows writes to is a column of its own.
struct ClassScratch final : Scratch {
  ClassScratch(Index max_draws, Index chunk_total, const detail::DesignKernel& kernel,
               const detail::ClassLikelihood& likelihood, Index prior_buffer)
      : draws(max_draws),
        chunks(chunk_total),
        coefficients(std::max<Index>(1, prior_buffer), max_draws * likelihood.predictors()),
        packed(kernel.packed_size(max_draws * likelihood.predictors())),
        raw(std::max<Index>(1, likelihood.own_count()), max_draws),
        eta(detail::apart(kernel.block_rows() * max_draws * likelihood.predictors()), chunk_total),
        gradient(detail::apart(packed.size()), chunk_total),
        by_raw(detail::apart(raw.size()), chunk_total),
        sums(detail::apart(max_draws), chunk_total) {}

  Index draws;
  Index chunks;
  Matrix coefficients;
  Vector packed;
  Matrix raw;
  Matrix eta;
  Matrix gradient;
  Matrix by_raw;
  Matrix sums;
};

namespace {

void require_sound_classes(const RegressionData& data, Index classes, Index prior_coefficients) {
  const Index n = data.design.rows();
  const Index q = data.design.cols();
  const auto same = [n](const Vector& values, const char* what) {
    if (values.size() != 0 && values.size() != n)
      throw DataError(fmt::format("the design has {} rows but there are {} {}", n, values.size(), what));
  };
  if (n == 0 || q == 0)
    throw DataError(
        fmt::format("the design has {} rows and {} columns; at least one of each is needed", n, q));
  if (data.response.size() != n)
    throw DataError(
        fmt::format("the design has {} rows but there are {} responses", n, data.response.size()));
  same(data.weights, "weights");
  same(data.offset, "offsets");
  if (data.trials.size() != 0 || data.status.size() != 0)
    throw DataError("a response with classes takes neither numbers of trials nor censored rows");
  if (prior_coefficients != q)
    throw DataError(
        fmt::format("the design has {} columns but the prior is for {} coefficients", q, prior_coefficients));
  if (!data.names.empty() && static_cast<Index>(data.names.size()) != q)
    throw DataError(fmt::format("the design has {} columns but there are {} names", q, data.names.size()));
  for (Index i = 0; i < n; ++i) {
    const double y = data.response(i);
    if (!(y >= 0 && y < static_cast<double>(classes) && y == std::floor(y)))
      throw DataError(fmt::format("the response in row {} is {}, but classes are numbered 0 to {}", i + 1, y,
                                  classes - 1));
    if (data.weights.size() != 0 && !(data.weights(i) >= 0 && std::isfinite(data.weights(i))))
      throw DataError(fmt::format("the weight of row {} is {}; weights must be finite and not negative",
                                  i + 1, data.weights(i)));
  }
}

}  // namespace

ClassRegression::ClassRegression(RegressionData data,
                                 std::shared_ptr<const detail::ClassLikelihood> likelihood,
                                 std::shared_ptr<const CoefficientPrior> prior)
    : likelihood_(std::move(likelihood)), prior_(std::move(prior)) {
  require_sound_classes(data, likelihood_->classes(), prior_->coefficients());
  const Index n = data.design.rows();
  response_ = std::move(data.response);
  weight_ = data.weights.size() == 0 ? Vector(Vector::Ones(n)) : std::move(data.weights);
  offset_ = data.offset.size() == 0 ? Vector(Vector::Zero(n)) : std::move(data.offset);
  names_ = std::move(data.names);
  for (Index j = static_cast<Index>(names_.size()); j < data.design.cols(); ++j)
    names_.push_back(fmt::format("beta[{}]", j + 1));
  kernel_ = detail::make_kernel(data.design);
}

Index ClassRegression::classes() const { return likelihood_->classes(); }
Index ClassRegression::predictors() const { return likelihood_->predictors(); }

Index ClassRegression::dimension() const {
  return predictors() * prior_->dimension() + likelihood_->own_count();
}

std::unique_ptr<Scratch> ClassRegression::make_scratch(Index max_draws) const {
  const Design& design = kernel_->design();
  const Index chunks = detail::chunk_count(static_cast<double>(design.entries()), design.cols());
  return std::make_unique<ClassScratch>(max_draws, chunks, *kernel_, *likelihood_, prior_->buffer_size());
}

const double* ClassRegression::coefficients_of(const double* theta, Index predictor, double* buffer) const {
  return prior_->coefficients_at(theta + predictor * prior_->dimension(), buffer);
}

/// One pass over the rows, for all draws.
struct ClassRegression::Pass {
  const ClassRegression& model;
  ClassScratch& scratch;
  Index draws;

  Index columns() const { return draws * model.predictors(); }

  void operator()(Index chunk) const {
    const Index step = model.kernel_->block_rows();
    const Index rows = model.response_.size();
    const Range eights = piece((rows + detail::kPadding - 1) / detail::kPadding, scratch.chunks, chunk);
    const Index end = std::min(eights.end * detail::kPadding, rows);
    scratch.gradient.col(chunk).setZero();
    scratch.by_raw.col(chunk).setZero();
    scratch.sums.col(chunk).setZero();
    for (Index row = eights.begin * detail::kPadding; row < end; row += step)
      add_block({nullptr, row, std::min(step, end - row)}, step, chunk);
  }

  void add_block(const detail::RowBlock& block, Index step, Index chunk) const {
    double eta_of_row[detail::kMostClasses];
    double by_eta[detail::kMostClasses];
    const Index count = model.predictors();
    double* eta = scratch.eta.col(chunk).data();
    model.kernel_->multiply(block, scratch.packed.data(), columns(), eta, step);
    for (Index s = 0; s < draws; ++s)
      for (Index i = 0; i < block.size; ++i) {
        double* at = eta + s * count * step + i;
        const Index row = block.begin + i;
        for (Index c = 0; c < count; ++c) eta_of_row[c] = at[c * step] + model.offset_(row);
        scratch.sums(s, chunk) += model.likelihood_->row(
            static_cast<Index>(model.response_(row)), model.weight_(row), eta_of_row,
            scratch.raw.col(s).data(), by_eta, scratch.by_raw.col(chunk).data() + s * scratch.raw.rows());
        for (Index c = 0; c < count; ++c) at[c * step] = by_eta[c];
      }
    for (Index s = 0; s < columns(); ++s)
      std::fill(eta + s * step + block.size, eta + s * step + detail::padded(block.size), 0.0);
    model.kernel_->accumulate(block, eta, step, columns(), scratch.gradient.col(chunk).data());
  }
};

void ClassRegression::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                               Evaluation& evaluation) const {
  auto& scratch = static_cast<ClassScratch&>(evaluation.scratch);
  const Index draws = theta.cols();
  const Pass pass{*this, scratch, draws};
  for (Index s = 0; s < draws; ++s) {
    likelihood_->raw(theta.col(s).data() + predictors() * prior_->dimension(), scratch.raw.col(s).data());
    for (Index c = 0; c < predictors(); ++c) {
      const Index column = s * predictors() + c;
      kernel_->pack(coefficients_of(theta.col(s).data(), c, scratch.coefficients.col(column).data()), column,
                    pass.columns(), scratch.packed.data());
    }
  }
  evaluation.workers.run(scratch.chunks, pass);
  for (Index chunk = 1; chunk < scratch.chunks; ++chunk) {
    scratch.gradient.col(0) += scratch.gradient.col(chunk);
    scratch.by_raw.col(0) += scratch.by_raw.col(chunk);
    scratch.sums.col(0) += scratch.sums.col(chunk);
  }
  for (Index s = 0; s < draws; ++s) log_density(s) = finish_draw(theta, s, scratch, gradient);
}

/// Fills in the draw's gradient, and returns its log density.
double ClassRegression::finish_draw(ConstMatrixRef theta, Index s, ClassScratch& scratch,
                                    MatrixRef gradient) const {
  double value = scratch.sums(s, 0);
  double* out = gradient.col(s).data();
  for (Index c = 0; c < predictors(); ++c) {
    const Index column = s * predictors() + c;
    const Index first = c * prior_->dimension();
    kernel_->unpack(scratch.gradient.col(0).data(), column, theta.cols() * predictors(), out + first);
    value +=
        prior_->add_to(theta.col(s).data() + first, scratch.coefficients.col(column).data(), out + first);
  }
  const Index own = predictors() * prior_->dimension();
  return value + likelihood_->finish(theta.col(s).data() + own, scratch.raw.col(s).data(),
                                     scratch.by_raw.col(0).data() + s * scratch.raw.rows(), out + own);
}

Vector ClassRegression::start() const {
  Vector shares = Vector::Constant(classes(), .5);
  for (Index i = 0; i < response_.size(); ++i) shares(static_cast<Index>(response_(i))) += weight_(i);
  shares /= shares.sum();
  Vector theta = Vector::Zero(dimension());
  Vector eta(predictors());
  likelihood_->start(shares, theta.data() + predictors() * prior_->dimension(), eta.data());
  const Index each = prior_->dimension();
  for (Index c = 0; c < predictors(); ++c)
    prior_->start(theta.segment(c * each, each), eta(c), response_.size());
  return theta;
}

std::string ClassRegression::parameter_name(Index i) const {
  const Index predictor = i / prior_->dimension();
  if (predictor >= predictors()) return likelihood_->own_name(i - predictors() * prior_->dimension());
  const std::string name = prior_->parameter_name(i % prior_->dimension(), names_);
  return predictors() == 1 ? name : fmt::format("{}[{}]", name, predictor + 1);
}

Matrix ClassRegression::coefficients(ConstVectorRef theta) const {
  Matrix out(prior_->coefficients(), predictors());
  Vector buffer(std::max<Index>(1, prior_->buffer_size()));
  for (Index c = 0; c < predictors(); ++c)
    out.col(c) = Eigen::Map<const Vector>(coefficients_of(theta.data(), c, buffer.data()), out.rows());
  return out;
}

Vector ClassRegression::cut_points(ConstVectorRef theta) const {
  Vector cuts(likelihood_->own_count());
  if (cuts.size() > 0) likelihood_->raw(theta.data() + predictors() * prior_->dimension(), cuts.data());
  return cuts;
}

Matrix ClassRegression::probabilities(const Design& design, ConstVectorRef offset,
                                      ConstVectorRef theta) const {
  if (design.cols() != prior_->coefficients())
    throw DataError(fmt::format("the rows to predict have {} columns but the model has {} coefficients",
                                design.cols(), prior_->coefficients()));
  const auto kernel = detail::make_kernel(design);
  const Matrix beta = coefficients(theta);
  Vector packed(kernel->packed_size(predictors()));
  for (Index c = 0; c < predictors(); ++c) kernel->pack(beta.col(c).data(), c, predictors(), packed.data());
  Matrix eta(design.rows(), predictors());
  const Index step = kernel->block_rows();
  for (Index i = 0; i < eta.rows(); i += step)
    kernel->multiply({nullptr, i, std::min(step, eta.rows() - i)}, packed.data(), predictors(),
                     eta.data() + i, eta.rows());
  if (offset.size() > 0) eta.colwise() += offset;
  const Vector cuts = cut_points(theta);
  Matrix out(design.rows(), classes());
  Vector one(predictors());
  Vector probability(classes());
  for (Index i = 0; i < eta.rows(); ++i) {
    one = eta.row(i).transpose();
    likelihood_->probabilities(one.data(), cuts.data(), probability.data());
    out.row(i) = probability.transpose();
  }
  return out;
}

}  // namespace magva
