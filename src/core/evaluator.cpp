#include "core/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fit/constants.hpp"

namespace magva {

namespace {
constexpr Index kBatchNumbers = 1 << 21;  // numbers in the largest batch of draws: 16 MiB
constexpr Index kMaxColumns = 256;
}  // namespace

Evaluator::Evaluator(const Model& model, int threads)
    : model_(model),
      workers_(threads),
      columns_(std::clamp<Index>(kBatchNumbers / std::max<Index>(1, model.dimension()), 8, kMaxColumns)),
      scratch_(model.make_scratch(columns_)) {}

void Evaluator::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient) {
  for (Index first = 0; first < theta.cols(); first += columns_) {
    const Index count = std::min(columns_, theta.cols() - first);
    Evaluation evaluation{*scratch_, workers_, calls_};
    model_.evaluate(theta.middleCols(first, count), log_density.segment(first, count),
                    gradient.middleCols(first, count), evaluation);
  }
  ++calls_;
  evaluations_ += theta.cols();
  for (Index s = 0; s < theta.cols(); ++s) {
    if (std::isfinite(log_density(s)) && std::isfinite((gradient.col(s).array() * 0).sum())) continue;
    log_density(s) = -std::numeric_limits<double>::infinity();
    gradient.col(s).setZero();
    ++rejected_;
  }
}

double Evaluator::evaluate(ConstVectorRef theta, VectorRef gradient) {
  Vector log_density(1);
  Matrix column(theta.size(), 1);
  evaluate(ConstMatrixRef(theta), log_density, column);
  gradient = column.col(0);
  return log_density(0);
}

void Evaluator::restore(std::int64_t evaluations, std::int64_t rejected, std::uint64_t calls) {
  evaluations_ = evaluations;
  rejected_ = rejected;
  calls_ = calls;
}

bool is_stochastic(Evaluator& evaluator, ConstVectorRef at) {
  Vector one(at.size());
  Vector other(at.size());
  const double first = evaluator.evaluate(at, one);
  const double second = evaluator.evaluate(at, other);
  if (!std::isfinite(first) || !std::isfinite(second)) return false;
  const auto differ = [](double difference, double size) {
    return difference > constants::kRoundingNoise * (1 + size);
  };
  return differ(std::abs(first - second), std::abs(first)) || differ((one - other).norm(), one.norm());
}

}  // namespace magva
