#pragma once
// The data of the tasks: the expanded ionosphere data, and random designs of given shapes.
#include <filesystem>

#include "magva/regression.hpp"

namespace magva::bench {

enum class PriorKind { kNormal, kHorseshoe };

struct TaskProblem {
  std::string name;
  RowMatrix x;
  Vector y;
  PriorKind prior;
  Index rank;
  Index draws;
  Matrix theta;  ///< where implementations are compared, a column a draw

  Index dimension() const { return theta.rows(); }
};

TaskProblem ionosphere_problem(const std::filesystem::path& csv);
TaskProblem random_problem(const std::string& name, Index rows, Index cols, PriorKind prior, Index rank,
                           Index draws);
/// A logistic regression whose linear predictors have that sd.
TaskProblem logistic_problem(const std::string& name, Index rows, Index cols, double signal, Index rank);
Regression model_of(const TaskProblem& problem);

/// log h and its gradient at theta, by ours and by the plain form.
struct Densities {
  Vector log_density;
  Matrix gradient;
};
Densities our_densities(const TaskProblem& problem);
Densities plain_densities(const TaskProblem& problem);
/// The largest difference, relative to the largest number.
double disagreement(const Densities& a, const Densities& b);

/// The same for draws in antithetic pairs, ours evaluated as such: of gradients, their sum and the pairs'
/// differences.
double disagreement_in_pairs(const TaskProblem& problem);

/// Writes x, y, theta and our densities as NumPy files for the peers.
void save_for_peers(const TaskProblem& problem, const Densities& ours, const std::filesystem::path& folder);
void save_npy(const std::filesystem::path& file, const RowMatrix& numbers);

}  // namespace magva::bench
