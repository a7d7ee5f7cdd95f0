#include "mixed/grouped_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace magva::mixed {

namespace {

constexpr Index kRowsPerChunk = 256;
constexpr Index kMostChunks = 64;

Vector reordered(const Vector& values, const std::vector<Index>& order) {
  if (values.size() == 0) return values;
  Vector out(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) out(static_cast<Index>(i)) = values(order[i]);
  return out;
}

// Calls visit(first, rows of the design) for the rows of a chunk, some at a time.
template <class Visit>
void for_each_part(const Problem& problem, const GroupChunk& chunk, Visit visit) {
  thread_local RowMatrix rows;
  for (Index first = 0; first < chunk.rows; first += kRowsPerChunk) {
    rows.resize(std::min(kRowsPerChunk, chunk.rows - first), problem.coefficients());
    read_rows(problem.data.design, chunk.first_row + first, rows);
    visit(first, rows);
  }
}

}  // namespace

Problem reorder(Problem problem, const std::vector<Index>& order) {
  if (std::is_sorted(order.begin(), order.end())) return problem;
  MixedData& data = problem.data;
  RowMatrix design(problem.rows(), problem.coefficients()), row(1, problem.coefficients());
  for (std::size_t i = 0; i < order.size() && design.cols() > 0; ++i) {
    read_rows(data.design, order[i], row);
    design.row(static_cast<Index>(i)) = row;
  }
  data.design = Design::own(std::move(design));
  for (Vector* values : {&data.response, &data.trials, &data.status, &data.offset, &data.weights})
    *values = reordered(*values, order);
  for (GroupTerm& term : data.terms) {
    std::vector<std::int32_t> group(term.group.size());
    for (std::size_t i = 0; i < order.size(); ++i) group[i] = term.group[static_cast<std::size_t>(order[i])];
    term.group = std::move(group);
    if (term.z.cols() > 0) term.z = RowMatrix(term.z(order, Eigen::all));
  }
  return problem;
}

namespace {

/// Of the coefficients that bend smooth terms, N(0, sd^2), by them and by log sd.
double smooth_log_prior(const Problem& problem, const HyperParameters& hyper, const double* theta,
                        double* gradient) {
  const Index p = problem.coefficients();
  double sum = 0;
  for (std::size_t k = 0; k < problem.priors.smooths.size(); ++k) {
    const SmoothPrior& smooth = problem.priors.smooths[k];
    const Index at = p + hyper.smooth_at(k);
    const double precision = std::exp(-2 * theta[at]), count = static_cast<double>(smooth.count);
    const Eigen::Map<const Vector> beta(theta + smooth.first, smooth.count);
    const double distance = precision * beta.squaredNorm();
    sum -= .5 * distance + count * (theta[at] + .5 * std::log(2 * std::numbers::pi));
    Eigen::Map<Vector>(gradient + smooth.first, smooth.count) -= precision * beta;
    gradient[at] += distance - count;
  }
  return sum;
}

}  // namespace

double coefficient_log_prior(const Problem& problem, const HyperParameters& hyper, const double* beta,
                             double* gradient) {
  double sum = smooth_log_prior(problem, hyper, beta, gradient);
  for (Index j = 0; j < problem.coefficients(); ++j) {
    if (problem.smooth(j)) continue;
    const double scale = problem.priors.scale(j), t = (beta[j] - problem.priors.location(j)) / scale;
    if (!problem.student(j)) {
      sum -= .5 * t * t + std::log(scale) + .5 * std::log(2 * std::numbers::pi);
      gradient[j] -= t / scale;
      continue;
    }
    const double nu = problem.priors.degrees_of_freedom(j);
    int sign = 0;
    sum += ::lgamma_r(.5 * (nu + 1), &sign) - ::lgamma_r(.5 * nu, &sign) -
           .5 * std::log(nu * std::numbers::pi) - std::log(scale) - .5 * (nu + 1) * std::log1p(t * t / nu);
    gradient[j] -= (nu + 1) * t / (nu + t * t) / scale;
  }
  return sum;
}

Vector coefficient_start(const Problem& problem) {
  Vector start = problem.priors.location;
  if (problem.coefficients() == 0) return start;
  RowMatrix row(1, problem.coefficients());
  read_rows(problem.data.design, 0, row);
  if (row(0, 0) == 1) start(0) = problem.family->eta_start(problem.response(), problem.data.weights);
  return start;
}

Vector coefficient_units(const Problem& problem) {
  Vector squares = Vector::Zero(problem.coefficients());
  if (problem.coefficients() > 0)
    for_each_part(problem, {0, 0, 0, problem.rows()}, [&](Index /*first*/, const RowMatrix& rows) {
      squares += rows.colwise().squaredNorm().transpose();
    });
  const Vector spread = (squares / static_cast<double>(problem.rows())).cwiseSqrt();
  Vector units = problem.priors.scale;
  for (Index j = 0; j < units.size(); ++j)
    if (spread(j) > 0) units(j) = std::min(units(j), 1 / spread(j));
  return units;
}

std::vector<GroupChunk> make_chunks(const std::vector<Index>& ends) {
  const Index rows = ends.empty() ? 0 : ends.back();
  const Index count = std::clamp<Index>(rows / kRowsPerChunk, 1, kMostChunks);
  std::vector<GroupChunk> chunks;
  Index group = 0, row = 0;
  for (Index c = 0; c < count; ++c) {
    const Index target = rows * (c + 1) / count;
    GroupChunk chunk{group, 0, row, 0};
    while (group < static_cast<Index>(ends.size()) &&
           (ends[static_cast<std::size_t>(group)] <= target || c + 1 == count)) {
      row = ends[static_cast<std::size_t>(group++)];
    }
    chunk.groups = group - chunk.first_group;
    chunk.rows = row - chunk.first_row;
    if (chunk.groups > 0) chunks.push_back(chunk);
  }
  return chunks;
}

void linear_predictor(const Problem& problem, const GroupChunk& chunk, const double* beta, double* eta) {
  for (Index i = 0; i < chunk.rows; ++i) eta[i] = problem.offset(chunk.first_row + i);
  if (problem.coefficients() == 0) return;
  const Eigen::Map<const Vector> b(beta, problem.coefficients());
  for_each_part(problem, chunk, [&](Index first, const RowMatrix& rows) {
    Eigen::Map<Vector>(eta + first, rows.rows()).noalias() += rows * b;
  });
}

void add_coefficient_gradient(const Problem& problem, const GroupChunk& chunk, const double* slopes,
                              double* gradient) {
  if (problem.coefficients() == 0) return;
  Eigen::Map<Vector> out(gradient, problem.coefficients());
  for_each_part(problem, chunk, [&](Index first, const RowMatrix& rows) {
    out.noalias() += rows.transpose() * Eigen::Map<const Vector>(slopes + first, rows.rows());
  });
}

double likelihood_constant(const Problem& problem) {
  Vector constants(problem.rows());
  problem.family->constants(problem.response(), constants.data());
  double sum = 0;
  for (Index i = 0; i < problem.rows(); ++i) sum += problem.weight(i) * constants(i);
  return sum;
}

}  // namespace magva::mixed
