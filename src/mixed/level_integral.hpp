#pragma once
// The groups of one level of nested factors, all at once. What a group contains depends on the outer effects
// only through their sum, the offset o: G(o) = log of the integral over the group's own effect s v, v ~ N(0,
// 1), of the product of what it contains at offset o + s v. With G come its first two derivatives (Louis
// 1982), by which the next outer level finds its mode.
#include <functional>

#include "mixed/hermite.hpp"
#include "mixed/methods.hpp"
#include "mixed/rejection.hpp"

namespace magva::mixed {

/// What is asked for.
enum class Wanted {
  profile,  ///< the maximum over inner effects instead of the integral, with derivatives: a cheap first guess
  value,    ///< the integral
  curvature,  ///< with its first two derivatives by the offset
  gradient,   ///< with its first derivatives by the offset and everything else
};

/// Logarithms of what some groups contribute, with derivatives.
struct Contents {
  Vector value, slope, curvature;  ///< and derivatives by the offsets
  Matrix others;  ///< a column for each: derivatives by own values, and E[v^2] - 1 summed for each level
  Vector rows;    ///< derivatives by the linear predictors of the rows
};

/// Contents at an offset for each group.
using ContentOf = std::function<void(const Vector& offset, Wanted wanted, Contents& out)>;

struct CurvePoints;

class LevelIntegral {
 public:
  /// `number`: of this level among others' rows of Contents. `group_of_row`: of each row of the chunk.
  /// `innermost`: contents have no integrals of their own, and their profile is the whole of it.
  struct Shape {
    Index groups;
    double sd;
    Index number;
    std::vector<Index> group_of_row;
    bool innermost;
    Accuracy accuracy;
  };
  LevelIntegral(Shape shape, const HermiteRules& rules);

  const Shape& shape() const { return shape_; }
  void integrate(const Vector& offset, const ContentOf& content, Wanted wanted, Contents& out);

  /// What draws at these offsets need.
  void prepare_draws(const Vector& offset, const ContentOf& content);
  /// v of a group, by rejection.
  double draw(Index g, ProposalNoise& noise) const;

 private:
  void find_modes(const Vector& offset, const ContentOf& content, Wanted wanted, Contents& at);
  void add_node(const Contents& at, const Vector& v, const Vector& share, Wanted wanted, Contents& out) const;
  /// Log densities of the groups' own v near their modes: polynomials through values and derivatives at some
  /// points.
  void find_curves(const Vector& offset, const ContentOf& content);
  void integrate_curves(Vector& value) const;
  double log_density(Index g, double z) const;

  Shape shape_;
  const HermiteRules& rules_;
  // Where the modes were when they were last looked for, and how they move with the offset.
  Vector last_offset_, mode_, by_offset_;
  Vector mode_sd_;
  Vector at_mode_;  // log integrand
  const CurvePoints* curve_ = nullptr;
  Matrix polynomial_;  // a column for each group
  Matrix points_;      // value, first and second derivative at each point
  Vector bound_;       // of log density less log proposal
  Contents at_;        // memory
};

}  // namespace magva::mixed
