#include "scale/cuda_families.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "models/normal_rule.hpp"
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

std::optional<int> number_of(const ResponseFamily& family) {
  switch (family.distribution()) {
    case Distribution::bernoulli:
    case Distribution::binomial:
      return family.link() == Link::probit ? MAGVA_CUDA_BERNOULLI_PROBIT : MAGVA_CUDA_BERNOULLI_CLOGLOG;
    case Distribution::negative_binomial:
      return MAGVA_CUDA_NEGATIVE_BINOMIAL;
    case Distribution::gamma:
      return MAGVA_CUDA_GAMMA;
    case Distribution::weibull:
    case Distribution::exponential:
      return MAGVA_CUDA_WEIBULL;
    case Distribution::student_t:
      return MAGVA_CUDA_STUDENT_T;
    default:
      return std::nullopt;
  }
}

/// With c(nu) the normaliser of Student's t without its scale.
void student_t_values(double log_sigma, double log_nu, double* values) {
  const double nu = std::exp(log_nu);
  values[0] = log_sigma;
  values[1] = nu;
  values[2] = nu * std::exp(2 * log_sigma);
  values[3] = log_gamma(.5 * (nu + 1)) - log_gamma(.5 * nu) - .5 * (log_nu + std::log(std::numbers::pi));
  values[4] = .5 * nu * (digamma(.5 * (nu + 1)) - digamma(.5 * nu)) - .5;
}

void shape_values(double log_shape, double* values) {
  const double shape = std::exp(log_shape);
  values[0] = log_shape;
  values[1] = shape;
  values[2] = log_gamma(shape);
  values[3] = digamma(shape);
  values[4] = trigamma(shape);
}

/// The rules one after another.
struct RuleTable {
  RuleTable() {
    start.push_back(0);
    for (const PairRule& rule : normal_rules()) {
      largest_sd.push_back(rule.largest_sd);
      node.insert(node.end(), rule.node.begin(), rule.node.end());
      weight.insert(weight.end(), rule.weight.begin(), rule.weight.end());
      start.push_back(static_cast<std::int64_t>(node.size()));
    }
  }
  std::vector<double> largest_sd, node, weight;
  std::vector<std::int64_t> start;
};

}  // namespace

int cuda_likelihood(const Likelihood& likelihood) {
  switch (likelihood.kind()) {
    case LikelihoodKind::bernoulli_logit:
      return MAGVA_CUDA_BERNOULLI_LOGIT;
    case LikelihoodKind::poisson_log:
      return MAGVA_CUDA_POISSON_LOG;
    case LikelihoodKind::gaussian:
      return MAGVA_CUDA_GAUSSIAN;
    case LikelihoodKind::other:
      break;
  }
  if (const auto family = response_family(likelihood))
    if (const auto number = number_of(*family)) return *number;
  throw UsageError(
      "--device cuda is for regressions with one of the families of --family: fit this model without it");
}

void cuda_own_values(int kind, const Shape& shape, double* values) {
  std::fill_n(values, MAGVA_CUDA_OWN_VALUES, 0.0);
  switch (kind) {
    case MAGVA_CUDA_GAUSSIAN:
      values[0] = shape.precision;
      values[1] = shape.log_scale;
      return;
    case MAGVA_CUDA_NEGATIVE_BINOMIAL:
    case MAGVA_CUDA_GAMMA:
    case MAGVA_CUDA_WEIBULL:
      return shape_values(shape.own[0], values);
    case MAGVA_CUDA_STUDENT_T:
      return student_t_values(shape.own[0], shape.own[1], values);
    default:
      return;
  }
}

std::optional<std::vector<magva_cuda_own_node>> cuda_own_nodes(int kind, const Likelihood& likelihood,
                                                               const NormalMarginal& own) {
  const auto node_at = [&](double value, double shift, double weight) {
    magva_cuda_own_node node{shift, weight, {}};
    Shape shape;
    shape.own[0] = value;
    cuda_own_values(kind, shape, node.values);
    return node;
  };
  if (likelihood.nuisance_count() == 0) return std::vector{node_at(0, 0, 1)};
  const double sd = std::sqrt(own.variance);
  const PairRule* rule = normal_rule(sd);
  if (rule == nullptr) return std::nullopt;
  std::vector<magva_cuda_own_node> nodes;
  for (std::size_t k = 0; k < rule->node.size(); ++k)
    for (const double z : {-rule->node[k], rule->node[k]})
      nodes.push_back(node_at(own.mean + sd * z, sd > 0 ? z / sd : 0, rule->weight[k]));
  return nodes;
}

magva_cuda_rules cuda_rules() {
  static const RuleTable table;
  return {static_cast<std::int64_t>(table.largest_sd.size()), table.largest_sd.data(), table.start.data(),
          table.node.data(), table.weight.data()};
}

}  // namespace magva::detail
