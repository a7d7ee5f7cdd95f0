#include "core/evaluator.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "core/lines.hpp"

namespace magva {

namespace {
constexpr Index kBatchNumbers = 1 << 21;  // numbers in the largest batch of draws: 16 MiB
constexpr Index kMaxColumns = 256;
/// A batch takes at most so many seconds, or so many times what one gradient takes: where a pass over the
/// data is what costs, a few draws cost no more than one.
constexpr double kBatchSeconds = .1;
constexpr double kBatchGradients = 1.5;
/// A single gradient that took longer is timed again: it may have waited for a busy machine.
constexpr double kMayHaveWaited = kBatchSeconds / 16;
/// Two evaluations at one point may differ by this share: sums in any order do.
constexpr double kRoundingNoise = 1e-9;
/// One gradient must take so many seconds for threads to gain more than their coordination costs.
constexpr double kWorthThreads = 5e-5;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

Evaluator::Evaluator(const Model& model, int threads, Control* control, double cost)
    : model_(model),
      workers_(threads),
      control_(control),
      cost_(cost),
      most_columns_(std::clamp<Index>(kBatchNumbers / std::max<Index>(1, model.dimension()), 8, kMaxColumns)),
      columns_(most_columns_),
      scratch_(model.make_scratch(most_columns_)) {}

void Evaluator::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient) {
  if (control_ != nullptr) control_->spend(cost_ * static_cast<double>(theta.cols()));
  if (control_ != nullptr && one_column_ == 0 && theta.cols() > 1) time_one_column(theta.col(0));
  for (Index first = 0; first < theta.cols();) {
    if (control_ != nullptr) control_->poll();
    const Index count = std::min(columns_, theta.cols() - first);
    Evaluation evaluation{*scratch_, workers_, calls_};
    const double begin = now();
    model_.evaluate(theta.middleCols(first, count), log_density.segment(first, count),
                    gradient.middleCols(first, count), evaluation);
    if (control_ != nullptr) adapt_batch(count, now() - begin);
    first += count;
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

// A batch of a slow model could not be interrupted. What is returned is thrown away, so that batches, and
// with them the last bits of some models, are the same in a fit that is resumed.
void Evaluator::time_one_column(ConstVectorRef theta) {
  Vector log_density(1);
  Matrix gradient(theta.size(), 1);
  Evaluation evaluation{*scratch_, workers_, calls_};
  double seconds = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 2 && seconds > kMayHaveWaited; ++k) {
    control_->poll();
    const double begin = now();
    model_.evaluate(theta, log_density, gradient, evaluation);
    seconds = std::min(seconds, now() - begin);
  }
  adapt_batch(1, seconds);
}

// The last bits of a regression depend on which draws go through it together, eight at a time. So batches are
// cut at powers of two, and only when two in succession took too long: one may have waited for a busy
// machine.
void Evaluator::adapt_batch(Index columns, double seconds) {
  if (columns == 1) {
    const bool first = one_column_ == 0;
    one_column_ = first ? seconds : std::min(one_column_, seconds);
    if (first) {
      const auto in_time = static_cast<std::uint64_t>(std::clamp(kBatchSeconds / seconds, 1., 1e6));
      columns_ = std::min(static_cast<Index>(std::bit_floor(in_time)), most_columns_);
    }
  }
  const double limit = std::max(kBatchSeconds, kBatchGradients * one_column_);
  const bool slow = columns > 1 && seconds > limit;
  if (slow && last_was_slow_)
    columns_ = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(columns - 1)));
  else if (columns == columns_ && 2 * seconds <= limit + one_column_)
    columns_ = std::min(2 * columns_, most_columns_);
  last_was_slow_ = slow;
}

// Each column is a line of its own through the origin, which leaves it to the bit.
Vector Evaluator::evaluate_values(ConstMatrixRef theta) {
  return evaluate_lines(Vector::Zero(theta.rows()), theta, Vector::Ones(1)).transpose();
}

Matrix Evaluator::evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps) {
  Matrix out(steps.size(), directions.cols());
  if (control_ != nullptr && one_column_ == 0) time_one_column(centre);
  const Index points = std::clamp<Index>(columns_, 1, steps.size());
  const Index lines = std::max<Index>(1, columns_ / points);
  for (Index j = 0; j < directions.cols(); j += lines)
    for (Index k = 0; k < steps.size(); k += points) {
      const Index some_lines = std::min(lines, directions.cols() - j);
      const Index some_points = std::min(points, steps.size() - k);
      if (control_ != nullptr) control_->poll();
      evaluate_points(centre, directions.middleCols(j, some_lines), steps.segment(k, some_points),
                      out.block(k, j, some_points, some_lines));
    }
  return out.unaryExpr(
      [](double value) { return std::isfinite(value) ? value : -std::numeric_limits<double>::infinity(); });
}

void Evaluator::evaluate_points(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                                MatrixRef log_density) {
  Evaluation evaluation{*scratch_, workers_, calls_};
  const double begin = now();
  if (model_.evaluate_lines(centre, directions, steps, log_density, evaluation)) {
    if (control_ != nullptr) adapt_batch(steps.size() * directions.cols(), now() - begin);
    return;
  }
  const Matrix theta = points_on_lines(centre, directions, steps);
  Matrix gradient(theta.rows(), theta.cols());
  Vector values(theta.cols());
  evaluate(theta, values, gradient);
  log_density = values.reshaped(steps.size(), directions.cols());
}

double Evaluator::evaluate(ConstVectorRef theta, VectorRef gradient) {
  Vector log_density(1);
  Matrix column(theta.size(), 1);
  evaluate(ConstMatrixRef(theta), log_density, column);
  gradient = column.col(0);
  return log_density(0);
}

bool is_stochastic(Evaluator& evaluator, ConstVectorRef at) {
  Vector one(at.size());
  Vector other(at.size());
  const double first = evaluator.evaluate(at, one);
  const double second = evaluator.evaluate(at, other);
  if (!std::isfinite(first) || !std::isfinite(second)) return false;
  const auto differ = [](double difference, double size) { return difference > kRoundingNoise * (1 + size); };
  return differ(std::abs(first - second), std::abs(first)) || differ((one - other).norm(), one.norm());
}

int choose_threads(int requested, const Model& model) {
  if (requested > 0) return requested;
  const auto most = static_cast<int>(std::thread::hardware_concurrency());
  if (most <= 1) return 1;
  Workers alone(1);
  const auto scratch = model.make_scratch(1);
  Evaluation evaluation{*scratch, alone};
  const Matrix theta = model.start();
  Vector log_density(1);
  Matrix gradient(theta.rows(), 1);
  double seconds = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 2 && seconds > kWorthThreads; ++k) {  // the first may have memory to fetch
    const double begin = now();
    model.evaluate(theta, log_density, gradient, evaluation);
    seconds = std::min(seconds, now() - begin);
    if (seconds > 100 * kWorthThreads) break;
  }
  return seconds > kWorthThreads ? most : 1;
}

}  // namespace magva
