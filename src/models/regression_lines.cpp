// Log densities of a regression on lines through a point: the predictors of centre + z direction are those of
// the centre and z times those of the direction, so that one product does for all points of a line.
#include <algorithm>
#include <vector>

#include "core/vector.hpp"
#include "models/row_chunks.hpp"

namespace magva {

namespace {

using detail::kDrawTile;
using detail::kPadding;
using detail::Observations;
using detail::padded;
using detail::RowBlock;

/// Of a product for the centre and the lines: filled up with zeros to whole tiles, since two or three columns
/// beside these take longer than a tile. One more than these is in the last.
Index columns_for(Index lines) {
  const Index columns = lines + 1;
  const Index rest = columns % kDrawTile;
  return columns < kDrawTile || rest <= 1 ? columns : columns + kDrawTile - rest;
}

/// Sums over rows for every line and point, in chunks of rows that threads share.
class LineWork {
 public:
  LineWork(const detail::DesignKernel& kernel, const Likelihood& likelihood, const Observations& observations,
           ConstVectorRef steps, Index lines)
      : kernel_(kernel),
        likelihood_(likelihood),
        observations_(observations),
        steps_(steps),
        lines_(lines),
        columns_(columns_for(lines)),
        packed_(Vector::Zero(kernel.packed_size(columns_))),
        shapes_(static_cast<std::size_t>(lines * steps.size())) {
    const Design& design = kernel.design();
    chunks_ = detail::chunk_count(static_cast<double>(design.entries()), design.cols());
    sums_.resize(shapes_.size() * static_cast<std::size_t>(chunks_));
  }

  /// Column 0 is the centre, j + 1 a direction.
  void pack(const double* coefficients, Index column) {
    kernel_.pack(coefficients, column, columns_, packed_.data());
  }
  void set_shape(Index line, Index point, const Shape& shape) {
    shapes_[static_cast<std::size_t>(line * steps_.size() + point)] = shape;
  }

  void run(Workers& workers) {
    workers.run(chunks_, [this](Index chunk) { go_over(chunk); });
    for (Index chunk = 1; chunk < chunks_; ++chunk)
      for (Index s = 0; s < lines_ * steps_.size(); ++s) detail::add(chunk_sums(chunk)[s], chunk_sums(0)[s]);
  }

  double log_likelihood(Index line, Index point) {
    return detail::total(chunk_sums(0)[line * steps_.size() + point].log_likelihood);
  }

 private:
  BlockSums* chunk_sums(Index chunk) { return sums_.data() + chunk * lines_ * steps_.size(); }

  void go_over(Index chunk) {
    const Index rows = kernel_.design().rows();
    const Index step = kernel_.block_rows();
    const Range eights = piece((rows + kPadding - 1) / kPadding, chunks_, chunk);
    const Index end = std::min(eights.end * kPadding, rows);
    Matrix products(step, columns_);
    Matrix eta(step, steps_.size());
    for (Index row = eights.begin * kPadding; row < end; row += step) {
      const RowBlock block{nullptr, row, std::min(step, end - row)};
      kernel_.multiply(block, packed_.data(), columns_, products.data(), step);
      products.middleRows(block.size, padded(block.size) - block.size).setZero();
      if (observations_.offset)
        products.col(0).head(block.size) += Eigen::Map<const Vector>(observations_.offset + row, block.size);
      for (Index line = 0; line < lines_; ++line) take_line(block, line, products, eta, chunk_sums(chunk));
    }
    for (Index s = 0; s < lines_ * steps_.size(); ++s) likelihood_.close(chunk_sums(chunk)[s]);
  }

  void take_line(const RowBlock& block, Index line, const Matrix& products, Matrix& eta, BlockSums* sums) {
    const Index filled = padded(block.size);
    for (Index k = 0; k < steps_.size(); ++k)
      eta.col(k).head(filled) =
          products.col(0).head(filled) + steps_(k) * products.col(line + 1).head(filled);
    const ResponseBlock responses{observations_.response + block.begin, observations_.weight + block.begin,
                                  filled, observations_.unweighted,
                                  observations_.status ? observations_.status + block.begin : nullptr};
    const Index at = line * steps_.size();
    likelihood_.evaluate_block(responses, eta.data(), eta.rows(), steps_.size(), shapes_.data() + at,
                               sums + at);
  }

  const detail::DesignKernel& kernel_;
  const Likelihood& likelihood_;
  Observations observations_;
  Eigen::Ref<const Vector> steps_;
  Index lines_;
  Index columns_;
  Index chunks_ = 1;
  Vector packed_;
  std::vector<Shape> shapes_;
  std::vector<BlockSums> sums_;
};

}  // namespace

bool Regression::evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                                MatrixRef log_density, Evaluation& evaluation) const {
  if (!prior_->coefficients_are_coordinates()) return false;
  LineWork work(*kernel_, *likelihood_, observations(), steps, directions.cols());
  work.pack(centre.data(), 0);
  Vector theta(dimension());
  Vector gradient(dimension());
  for (Index j = 0; j < directions.cols(); ++j) {
    work.pack(directions.col(j).data(), j + 1);
    for (Index k = 0; k < steps.size(); ++k) {
      theta = centre + steps(k) * directions.col(j);
      work.set_shape(j, k, detail::shape_at(*likelihood_, theta));
      gradient.setZero();
      double& value = log_density(k, j);
      value = constant_ + prior_->add_to(theta.data(), nullptr, gradient.data());
      for (Index own = 0; own < likelihood_->nuisance_count(); ++own) {
        const Index at = prior_->dimension() + own;
        value += likelihood_->nuisance_prior(own, theta(at), gradient(at));
      }
    }
  }
  work.run(evaluation.workers);
  for (Index j = 0; j < directions.cols(); ++j)
    for (Index k = 0; k < steps.size(); ++k) log_density(k, j) += work.log_likelihood(j, k);
  return true;
}

}  // namespace magva
