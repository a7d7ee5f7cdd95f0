#include "models/expected_regression.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <variant>

#include "models/design_moments.hpp"
#include "models/regression_scratch.hpp"

namespace magva::detail {

namespace {

constexpr Index kGramRows = 128;                     // of a block whose Gram matrix is added
constexpr Index kMostGramNumbers = Index{1} << 24U;  // of all chunks' Gram matrices

/// Chunks of rows, by the size of the design alone; the numbers of one chunk are one column.
struct ExpectedScratch final : Scratch {
  explicit ExpectedScratch(Index most_columns) : columns(most_columns) {}

  void prepare(Index chunk_total, Index block_rows, Index packed_size, Index coefficients) {
    chunks = chunk_total;
    predictors.resize(apart(block_rows * columns), chunks);
    derivatives.resize(apart(block_rows * columns), chunks);
    variance.resize(apart(block_rows), chunks);
    curvature.resize(apart(block_rows), chunks);
    packed.resize(packed_size);
    products.setZero(apart(packed_size), chunks);
    squares.setZero(apart(coefficients), chunks);
    sums.assign(static_cast<std::size_t>(chunks), {});
  }

  Index columns;  // of products with the design: mean, covariance with the nuisance, factors
  Index chunks = 1;
  Matrix predictors, derivatives, variance, curvature;
  Vector packed;
  Matrix products, squares;
  std::vector<NuisanceSums> sums;
  std::vector<Matrix> gram;
};

Index gram_chunks(const Design& design) {
  const auto square = static_cast<double>(design.cols()) * static_cast<double>(design.cols());
  const double most = std::max(1., static_cast<double>(kMostGramNumbers) / square);
  return std::min<Index>(chunk_count(static_cast<double>(design.entries()), design.cols()),
                         static_cast<Index>(std::bit_floor(static_cast<unsigned>(most))));
}

/// One pass over the rows. What happens with the curvatures of a block's predictors is up to the caller.
class Pass {
 public:
  Pass(const RegressionParts& parts, const GaussianView& q, ExpectedScratch& scratch)
      : parts_(parts), q_(q), scratch_(scratch), coefficients_(parts.kernel->design().cols()) {
    if (parts.has_nuisance)
      own_ = {q.mean(q.mean.size() - 1), q.covariance(q.mean.size() - 1, q.mean.size() - 1)};
  }

  /// Columns before those of the factors.
  Index leading() const { return parts_.has_nuisance ? 2 : 1; }
  Index rows() const { return parts_.kernel->design().rows(); }
  Index last() const { return q_.mean.size() - 1; }

  /// The columns that meet the design: mean, covariances with the nuisance coordinate, `factors` of the
  /// factors.
  void pack(Index factors) {
    columns_ = leading() + factors;
    const auto put = [&](ConstVectorRef column, Index at) {
      parts_.kernel->pack(column.data(), at, columns_, scratch_.packed.data());
    };
    put(q_.mean, 0);
    if (parts_.has_nuisance) put(q_.factors.topRows(coefficients_) * q_.factors.row(last()).transpose(), 1);
    for (Index k = 0; k < factors; ++k) put(q_.factors.col(k).head(coefficients_), leading() + k);
  }

  /// add_variance(rows, chunk): the variances' part that the factors' products do not give; finish(rows,
  /// chunk): what is made of the curvatures.
  template <class AddVariance, class Finish>
  void run(Workers& workers, Index step, AddVariance&& add_variance, Finish&& finish) {
    const auto chunk_work = [&](Index chunk) {
      const Range eights = piece(padded(rows()) / kPadding, scratch_.chunks, chunk);
      const Index end = std::min(eights.end * kPadding, rows());
      for (Index row = eights.begin * kPadding; row < end; row += step) {
        const RowSpan span{row, std::min(step, end - row)};
        double* variance = scratch_.variance.col(chunk).data();
        predict(span, step, chunk);
        add_variance(span, variance);
        differentiate(span, step, chunk);
        finish(span, chunk);
      }
    };
    workers.run(scratch_.chunks, chunk_work);
    for (Index chunk = 1; chunk < scratch_.chunks; ++chunk) {
      scratch_.products.col(0) += scratch_.products.col(chunk);
      scratch_.squares.col(0) += scratch_.squares.col(chunk);
      NuisanceSums& total = scratch_.sums.front();
      const NuisanceSums& part = scratch_.sums[static_cast<std::size_t>(chunk)];
      total = {total.value + part.value, total.slope + part.slope, total.curvature + part.curvature};
    }
  }

  /// X' times a column of the derivatives, after the pass.
  void product(Index column, VectorRef out) const {
    parts_.kernel->unpack(scratch_.products.col(0).data(), column, columns_, out.data());
  }

