#pragma once
// What single rows contribute to nested integrals: their log densities, or these with an effect of each row's
// own integrated out.
#include <memory>

#include "mixed/level_integral.hpp"
#include "mixed/nested_groups.hpp"

namespace magva::mixed {

/// The rows of a chunk at one theta.
class RowContents {
 public:
  virtual ~RowContents() = default;
  /// At the linear predictors of the chunk's rows.
  virtual void at(const Vector& eta, Wanted wanted, Contents& out) = 0;
};

/// `others`: rows of Contents::others.
struct RowsOfChunk {
  const Problem& problem;
  Index first, count;
  const Vector& own;
  Index others;
};

std::unique_ptr<RowContents> make_plain_rows(const RowsOfChunk& rows);

/// The effects of rows that have one each.
struct RowEffectLevel {
  double sd;
  Index number;  ///< of their level in Contents::others
  const HermiteRules& rules;
  Wanted most;  ///< that will be asked for
  Accuracy accuracy;
};

/// With the rows' effects integrated out. The integrals are functions of the linear predictor that rows with
/// equal responses share: tables of them, in which values are interpolated by the quintics that agree with
/// the first two derivatives at two nodes, and other derivatives by polynomials through six. `eta`: around
/// which the tables are wanted.
std::unique_ptr<RowContents> make_row_effects(const RowsOfChunk& rows, const EqualResponses& equal,
                                              const RowEffectLevel& level, const double* eta);

}  // namespace magva::mixed
