#pragma once
// B-splines on equidistant knots.
#include "magva/types.hpp"

namespace magva {

/// `functions` B-splines of the given degree whose knots cut [lower, upper] into functions - degree equal
/// pieces and go on beyond both ends. They are not negative and sum to one on [lower, upper].
class BSplineBasis {
 public:
  /// Throws UsageError where no such basis exists.
  BSplineBasis(Index functions, Index degree, double lower, double upper);

  Index functions() const { return functions_; }
  Index degree() const { return degree_; }
  double lower() const { return lower_; }
  double upper() const { return upper_; }
  /// All functions + degree + 1 knots, in order.
  Vector knots() const;
  /// One row for each x, one column a function. Throws DataError at an x outside [lower, upper].
  RowMatrix operator()(ConstVectorRef x) const;

 private:
  double knot(Index i) const;
  Index functions_;
  Index degree_;
  double lower_;
  double upper_;
};

}  // namespace magva