  /// All but the factors' products: value, gradient, and entries of the curvature beside the design's own
  /// block.
  double close(VectorRef gradient, SymmetricEntries& entries) const {
    gradient.setZero();
    product(0, gradient.head(coefficients_));
    NuisanceSums sums = scratch_.sums.front();
    double value = parts_.constant + sums.value;
    if (parts_.has_nuisance) {
      Vector cross(coefficients_);
      product(1, cross);
      const NuisanceSums prior = parts_.likelihood->nuisance_prior(own_);
      value += prior.value;
      gradient(last()) = sums.slope + prior.slope;
      entries.push_back({last(), last(), sums.curvature + prior.curvature});
      for (Index j = 0; j < coefficients_; ++j) entries.push_back({last(), j, cross(j)});
    }
    return value + parts_.prior->expect(q_, gradient, entries);
  }

 private:
  /// Means, covariances with the nuisance coordinate, and the factors' part of the variances.
  void predict(RowSpan span, Index step, Index chunk) {
    double* predictors = scratch_.predictors.col(chunk).data();
    double* variance = scratch_.variance.col(chunk).data();
    const Index filled = padded(span.count);
    parts_.kernel->multiply({nullptr, span.first, span.count}, scratch_.packed.data(), columns_, predictors,
                            step);
    for (Index s = 0; s < columns_; ++s)
      std::fill(predictors + s * step + span.count, predictors + s * step + filled, 0.0);
    if (parts_.offset)
      for (Index i = 0; i < span.count; ++i) predictors[i] += (*parts_.offset)(span.first + i);
    std::fill_n(variance, filled, 0.0);
    for (Index s = leading(); s < columns_; ++s) {
      const double* column = predictors + s * step;
      for (Index i = 0; i < filled; ++i) variance[i] += column[i] * column[i];
    }
  }

  /// Turns the block's predictors into derivatives, and adds their products with the rows.
  void differentiate(RowSpan span, Index step, Index chunk) {
    const double* predictors = scratch_.predictors.col(chunk).data();
    double* derivatives = scratch_.derivatives.col(chunk).data();
    double* curvature = scratch_.curvature.col(chunk).data();
    const Index filled = padded(span.count);
    const PredictorBlock block{parts_.response->data() + span.first,
                               parts_.weight->data() + span.first,
                               predictors,
                               scratch_.variance.col(chunk).data(),
                               parts_.has_nuisance ? predictors + step : nullptr,
                               filled,
                               parts_.status ? parts_.status->data() + span.first : nullptr};
    const NuisanceSums sums =
        parts_.likelihood->expect(block, own_, {derivatives, curvature, derivatives + step});
    for (Index s = leading(); s < columns_; ++s)
      for (Index i = 0; i < span.count; ++i)
        derivatives[s * step + i] = curvature[i] * predictors[s * step + i];
    parts_.kernel->accumulate({nullptr, span.first, span.count}, derivatives, step, columns_,
                              scratch_.products.col(chunk).data());
    NuisanceSums& total = scratch_.sums[static_cast<std::size_t>(chunk)];
    total = {total.value + sums.value, total.slope + sums.slope, total.curvature + sums.curvature};
  }

