#include "problems.hpp"

#include <fmt/format.h>

#include <fstream>

#include "core/noise.hpp"
#include "magva/error.hpp"
#include "magva/table.hpp"
#include "plain/models.hpp"
#include "table/read_table.hpp"

namespace magva::bench {

namespace {

Matrix small_normals(Index rows, Index cols) {
  Matrix theta(rows, cols);
  Noise(2, NoiseStream::kStarts).fill(0, 0, theta);
  return .1 * theta;
}

}  // namespace

TaskProblem ionosphere_problem(const std::filesystem::path& csv) {
  table::DesignOptions options;
  options.response = std::string("Class");
  options.positive_class = std::string("g");
  options.discretise = table::Discretise::mdlp;
  auto learnt = table::learn_design(table::read_table(csv.string()), options);
  const Index m = learnt.design.x.cols();
  return {
      "ionosphere",       std::move(learnt.design.x), std::move(learnt.design.y), PriorKind::kNormal, 4, 1,
      small_normals(m, 1)};
}

TaskProblem random_problem(const std::string& name, Index rows, Index cols, PriorKind prior, Index rank,
                           Index draws) {
  Matrix numbers(rows * cols + rows, 1);
  Noise(1, NoiseStream::kStarts).fill(0, 0, numbers);
  RowMatrix x = Eigen::Map<const RowMatrix>(numbers.data(), rows, cols);
  x.col(0).setOnes();
  Vector y = (numbers.col(0).tail(rows).array() > 0).cast<double>();
  const Index m = prior == PriorKind::kNormal ? cols : 2 * cols;
  return {name, std::move(x), std::move(y), prior, rank, draws, small_normals(m, draws)};
}

Regression model_of(const TaskProblem& problem) {
  RegressionData data{Design::own(problem.x), problem.y, {}, {}};
  if (problem.prior == PriorKind::kNormal) return logistic_regression(std::move(data));
  return logistic_regression(std::move(data), HorseshoeOptions{HorseshoeForm::centred});
}

namespace {

using Evaluate = void (Model::*)(ConstMatrixRef, VectorRef, MatrixRef, Evaluation&) const;

Densities evaluate(const TaskProblem& problem, Evaluate how) {
  const Regression model = model_of(problem);
  const Index draws = problem.theta.cols();
  Densities out{Vector(draws), Matrix(problem.dimension(), draws)};
  Workers workers;
  const auto scratch = model.make_scratch(draws);
  Evaluation evaluation{*scratch, workers};
  (static_cast<const Model&>(model).*how)(problem.theta, out.log_density, out.gradient, evaluation);
  return out;
}

/// What is wanted of the gradients of antithetic draws: the pairs' half-differences, and the mean of all.
Densities in_pairs(const Densities& all) {
  const Index pairs = all.gradient.cols() / 2;
  Matrix wanted(all.gradient.rows(), pairs + 1);
  wanted << .5 * (all.gradient.leftCols(pairs) - all.gradient.rightCols(pairs)),
      all.gradient.rowwise().mean();
  return {all.log_density, wanted};
}

}  // namespace

Densities our_densities(const TaskProblem& problem) { return evaluate(problem, &Model::evaluate); }

Densities plain_densities(const TaskProblem& problem) {
  const Index draws = problem.theta.cols();
  Densities out{Vector(draws), Matrix(problem.dimension(), draws)};
  Matrix eta(problem.x.rows(), draws);
  const auto plain = problem.prior == PriorKind::kNormal ? plain_logistic : plain_horseshoe;
  plain(problem.x, problem.y, problem.theta, out.log_density, out.gradient, eta);
  return out;
}

double disagreement(const Densities& a, const Densities& b) {
  const double gradient = (a.gradient - b.gradient).cwiseAbs().maxCoeff() / b.gradient.cwiseAbs().maxCoeff();
  const double density =
      (a.log_density - b.log_density).cwiseAbs().maxCoeff() / b.log_density.cwiseAbs().maxCoeff();
  return std::max(gradient, density);
}

double disagreement_in_pairs(const TaskProblem& problem) {
  TaskProblem antithetic = problem;
  const Index pairs = problem.draws / 2;
  const Vector centre = .1 * problem.theta.rowwise().sum();
  antithetic.theta.rightCols(pairs) = (-antithetic.theta.leftCols(pairs)).colwise() + 2 * centre;
  Densities ours = evaluate(antithetic, &Model::evaluate_antithetic);
  ours.gradient = ours.gradient.leftCols(pairs + 1).eval();
  return disagreement(ours, in_pairs(plain_densities(antithetic)));
}

void save_npy(const std::filesystem::path& file, const RowMatrix& numbers) {
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}",
                                   numbers.rows(), numbers.cols());
  header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
  std::ofstream out(file, std::ios::binary);
  const auto length = static_cast<std::uint16_t>(header.size());
  out.write("\x93NUMPY\x01\x00", 8);
  out.write(reinterpret_cast<const char*>(&length), 2);
  out << header;
  out.write(reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::streamsize>(sizeof(double)) * numbers.size());
  if (!out.flush()) throw IoError(fmt::format("cannot write '{}'", file.string()));
}

void save_for_peers(const TaskProblem& problem, const Densities& ours, const std::filesystem::path& folder) {
  const auto file = [&](const char* part) { return folder / fmt::format("{}-{}.npy", problem.name, part); };
  save_npy(file("x"), problem.x);
  save_npy(file("y"), problem.y.transpose());
  save_npy(file("theta"), problem.theta);
  save_npy(file("log_density"), ours.log_density.transpose());
  save_npy(file("gradient"), ours.gradient);
}

}  // namespace magva::bench
