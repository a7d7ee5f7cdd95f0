#include "mixture/hyper_marginal.hpp"

#include <cmath>
#include <limits>

#include "mixture/spline.hpp"

namespace magva {

namespace {

/// On a ray that leaves the region of the nodes, where its slope is measured from, as a share of the way.
constexpr double kBeforeEnd = .8;
constexpr double kLeastBetweenNodes = .55;

Matrix stacked_means(const HyperDesign& design) {
  const auto& nodes = design.nodes();
  Matrix out(nodes.front().given.theta.size(), static_cast<Index>(nodes.size()));
  for (std::size_t j = 0; j < nodes.size(); ++j) out.col(static_cast<Index>(j)) = nodes[j].given.theta;
  return out;
}

/// Between the nodes as it is; beyond them along rays from the centre, as steeply as before.
Vector continued(const HyperDesign& design, const TrendedSpline& function, const Matrix& y) {
  Vector within(y.cols());
  for (Index s = 0; s < y.cols(); ++s) within(s) = design.share_between_nodes(y.col(s));
  const Vector at_end = function(y * within.asDiagonal()).transpose();
  const Vector before = function(y * (kBeforeEnd * within).asDiagonal()).transpose();
  return at_end.array() + (1 / within.array() - 1) * (at_end - before).array() / (1 - kBeforeEnd);
}

/// The linear function of y that is nearest to these values at places.
Vector linear_part(const Matrix& places, const Vector& values, const Matrix& y) {
  Matrix linear(places.cols(), places.rows() + 1);
  linear << Vector::Ones(places.cols()), places.transpose();
  const Vector slope = linear.colPivHouseholderQr().solve(values);
  return slope(0) + (slope.tail(places.rows()).transpose() * y).transpose().array();
}

}  // namespace

Matrix HyperMarginal::theta_at(const Matrix& y) const {
  Matrix out = TrendedSpline(design_.places(), stacked_means(design_))(y);
  out(fit_.hyper_parameters(), Eigen::all) = (design_.basis() * y).colwise() + design_.centre();
  return out;
}

Vector HyperMarginal::interpolated_mass(const Matrix& y) const {
  const auto& nodes = design_.nodes();
  Matrix mass(1, static_cast<Index>(nodes.size()));
  for (std::size_t j = 0; j < nodes.size(); ++j) mass(0, static_cast<Index>(j)) = nodes[j].log_mass();
  return continued(design_, TrendedSpline(design_.places(), mass), y);
}

// Of what the bound misses, which is known with the noise of draws, the linear part is taken.
Vector HyperMarginal::beyond_height(const Matrix& y) const {
  const Matrix places = design_.places();
  const auto& nodes = design_.nodes();
  Matrix gap(1, places.cols());
  Vector missing(places.cols());
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    gap(0, static_cast<Index>(j)) = nodes[j].given.elbo - nodes[j].given.height;
    missing(static_cast<Index>(j)) = nodes[j].given.missing;
  }
  return linear_part(places, missing, y) + continued(design_, TrendedSpline(places, gap), y);
}

void HyperMarginal::add_draws(const Matrix& y, Draws& draws) {
  if (fit_.has_quadrature()) return append(draws.y, y);
  std::vector<const ConditionalGaussian*> near;
  for (const auto place : y.colwise()) near.push_back(&design_.nodes()[design_.nearest(place)].given);
  append(draws.y, y);
  append(draws.height, fit_.heights(theta_at(y), near));
}

Vector HyperMarginal::log_mass(const Draws& draws) const {
  Vector out =
      fit_.has_quadrature() ? interpolated_mass(draws.y) : Vector(draws.height + beyond_height(draws.y));
  for (Index s = 0; s < out.size(); ++s)
    if (!std::isfinite(out(s)) || design_.share_between_nodes(draws.y.col(s)) < kLeastBetweenNodes)
      out(s) = -std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace magva
