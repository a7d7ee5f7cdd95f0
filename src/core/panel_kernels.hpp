#pragma once
// Products of panels: blocks of at most a few hundred rows of tall matrices, which stay in cache. Tiles of
// the result are held in registers; sums run down the rows in one vector of accumulators per entry. After
// each tile some of what lies ahead is asked for.
#include "core/panel.hpp"

namespace magva::detail {

/// sums += A' B. Column i of the p x k sums starts at sums + i * p.
void add_gram(const Panel& a, const Panel& b, double* sums, PrefetchQueue& prefetch);
/// The same on and above the diagonal alone, for a symmetric A' B.
void add_upper_gram(const Panel& a, const Panel& b, double* sums, PrefetchQueue& prefetch);
/// out = alpha A M + beta out, where M is small and `out` is not A.
void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out);
void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out,
              PrefetchQueue& prefetch);

/// out = X L + V R, where L and R are small; `out` may be X where combines_in_place(its columns).
void combine(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
             const MutablePanel& out, PrefetchQueue& prefetch);
bool combines_in_place(Index columns);

/// out = diag(w) A.
void scale_rows(const Panel& a, const double* w, const MutablePanel& out);

/// For memory that is not read again before the caches have forgotten it. Other threads see it when they see
/// that this task of Workers has ended: the locked instruction that says so waits for such stores, and a
/// fence after each copy would stop a sweep.
void stream_copy(const double* from, Index n, double* to);

/// The sum of log|x|: logarithms of the products of a few numbers, where these neither overflow nor
/// underflow.
double sum_of_logs(const double* x, Index n);

}  // namespace magva::detail
