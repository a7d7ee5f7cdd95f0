#include "mixture/joint_precision.hpp"

#include <Eigen/Cholesky>

#include <algorithm>

namespace magva {

JointPrecision::JointPrecision(const ConditionalFit& fit) : fit_(fit) {
  const HessianPattern& pattern = fit.pattern();
  const std::vector<Index>& hyper = fit.hyper_parameters();
  const auto d = static_cast<Index>(hyper.size());
  std::vector<Index> rows = pattern.places().rows;
  std::vector<Index> columns = pattern.places().columns;
  entry_.setConstant(pattern.dimension(), d, -1);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    note_entry(rows[k], columns[k], static_cast<Index>(k));
    note_entry(columns[k], rows[k], static_cast<Index>(k));
  }
  const Vector in_sums = fit.sums().rowwise().squaredNorm();
  for (Index a = 0; a < d; ++a)
    for (Index i = 0; i < pattern.dimension(); ++i) {
      if (entry_(i, a) >= 0 || !(fit.is_hyper(i) || in_sums(i) > 0)) continue;
      const Index u = hyper[static_cast<std::size_t>(a)];
      const auto next = static_cast<Index>(rows.size());
      rows.push_back(std::max(i, u));
      columns.push_back(std::min(i, u));
      note_entry(i, u, next);
      note_entry(u, i, next);
    }
  structure_ =
      std::make_shared<const PrecisionStructure>(pattern.dimension(), std::move(rows), std::move(columns));
}

void JointPrecision::note_entry(Index i, Index hyper_parameter, Index entry) {
  const std::vector<Index>& hyper = fit_.hyper_parameters();
  const auto found = std::find(hyper.begin(), hyper.end(), hyper_parameter);
  if (found != hyper.end()) entry_(i, found - hyper.begin()) = entry;
}

// With V V' alone for the others, what is left beside it need not be positive definite: the sums are those of
// the others around the line B on which their mean moves, A = -B'V for the hyper-parameters.
std::shared_ptr<const FactoredPrecision> JointPrecision::make(const ConditionalGaussian& given,
                                                              const Matrix& covariance) const {
  const Eigen::LLT<Matrix> factor(covariance);
  if (factor.info() != Eigen::Success) return nullptr;
  const std::vector<Index>& hyper = fit_.hyper_parameters();
  const Matrix slopes = fit_.slopes(given);
  Matrix sums = fit_.sums();
  const Matrix of_hyper = -slopes.transpose() * sums;
  const Matrix taken = of_hyper * sums.transpose();
  const Matrix among = factor.solve(Matrix::Identity(covariance.rows(), covariance.cols())) -
                       fit_.cross(given.curvature).transpose() * slopes - of_hyper * of_hyper.transpose();
  Vector values = Vector::Zero(structure_->entries());
  values.head(given.curvature.size()) = given.curvature;
  for (Index a = 0; a < among.rows(); ++a) {
    for (Index i = 0; i < taken.cols(); ++i)
      if (entry_(i, a) >= 0 && !fit_.is_hyper(i)) values(entry_(i, a)) -= taken(a, i);
    for (Index b = 0; b <= a; ++b)
      values(entry_(hyper[static_cast<std::size_t>(b)], a)) = .5 * (among(a, b) + among(b, a));
  }
  sums(hyper, Eigen::all) = of_hyper;
  return FactoredPrecision::make(structure_, std::move(values), std::move(sums));
}

}  // namespace magva
