#pragma once
// The marginal density of the hyper-parameters between the values at which the others' Gaussian is known.
// Where it is known there without noise it is interpolated. Else the others are followed to their mode, by a
// few gradients, and what their mass has beyond the log density there, which varies little, is interpolated.
#include "mixture/conditional.hpp"
#include "mixture/hyper_design.hpp"

namespace magva {

class HyperMarginal {
 public:
  HyperMarginal(ConditionalFit& fit, const HyperDesign& design) : fit_(fit), design_(design) {}

  /// Values of the hyper-parameters, in units of the axes, and what the log density of the others is at most
  /// there, if they are followed.
  struct Draws {
    Matrix y;
    Vector height;
  };
  void add_draws(const Matrix& y, Draws& draws);
  /// The marginal log density, up to a constant. Far beyond the nodes there is none: they reach as far as
  /// there is mass, and what is interpolated is wrong there.
  Vector log_mass(const Draws& draws) const;
  /// The others at their mean given the hyper-parameters, one column each.
  Matrix theta_at(const Matrix& y) const;

 private:
  /// The mass of the others, interpolated between the nodes.
  Vector interpolated_mass(const Matrix& y) const;
  /// What the mass has beyond the height of the log density at its mean.
  Vector beyond_height(const Matrix& y) const;

  ConditionalFit& fit_;
  const HyperDesign& design_;
};

/// Puts columns, or entries, behind others.
template <class Columns>
void append(Columns& to, const Columns& more) {
  if constexpr (Columns::ColsAtCompileTime == 1) {
    to.conservativeResize(to.size() + more.size());
    to.tail(more.size()) = more;
  } else {
    to.conservativeResize(more.rows(), to.cols() + more.cols());
    to.rightCols(more.cols()) = more;
  }
}

}  // namespace magva
