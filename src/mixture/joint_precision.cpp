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
  pair_entry_ = Matrix::Constant(d, d, -1).cast<Index>();
  const auto number = [&](Index i) {
    return static_cast<Index>(std::find(hyper.begin(), hyper.end(), i) - hyper.begin());
  };
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (fit.is_hyper(rows[k]) && fit.is_hyper(columns[k]))
      set_pair(number(rows[k]), number(columns[k]), static_cast<Index>(k));
  for (Index a = 0; a < d; ++a)
    for (Index b = 0; b < a; ++b)
      if (pair_entry_(a, b) < 0) {
        set_pair(a, b, static_cast<Index>(rows.size()));
        rows.push_back(std::max(hyper[static_cast<std::size_t>(a)], hyper[static_cast<std::size_t>(b)]));
        columns.push_back(std::min(hyper[static_cast<std::size_t>(a)], hyper[static_cast<std::size_t>(b)]));
      }
  structure_ =
      std::make_shared<const PrecisionStructure>(pattern.dimension(), std::move(rows), std::move(columns));
}

Matrix JointPrecision::explained(const ConditionalGaussian& given) const {
  return -fit_.cross(given.curvature).transpose() * fit_.slopes(given);
}

std::shared_ptr<const FactoredPrecision> JointPrecision::make(const ConditionalGaussian& given,
                                                              const Matrix& covariance) const {
  const Eigen::LLT<Matrix> factor(covariance);
  if (factor.info() != Eigen::Success) return nullptr;
  const Matrix among =
      factor.solve(Matrix::Identity(covariance.rows(), covariance.cols())) + explained(given);
  Vector values = Vector::Zero(structure_->entries());
  values.head(given.curvature.size()) = given.curvature;
  for (Index a = 0; a < among.rows(); ++a)
    for (Index b = 0; b <= a; ++b) values(pair_entry_(a, b)) = .5 * (among(a, b) + among(b, a));
  return FactoredPrecision::make(structure_, std::move(values), fit_.sums());
}

}  // namespace magva
