#pragma once
// Products of panels: blocks of at most a few hundred rows of tall matrices, which stay in cache. Tiles of
// the result are held in registers; sums run down the rows in one pack of accumulators per entry.
#include "magva/panel.hpp"

namespace magva::detail {

/// sums += A' B. Column i of the p x k sums starts at sums + i * p.
void add_gram(const Panel& a, const Panel& b, double* sums);
/// The same on and above the diagonal alone, for a symmetric A' B.
void add_upper_gram(const Panel& a, const Panel& b, double* sums);
/// out = alpha A M + beta out, where M is small and `out` is not A.
void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out);

/// x <- x L + v R where all columns of some rows fit the registers; false, and nothing done, where not.
bool combine_in_place(const MutablePanel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right);

/// out = diag(w) A.
void scale_rows(const Panel& a, const double* w, const MutablePanel& out);

/// The sum of log|x|: logarithms of the products of a few numbers, where these neither overflow nor
/// underflow.
double sum_of_logs(const double* x, Index n);

}  // namespace magva::detail
