#pragma once
// What exact expectations need of a block of rows besides the products of a DesignKernel: products with the
// squares of its entries, variances of linear predictors, and weighted Gram matrices.
#include "magva/regression.hpp"

namespace magva::detail {

/// Rows first .. first + count - 1 of a design.
struct RowSpan {
  Index first;
  Index count;
};

/// variance_i += sum_j x_ij^2 square_j.
void add_squares(const Design& design, RowSpan rows, const double* square, double* variance);
/// out_j += sum_i weight_i x_ij^2.
void add_weighted_squares(const Design& design, RowSpan rows, const double* weight, double* out);
/// variance_i += |root' x_i|^2.
void add_variances(const Design& design, RowSpan rows, const RowMatrix& root, double* variance);
/// The lower triangle of gram += sum_i weight_i x_i x_i', for weights that are not negative. What is above
/// has no meaning afterwards.
void add_gram(const Design& design, RowSpan rows, const double* weight, Matrix& gram);

}  // namespace magva::detail
