#pragma once
// The likelihood of the rows of one group as a function of the group's effects.
#include <memory>
#include <vector>

#include "mixed/layout.hpp"

namespace magva::mixed {

/// One group at one theta. Its effects are u = Lambda v for each linear predictor, whose v lie one after the
/// other.
struct Group {
  Index first_row, rows;
  const double* eta;  ///< without the group's effects; of the next predictor `stride` further
  Index stride;
  const double* own;      ///< the family's own values
  std::vector<Matrix> a;  ///< of each predictor: a column for each row, Lambda' z
};

/// Values and derivatives at several v, a column each.
struct GroupSlopes {
  Vector value;
  Matrix by_eta;  ///< of the first predictor's rows, then of the next one's; times their weights
  Matrix by_own;  ///< sums over the rows
};

class GroupLikelihood {
 public:
  virtual ~GroupLikelihood() = default;
  /// Sums of the rows' log likelihoods at each column of v.
  virtual Vector values(const Group& group, const Matrix& v) const = 0;
  virtual GroupSlopes slopes(const Group& group, const Matrix& v) const = 0;
  /// The sum at one v, its derivatives, and minus its second derivatives or a matrix near to these that is
  /// not indefinite.
  virtual double curvature(const Group& group, const Vector& v, Vector& gradient,
                           Matrix& precision) const = 0;
};

/// The problem must outlive them.
std::unique_ptr<const GroupLikelihood> make_group_likelihood(const Problem& problem);

}  // namespace magva::mixed
