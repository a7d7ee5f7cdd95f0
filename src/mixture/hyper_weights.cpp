#include "mixture/hyper_weights.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "mixture/hyper_cells.hpp"

namespace magva {

namespace {

/// A mixture's marginal distribution of some coordinates.
std::vector<HyperCell> marginal_cells(const GaussianMixture& q, const std::vector<Index>& coordinates) {
  const auto d = static_cast<Index>(coordinates.size());
  std::vector<HyperCell> out;
  for (std::size_t j = 0; j < q.components().size(); ++j) {
    const Gaussian& component = q.components()[j];
    HyperCell cell{q.weights()(static_cast<Index>(j)), 0, component.mean()(coordinates), Matrix(d, d)};
    for (Index k = 0; k < d; ++k)
      cell.covariance.col(k) =
          component.covariance_row(coordinates[static_cast<std::size_t>(k)])(coordinates);
    out.push_back(std::move(cell));
  }
  return out;
}

}  // namespace

HyperWeights::HyperWeights(Evaluator& evaluator, const Gaussian& q,
                           const std::shared_ptr<const HessianPattern>& pattern,
                           const std::vector<Index>& hyper_parameters, std::uint64_t seed)
    : fit_(evaluator, pattern, hyper_parameters, conditional_differences(q), seed),
      design_(fit_, q),
      marginal_(fit_, design_) {}

Vector HyperWeights::log_weights(const GaussianMixture& q, const Matrix& theta) {
  const Matrix u = theta(fit_.hyper_parameters(), Eigen::all);
  HyperMarginal::Draws draws;
  marginal_.add_draws(design_.basis().partialPivLu().solve(u.colwise() - design_.centre()), draws);
  return marginal_.log_mass(draws) - log_density(marginal_cells(q, fit_.hyper_parameters()), u);
}

}  // namespace magva
