#include "exact/root_ascent.hpp"

#include <cmath>
#include <limits>

namespace magva {

Matrix RootObjective::triangle(ConstVectorRef x) const {
  Matrix out = Matrix::Zero(m_, m_);
  out.diagonal() = x.segment(m_, m_).array().exp();
  Index next = 2 * m_;
  for (Index j = 1; j < m_; next += j++) out.col(j).head(j) = x.segment(next, j);
  return out;
}

RootPoint RootObjective::point(ConstVectorRef x) const {
  const auto root = start_.root.triangularView<Eigen::Upper>();
  return {start_.mean + root * x.head(m_), root * triangle(x)};
}

double RootObjective::evaluate(ConstVectorRef x, Vector& gradient) {
  gradient = Vector::Zero(x.size());
  const RootPoint at = point(x);
  const double log_determinant = 2 * at.root.diagonal().array().log().sum();
  if (!std::isfinite(log_determinant)) return -std::numeric_limits<double>::infinity();
  const CurvedElbo here = elbo_.full_rank(at.mean, at.root, log_determinant);
  if (!std::isfinite(here.elbo)) return here.elbo;
  const auto transposed = start_.root.triangularView<Eigen::Upper>().transpose();
  gradient.head(m_) = transposed * here.gradient;
  // By T: R'(root^-T - C root); the entropy's part is the diagonal's alone, exp(-t).
  const Matrix by_triangle = -(transposed * Matrix(here.curvature * at.root));
  gradient.segment(m_, m_) = 1 + by_triangle.diagonal().array() * x.segment(m_, m_).array().exp();
  Index next = 2 * m_;
  for (Index j = 1; j < m_; next += j++) gradient.segment(next, j) = by_triangle.col(j).head(j);
  return here.elbo;
}

RootAscent ascend_by_roots(ExactElbo& elbo, RootPoint start, double tolerance, int most_iterations,
                           const ExactObserver& go_on) {
  RootObjective objective(elbo, std::move(start), go_on);
  const Ascent ascent = ascend(objective, Vector::Zero(objective.dimension()), tolerance, most_iterations);
  return {objective.point(ascent.x), ascent.stop.iterations};
}

}  // namespace magva
