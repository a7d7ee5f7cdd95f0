#include "mixture/hyper_proposal.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

#include "mixture/spline.hpp"

namespace magva {

namespace {

/// Points of a marginal density on an axis, and how many nats it goes on to fall beyond the last one that was
/// walked to, as steeply as there, at least and at most so far.
constexpr Index kAxisGrid = 512;
constexpr double kFallBeyond = 7;
constexpr double kLeastBeyond = 1;
constexpr double kMostBeyond = 30;
/// Weights from which a proposal is learnt are flattened until so many draws are effective.
constexpr double kFewestLearntFrom = 50;
constexpr std::uint64_t kHyperSeed = 1;
/// Around each node of a tail.
constexpr Index kTailDraws = 128;

/// Points of [0, 1]^d that fill it evenly: multiples of powers of the root of x^(d+1) = x + 1, without their
/// whole parts (Roberts 2018).
Matrix even_points(Index d, Index count) {
  double root = 1.5;
  for (int k = 0; k < 100; ++k) root = std::pow(1 + root, 1 / static_cast<double>(d + 1));
  Matrix out(d, count);
  for (Index k = 0; k < d; ++k) {
    const double step = std::pow(root, -static_cast<double>(k + 1));
    for (Index s = 0; s < count; ++s) {
      const double x = .5 + step * static_cast<double>(s + 1);
      out(k, s) = x - std::floor(x);
    }
  }
  return out;
}

/// How far a density goes on, of which the logarithm falls like this.
double length_beyond(double slope) {
  return slope < 0 ? std::clamp(-kFallBeyond / slope, kLeastBeyond, kMostBeyond) : kMostBeyond;
}

/// The marginal along an axis, as if the others stayed at 0.
LineDensity axis_density(const HyperDesign& design, Index axis) {
  const std::vector<Index> on_axis = design.on_axis(axis);
  const Matrix places = design.places();
  Matrix points(1, static_cast<Index>(on_axis.size()));
  Matrix values(1, points.cols());
  for (Index j = 0; j < points.cols(); ++j) {
    const Index node = on_axis[static_cast<std::size_t>(j)];
    points(0, j) = places(axis, node);
    values(0, j) = design.nodes()[static_cast<std::size_t>(node)].log_mass();
  }
  const PolyharmonicSpline spline(points, values);
  const double low = points.minCoeff();
  const double high = points.maxCoeff();
  Matrix ends(1, 4);
  ends << low - 1, low, high, high + 1;
  const Vector at_ends = spline(ends).transpose();
  const Vector grid = Vector::LinSpaced(kAxisGrid, low - length_beyond(at_ends(0) - at_ends(1)),
                                        high + length_beyond(at_ends(3) - at_ends(2)));
  return {grid, spline(grid.transpose()).transpose()};
}

/// The weights to a power at which enough draws are effective.
Vector flattened_shares(const Vector& log_weights) {
  Vector share = shares(log_weights);
  for (double power = .8; effective_draws(share) < kFewestLearntFrom && power > .01; power *= .8)
    share = shares(power * log_weights);
  return share;
}

}  // namespace

Vector shares(const Vector& log_weights) {
  const Vector out = (log_weights.array() - log_weights.maxCoeff()).exp();
  return out / out.sum();
}

double effective_draws(const Vector& share) { return 1 / share.squaredNorm(); }

HyperProposal::HyperProposal(const HyperDesign& design) {
  const Matrix unit = Matrix::Identity(design.axes(), design.axes());
  for (Index axis = 0; axis < design.axes(); ++axis) axes_.push_back(axis_density(design, axis));
  for (const std::size_t node : design.tails())
    parts_.push_back({mixed::StudentT(Gaussian::dense(design.place_of(node), unit)), 0});
}

Matrix HyperProposal::draws(Index count) {
  Matrix out(static_cast<Index>(axes_.size()), 0);
  if (drawn_on_axes_ == 0) {
    out = even_points(out.rows(), count);
    for (std::size_t k = 0; k < axes_.size(); ++k)
      for (double& y : out.row(static_cast<Index>(k))) y = axes_[k].quantile(y);
    drawn_on_axes_ = count;
    count = kTailDraws;
  }
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (parts_[k].drawn > 0) continue;
    parts_[k].drawn = count;
    out.conservativeResize(Eigen::NoChange, out.cols() + count);
    out.rightCols(count) = parts_[k].density.draws(count, kHyperSeed + k);
  }
  return out;
}

Vector HyperProposal::log_density(const Matrix& y) const {
  Vector sum = Vector::Constant(y.cols(), static_cast<double>(drawn_on_axes_));
  for (std::size_t k = 0; k < axes_.size(); ++k)
    for (Index s = 0; s < y.cols(); ++s) sum(s) *= axes_[k](y(static_cast<Index>(k), s));
  for (const Part& part : parts_)
    sum.array() += static_cast<double>(part.drawn) * part.density.log_density(y).array().exp();
  return sum.array().log();
}

void HyperProposal::learn(const Matrix& y, const Vector& log_weights) {
  const Vector share = flattened_shares(log_weights);
  const Vector mean = y * share;
  const Matrix apart = y.colwise() - mean;
  const Matrix covariance = apart * share.asDiagonal() * apart.transpose();
  const Matrix some = 1e-6 * Matrix::Identity(mean.size(), mean.size());
  parts_.push_back({mixed::StudentT(Gaussian::dense(mean, Matrix((covariance + some).llt().matrixL()))), 0});
}

}  // namespace magva
