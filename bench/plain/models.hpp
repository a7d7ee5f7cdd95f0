#pragma once
// The models as one would first write them: two Eigen products over the whole design and array expressions
// between them. The reference that every task is compared with.
#include "magva/types.hpp"

namespace magva::bench {

/// Logistic regression with the N(0, 10) prior. `eta` is work memory, rows x draws.
void plain_logistic(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                    Matrix& gradient, Matrix& eta);
/// The same with the centred horseshoe.
void plain_horseshoe(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                     Matrix& gradient, Matrix& eta);

}  // namespace magva::bench
