#pragma once
// What quadrature over groups shares: rows sorted so that each group's are contiguous, coefficients as
// coordinates, chunks of groups for the threads, and the gradient by coefficients from the slopes of the
// rows.
#include <functional>
#include <vector>

#include "mixed/layout.hpp"

namespace magva::mixed {

/// The problem, in the order of its data, with its rows in this order; the design stays as it is.
Problem reorder(Problem problem, const std::vector<Index>& order);

/// log prior of the coefficients, normal or Student-t, whose derivatives are added to `gradient`. `theta` are
/// the coefficients and then the hyper-parameters, among which are unknown sds of coefficients.
double coefficient_log_prior(const Problem& problem, const HyperParameters& hyper, const double* theta,
                             double* gradient);

/// Coefficients to start a search from: the family's mean predictor in the direction of a constant column,
/// zeros else.
Vector coefficient_start(const Problem& problem);

/// By how much each coefficient may well change: as its prior says, or by what moves the rows' linear
/// predictors by 1, if that is less.
Vector coefficient_units(const Problem& problem);

/// Some groups and their rows.
struct GroupChunk {
  Index first_group, groups;
  Index first_row, rows;
};
/// Chunks of roughly equal numbers of rows, which depend on the data alone. `ends`: one past each group's
/// last row.
std::vector<GroupChunk> make_chunks(const std::vector<Index>& ends);

/// X beta + offset of a chunk's rows: of the first linear predictor, then of the next.
void linear_predictor(const Problem& problem, const GroupChunk& chunk, const double* beta, double* eta);
/// gradient += X' slopes of a chunk's rows, whose slopes are in the same order.
void add_coefficient_gradient(const Problem& problem, const GroupChunk& chunk, const double* slopes,
                              double* gradient);

/// Sum of w_i c(y_i).
double likelihood_constant(const Problem& problem);

}  // namespace magva::mixed