  const RegressionParts& parts_;
  const GaussianView& q_;
  ExpectedScratch& scratch_;
  Index coefficients_;
  Index columns_ = 0;
  NormalMarginal own_;
};

void add_entries(const SymmetricEntries& entries, const GaussianView& q, CurvatureProducts& curvature) {
  for (const SymmetricEntry& e : entries) {
    if (e.row == e.column) curvature.diagonal(e.row) += e.value;
    for (Index k = 0; k < q.factors.cols(); ++k) {
      curvature.times_factors(e.row, k) += e.value * q.factors(e.column, k);
      if (e.row != e.column) curvature.times_factors(e.column, k) += e.value * q.factors(e.row, k);
    }
  }
}

bool is_point(const GaussianView& q) { return q.factors.cols() == 0 && q.residual_sd.size() == 0; }

/// Every stride-th row, read where it lies; nothing if rows do not lie evenly.
template <class Scalar>
std::optional<Design> every_row(const DenseRows<Scalar>& x, Index stride) {
  return Design::view(DenseRows<Scalar>{x.data, x.rows / stride, x.cols, x.stride * stride}, nullptr);
}
std::optional<Design> every_row(const SparseRows& /*x*/, Index /*stride*/) { return std::nullopt; }

std::shared_ptr<const Vector> every_value(const std::shared_ptr<const Vector>& values, Index count,
                                          Index stride, double factor) {
  if (!values) return nullptr;
  Vector out = Vector::Zero(padded(count));
  for (Index i = 0; i < count; ++i) out(i) = factor * (*values)(i * stride);
  return std::make_shared<const Vector>(std::move(out));
}

}  // namespace

std::unique_ptr<const ExpectedLogDensity> ExpectedRegression::thinned(Index stride) const {
  const auto design =
      std::visit([&](const auto& x) { return every_row(x, stride); }, parts_.kernel->design().storage());
  if (!design || design->rows() == 0) return nullptr;
  RegressionParts some = parts_;
  const Index n = design->rows();
  some.kernel = make_kernel(*design);
  some.response = every_value(parts_.response, n, stride, 1);
  some.weight = every_value(parts_.weight, n, stride, static_cast<double>(stride));
  some.offset = every_value(parts_.offset, n, stride, 1);
  some.status = every_value(parts_.status, n, stride, 1);
  return std::make_unique<ExpectedRegression>(std::move(some));
}

std::unique_ptr<Scratch> ExpectedRegression::make_scratch(Index factors) const {
  return std::make_unique<ExpectedScratch>(factors + 2);
}

double ExpectedRegression::expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                                  Evaluation& evaluation) const {
  auto& scratch = static_cast<ExpectedScratch&>(evaluation.scratch);
  const DesignKernel& kernel = *parts_.kernel;
  const Design& design = kernel.design();
  const Index coefficients = design.cols();
  const Index factors = q.factors.cols();
  const Vector square =
      q.residual_sd.size() > 0 ? Vector(q.residual_sd.head(coefficients).cwiseAbs2()) : Vector();
  Pass pass(parts_, q, scratch);
  scratch.prepare(chunk_count(static_cast<double>(design.entries()), coefficients), kernel.block_rows(),
                  kernel.packed_size(pass.leading() + factors), coefficients);
  pass.pack(factors);
  pass.run(
      evaluation.workers, kernel.block_rows(),
      [&](RowSpan span, double* variance) {
        if (square.size() > 0) add_squares(design, span, square.data(), variance);
      },
      [&](RowSpan span, Index chunk) {
        add_weighted_squares(design, span, scratch.curvature.col(chunk).data(),
                             scratch.squares.col(chunk).data());
      });
  curvature.times_factors.setZero(dimension(), factors);
  curvature.diagonal.setZero(dimension());
  for (Index k = 0; k < factors; ++k)
    pass.product(pass.leading() + k, curvature.times_factors.col(k).head(coefficients));
  curvature.diagonal.head(coefficients) = scratch.squares.col(0).head(coefficients);
  SymmetricEntries entries;
  const double value = pass.close(gradient, entries);
  add_entries(entries, q, curvature);
  return is_point(q) || !saturated(q.mean) ? value : -std::numeric_limits<double>::infinity();
}

double ExpectedRegression::expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                                  Evaluation& evaluation) const {
  auto& scratch = static_cast<ExpectedScratch&>(evaluation.scratch);
  const DesignKernel& kernel = *parts_.kernel;
  const Design& design = kernel.design();
  const Index coefficients = design.cols();
  const bool dense = q.residual_sd.size() == 0;
  const Index factors = dense ? 0 : q.factors.cols();
  const Vector square = dense ? Vector() : Vector(q.residual_sd.head(coefficients).cwiseAbs2());
  const RowMatrix root = dense ? RowMatrix(q.factors.topRows(coefficients)) : RowMatrix();
  Pass pass(parts_, q, scratch);
  const Index step = std::max(kGramRows, kernel.block_rows());
  scratch.prepare(gram_chunks(design), step, kernel.packed_size(pass.leading() + factors), coefficients);
  scratch.gram.assign(static_cast<std::size_t>(scratch.chunks), Matrix::Zero(coefficients, coefficients));
  pass.pack(factors);
  pass.run(
      evaluation.workers, step,
      [&](RowSpan span, double* variance) {
        if (!dense) return add_squares(design, span, square.data(), variance);
        if (root.cols() > 0) add_variances(design, span, root, variance);
      },
      [&](RowSpan span, Index chunk) {
        add_gram(design, span, scratch.curvature.col(chunk).data(),
                 scratch.gram[static_cast<std::size_t>(chunk)]);
      });
  curvature.setZero(dimension(), dimension());
  for (const Matrix& gram : scratch.gram) curvature.topLeftCorner(coefficients, coefficients) += gram;
  SymmetricEntries entries;
  const double value = pass.close(gradient, entries);
  for (const SymmetricEntry& e : entries)
    curvature(std::max(e.row, e.column), std::min(e.row, e.column)) += e.value;
  curvature.triangularView<Eigen::StrictlyUpper>() = curvature.transpose();
  return is_point(q) || !saturated(q.mean) ? value : -std::numeric_limits<double>::infinity();
}

}  // namespace magva::detail
