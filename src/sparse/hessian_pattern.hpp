#pragma once
// Which parameters' derivatives depend on which others: the pattern of the Hessian, which in hierarchical,
// spatial and state-space models is sparse; and how few differences of gradients then give all of it.
//
// Coordinates of one colour are moved together. A star colouring (Coleman and More 1984; Gebremedhin, Manne
// and Pothen 2005) leaves each entry alone in the row of one of its two coordinates.
//
// A soft constraint on a sum, as of spatial effects, makes the Hessian dense by a term of rank 1; such terms
// are kept apart.
#include <cstdint>
#include <memory>
#include <vector>

#include "core/evaluator.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

/// -weight (sum of the members)^2 / 2, a term of the log density whose Hessian is constant.
struct SumTerm {
  std::vector<Index> members;
  double weight;
};

/// Places of the lower triangle, the whole diagonal among them, each once; and what the matrix has beside
/// them. A coordinate is a member of one sum at most.
struct PatternEntries {
  std::vector<Index> rows;
  std::vector<Index> columns;
  std::vector<SumTerm> sums;
};

class HessianPattern {
 public:
  /// Of a symmetric m x m matrix. Places in any order.
  HessianPattern(Index m, PatternEntries entries);

  Index dimension() const { return m_; }
  Index entries() const { return static_cast<Index>(places_.rows.size()); }
  /// Differences of gradients that give all entries.
  Index colours() const { return colours_; }
  const PatternEntries& places() const { return places_; }
  /// How matrices with these entries are factorised.
  const std::shared_ptr<const PrecisionStructure>& structure() const { return structure_; }
  /// V such that -Hessian is the matrix with the entries plus V V': one column per sum.
  const Matrix& sums() const { return sums_; }

  /// Entries of -Hessian - V V' at each column of theta, where the gradients are known, by differences over
  /// `length` along each coordinate; in columns whose `sign` is negative, in the other direction. NaN where a
  /// gradient is not finite.
  Matrix curvature(Evaluator& evaluator, ConstMatrixRef theta, ConstMatrixRef gradient, ConstVectorRef length,
                   const std::vector<double>& sign) const;
  /// The matrix with these entries plus V V', and the entries of such a matrix.
  Matrix dense(ConstVectorRef values) const;
  Vector entries_of(ConstMatrixRef dense) const;
  /// The diagonal of the matrix with these entries alone.
  Vector diagonal(ConstVectorRef values) const;
  void add_to_diagonal(ConstVectorRef added, VectorRef values) const;

 private:
  /// An entry is the change of the derivative `row` with the coordinate `moves`, the only one of its colour
  /// that counts there.
  struct Reading {
    Index row;
    Index moves;
  };
  void choose_readings(const std::vector<std::vector<Index>>& neighbours);

  /// What V V' adds to the product of -Hessian with the move of each colour.
  Matrix sums_times_moves(ConstVectorRef length) const;

  Index m_;
  PatternEntries places_;
  std::vector<Index> diagonal_;  // which entry
  std::vector<Index> colour_;
  Index colours_ = 0;
  std::shared_ptr<const PrecisionStructure> structure_;
  std::vector<Reading> readings_;
  Matrix sums_;
};

/// The pattern around a point, by m gradients, or about a thousand if m is large; nothing where it is too
/// dense to gain from, or where gradients elsewhere contradict it. `scale`: conditional posterior sds,
/// roughly.
std::shared_ptr<const HessianPattern> find_hessian_pattern(Evaluator& evaluator, ConstVectorRef at,
                                                           ConstVectorRef scale, std::uint64_t seed);

}  // namespace magva
