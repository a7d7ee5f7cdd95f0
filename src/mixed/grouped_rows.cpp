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
    rows.resize(std::min(kRowsPerChunk, chunk.rows - first), problem.columns());
    read_rows(problem, chunk.first_row + first, rows);
    visit(first, rows);
  }
}

}  // namespace

Problem reorder(Problem problem, const std::vector<Index>& order) {
  if (std::is_sorted(order.begin(), order.end())) return problem;
  MixedData& data = problem.data;
  problem.row_of_design = order;
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

/// Of the coefficients with unknown sds, N(0, sd^2), by them and by the coordinates of the sds.
double unknown_sd_log_prior(const Problem& problem, const HyperParameters& hyper, const double* theta,
                            double* gradient) {
  if (hyper.sds().size() == 0) return 0;
  const Index p = problem.coefficients(), at = p + hyper.sds_at();
  Vector sds = Vector::Ones(p), by_log_sd = Vector::Zero(p);
  hyper.sds().set(theta + at, sds);
  double sum = 0;
  for (Index j = 0; j < p; ++j) {
    if (!problem.unknown_sd(j)) continue;
    const double t = theta[j] / sds(j);
    sum -= .5 * t * t + std::log(sds(j)) + .5 * std::log(2 * std::numbers::pi);
    gradient[j] -= t / sds(j);
    by_log_sd(j) = t * t - 1;
  }
  hyper.sds().add_gradient(theta + at, by_log_sd, gradient + at);
  return sum;
}

/// Linear predictors to start from: of all rows the same.
Vector predictor_start(const Problem& problem) {
  if (problem.family)
    return Vector::Constant(1, problem.family->eta_start(problem.response(), problem.data.weights));
  Vector shares = Vector::Constant(problem.predictors + 1, .5);
  for (Index i = 0; i < problem.rows(); ++i)
    shares(static_cast<Index>(problem.data.response(i))) += problem.weight(i);
  return (shares.tail(problem.predictors) / shares(0)).array().log();
}

}  // namespace

double coefficient_log_prior(const Problem& problem, const HyperParameters& hyper, const double* theta,
                             double* gradient) {
  double sum = unknown_sd_log_prior(problem, hyper, theta, gradient);
  for (Index j = 0; j < problem.coefficients(); ++j) {
    if (problem.unknown_sd(j)) continue;
    const double scale = problem.priors.scale(j), t = (theta[j] - problem.priors.location(j)) / scale;
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
  if (problem.columns() == 0) return start;
  RowMatrix row(1, problem.columns());
  read_rows(problem, 0, row);
  if (row(0, 0) != 1) return start;
  const Vector eta = predictor_start(problem);
  for (Index c = 0; c < problem.predictors; ++c) start(c * problem.columns()) = eta(c);
  return start;
}

Vector coefficient_units(const Problem& problem) {
  Vector squares = Vector::Zero(problem.columns());
  if (problem.columns() > 0)
    for_each_part(problem, {0, 0, 0, problem.rows()}, [&](Index /*first*/, const RowMatrix& rows) {
      squares += rows.colwise().squaredNorm().transpose();
    });
  const Vector spread = (squares / static_cast<double>(problem.rows())).cwiseSqrt();
  Vector units = problem.priors.scale;
  for (Index j = 0; j < units.size(); ++j)
    if (const double of_column = spread(j % problem.columns()); of_column > 0)
      units(j) = std::min(units(j), 1 / of_column);
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
  for (Index c = 1; c < problem.predictors; ++c) std::copy_n(eta, chunk.rows, eta + c * chunk.rows);
  if (problem.columns() == 0) return;
  const Eigen::Map<const Matrix> b(beta, problem.columns(), problem.predictors);
  Eigen::Map<Matrix> out(eta, chunk.rows, problem.predictors);
  for_each_part(problem, chunk, [&](Index first, const RowMatrix& rows) {
    for (Index c = 0; c < problem.predictors; ++c)
      out.col(c).segment(first, rows.rows()).noalias() += rows * b.col(c);
  });
}

void add_coefficient_gradient(const Problem& problem, const GroupChunk& chunk, const double* slopes,
                              double* gradient) {
  if (problem.columns() == 0) return;
  Eigen::Map<Matrix> out(gradient, problem.columns(), problem.predictors);
  const Eigen::Map<const Matrix> by_eta(slopes, chunk.rows, problem.predictors);
  for_each_part(problem, chunk, [&](Index first, const RowMatrix& rows) {
    for (Index c = 0; c < problem.predictors; ++c)
      out.col(c).noalias() += rows.transpose() * by_eta.col(c).segment(first, rows.rows());
  });
}

double likelihood_constant(const Problem& problem) {
  if (!problem.family) return 0;
  Vector constants(problem.rows());
  problem.family->constants(problem.response(), constants.data());
  double sum = 0;
  for (Index i = 0; i < problem.rows(); ++i) sum += problem.weight(i) * constants(i);
  return sum;
}

}  // namespace magva::mixed
