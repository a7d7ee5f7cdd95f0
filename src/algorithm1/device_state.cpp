#include "algorithm1/device_state.hpp"

#include <cmath>

#include "core/huge_pages.hpp"
#include "manifold/grassmann.hpp"
#include "manifold/stiefel.hpp"
#include "manifold/tangent_step.hpp"

namespace magva {

namespace {

int device_block(BlockKind kind) {
  switch (kind) {
    case BlockKind::kMean:
      return MAGVA_CUDA_MEAN;
    case BlockKind::kResidualScale:
      return MAGVA_CUDA_RESIDUAL;
    case BlockKind::kFactors:
      return MAGVA_CUDA_FACTORS;
    case BlockKind::kFactorScale:
    case BlockKind::kCholesky:
      break;
  }
  return -1;
}

/// A rule's memory between the tiles in which sweeps have it and columns, as a device has it.
Matrix to_columns(const Matrix& tiles) {
  Matrix out(tiles.rows(), tiles.cols());
  for (Index begin = 0; begin < tiles.rows(); begin += kPanelRows) {
    const Range r{begin, std::min(begin + kPanelRows, tiles.rows())};
    out.middleRows(begin, r.size()) =
        Eigen::Map<const Matrix>(tiles.data() + begin * tiles.cols(), r.size(), tiles.cols());
  }
  return out;
}
void to_tiles(const Matrix& columns, Matrix& out) {
  for (Index begin = 0; begin < columns.rows(); begin += kPanelRows) {
    const Range r{begin, std::min(begin + kPanelRows, columns.rows())};
    Eigen::Map<Matrix>(out.data() + begin * columns.cols(), r.size(), columns.cols()) =
        columns.middleRows(begin, r.size());
  }
}

}  // namespace

Fitter::State::OnDevice::Given& Fitter::State::OnDevice::Given::add(double value) {
  memory_(used_++) = value;
  return *this;
}

Fitter::State::OnDevice::Given& Fitter::State::OnDevice::Given::add(ConstMatrixRef values) {
  memory_.segment(used_, values.size()) = values.reshaped();
  used_ += values.size();
  return *this;
}

Fitter::State::OnDevice::OnDevice(const FamilyHost& host, const Model& model_, const FitterOptions& options_,
                                  const Whitening& whitening_, ConstVectorRef start)
    : State(model_, options_, whitening_, start),
      host_(host),
      low_rank_(static_cast<LowRank&>(*family)),
      device_options_(device_options(options, model.dimension())),
      rank_(device_options_.rank),
      curved_(device_options_.geometry == MAGVA_CUDA_CURVED),
      given_(4 * rank_ * rank_ + rank_ * options.draws + options.draws + 8),
      sums_(4 * rank_ * rank_ + rank_ * options.draws + 2),
      finite_(options.draws),
      powers_(Vector::Ones(6)),
      left_(rank_, rank_),
      right_(rank_, rank_),
      scratch_(rank_, rank_) {}

template <class Move>
void Fitter::State::OnDevice::for_each_part(const Move& move) {
  auto& blocks = family->blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const int block = device_block(blocks[b].kind);
    if (block < 0 || blocks[b].value.size() == 0) continue;
    move(block, MAGVA_CUDA_VALUE, blocks[b].value);
    move(block, MAGVA_CUDA_GOOD, good[b].value);
    if (!average.empty()) move(block, MAGVA_CUDA_AVERAGE, average[b].value);
    int memories = 0;
    for (Matrix* memory : updates[b]->state())
      if (memory->rows() == blocks[b].value.rows()) move(block, MAGVA_CUDA_MEMORY + memories++, *memory);
  }
}

void Fitter::State::OnDevice::place_blocks() {
  if (!device_) {
    if (whitened) {
      device_options_.whitening_centre = whitening.centre.data();
      device_options_.whitening_scale = whitening.scale.data();
    }
    device_ = host_.make_device_family(device_options_);
  }
  for_each_part([&](int block, int part, const Matrix& from) {
    const bool memory = part >= MAGVA_CUDA_MEMORY && part < MAGVA_CUDA_GOOD;
    device_->write(block, part, memory && from.cols() > 1 ? to_columns(from).data() : from.data());
  });
  placed_ = true;
}

void Fitter::State::OnDevice::fetch_blocks() {
  if (!placed_) return;
  for_each_part([&](int block, int part, Matrix& to) {
    const bool memory = part >= MAGVA_CUDA_MEMORY && part < MAGVA_CUDA_GOOD;
    if (!memory || to.cols() == 1) return device_->read(block, part, to.data());
    Matrix columns(to.rows(), to.cols());
    device_->read(block, part, columns.data());
    to_tiles(columns, to);
  });
}

void Fitter::State::OnDevice::release_blocks() {
  fetch_blocks();
  placed_ = false;
}

MatrixRef Fitter::State::OnDevice::sums(Index first, Index cols) {
  return Eigen::Map<Matrix>(sums_.data() + first, rank_, cols);
}

void Fitter::State::OnDevice::draw_for(std::int64_t at) {
  draw_noise(at, {0, rank_});
  const Matrix& scaled = low_rank_.start_draw_elsewhere(noise);
  device_->pass(MAGVA_CUDA_PASS_DRAW, at, scaled.data(), sums_.data());
  const Index products = rank_ * rank_;
  low_rank_.finish_draw_elsewhere(sums_(products), sums(0, rank_));
  mean_zero_ = sums_(products + 1);
}

void Fitter::State::OnDevice::draw() {
  if (!placed_) place_blocks();
  draw_for(iteration);
}

void Fitter::State::OnDevice::prepare() {
  if (!drawn) draw();
  drawn = true;
}

void Fitter::State::OnDevice::evaluate_model() { device_->evaluate(log_density, finite_); }

bool Fitter::State::OnDevice::finite_gradient(Index draw) { return finite_(draw) == 0; }

bool Fitter::State::OnDevice::healthy() const {
  if (!placed_) return State::healthy();
  return std::isfinite(family->entropy()) && mean_zero_ == 0;
}

void Fitter::State::OnDevice::add_to_average(double share) {
  device_->pass(MAGVA_CUDA_PASS_AVERAGE, iteration, &share, nullptr);
  for (std::size_t b = 0; b < average.size(); ++b)
    if (average[b].kind == BlockKind::kFactorScale)
      average[b].value += share * (family->blocks()[b].value - average[b].value);
}

void Fitter::State::OnDevice::keep_good_blocks() {
  device_->pass(MAGVA_CUDA_PASS_KEEP_GOOD, iteration, nullptr, nullptr);
  for (std::size_t b = 0; b < good.size(); ++b)
    if (good[b].kind == BlockKind::kFactorScale) good[b].value = family->blocks()[b].value;
}

// T = d1 o z - K (H (d1 o z) + B' (epsilon / d2)); see LowRankPlusDiagonalView::solve_draw.
void Fitter::State::OnDevice::add_path_term() {
  device_->pass(MAGVA_CUDA_PASS_PATH_INNER, iteration, nullptr, sums_.data());
  const Capacitance& capacitance = low_rank_.capacitance();
  const Matrix& scaled = low_rank_.start_draw_elsewhere(noise);
  MatrixRef inner = sums(0, options.draws);
  inner += capacitance.gram().lazyProduct(scaled);
  Given given(given_);
  given.add(Matrix(scaled - capacitance.inverse().lazyProduct(inner)));
  device_->pass(MAGVA_CUDA_PASS_PATH_ADD, iteration, given.data(), nullptr);
}

// Adam's powers are the last of its memories.
void Fitter::State::OnDevice::run_gradient_pass() {
  auto& blocks = family->blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const int block = device_block(blocks[b].kind);
    const RuleOptions& rule = block == MAGVA_CUDA_MEAN       ? options.mean_rule
                              : block == MAGVA_CUDA_RESIDUAL ? options.scale_rule
                                                             : options.factor_rule;
    if (block < 0 || rule.kind != RuleKind::kAdam) continue;
    Matrix& powers = *updates[b]->state().back();
    powers(0) *= rule.momentum;
    powers(1) *= rule.decay;
    powers_.segment(2 * block, 2) = powers.col(0);
  }
  const bool path = options.estimator == Estimator::kPath;
  Matrix weighted_noise = low_rank_.start_draw_elsewhere(noise);
  for (Index s = 0; s < options.draws; ++s) weighted_noise.col(s) *= weight(s);
  Given given(given_);
  given.add(step_scale()).add(path ? 1 : 0).add(weight).add(weighted_noise);
  given.add(low_rank_.capacitance().inverse()).add(powers_);
  device_->pass(MAGVA_CUDA_PASS_GRADIENT, iteration, given.data(), sums_.data());
}

// The moment of the steps is of the tangent space at the previous point, with B(-1) = B(0).
void Fitter::State::OnDevice::remember_first_factors() {
  if (device_options_.factor_rule.kind != MAGVA_CUDA_ADADELTA) return;
  Matrix& started = *factor_update().state().back();
  if (started(0) == 0) device_->pass(MAGVA_CUDA_PASS_REMEMBER, iteration, nullptr, nullptr);
  started(0) = 1;
}

void Fitter::State::OnDevice::update_blocks() {
  if (options.estimator == Estimator::kPath) add_path_term();
  if (curved_) remember_first_factors();
  run_gradient_pass();
  const Index inner = rank_ * options.draws;
  if (sums_(inner) != 0) device_->pass(MAGVA_CUDA_PASS_DROP, iteration, nullptr, nullptr);
  low_rank_.finish_gradient_elsewhere(noise, weight, options.estimator, sums(0, options.draws));
  // d1 steps with the gradient at the point where B was.
  if (find_block(family->blocks(), BlockKind::kFactorScale)) update_block(BlockKind::kFactorScale);
  if (!curved_) return;
  Index first = inner + 1;
  if (device_options_.factor_rule.kind == MAGVA_CUDA_RMSPROP ||
      device_options_.factor_rule.kind == MAGVA_CUDA_ADADELTA ||
      device_options_.factor_rule.kind == MAGVA_CUDA_ADAM) {
    direct_factors();
    first = 0;
  }
  if (!step_factors(first)) return;
  draw_for(iteration + 1);
  drawn = true;
}

MatrixRef Fitter::State::OnDevice::normal_part(Index first) {
  MatrixRef inner = sums(first, rank_);
  if (options.family == FamilyKind::kStiefel) Stiefel{}.normal_part(inner, inner, *kernel);
  return inner;
}

void Fitter::State::OnDevice::direct_factors() {
  const Index first = rank_ * options.draws + 1;
  const bool adam = device_options_.factor_rule.kind == MAGVA_CUDA_ADAM;
  Given given(given_);
  given.add(normal_part(first));
  given.add(adam ? Matrix(normal_part(first + rank_ * rank_)) : Matrix::Zero(rank_, rank_));
  given.add(powers_.tail(2));
  device_->pass(MAGVA_CUDA_PASS_DIRECT, iteration, given.data(), sums_.data());
}

bool Fitter::State::OnDevice::step_factors(Index first) {
  const Index products = rank_ * rank_;
  const bool has_steps = device_options_.factor_rule.kind == MAGVA_CUDA_ADADELTA;
  const Matrix normal_steps =
      has_steps ? Matrix(normal_part(first + 3 * products)) : Matrix::Zero(rank_, rank_);
  const Matrix of_x = sums(first, rank_);
  const Matrix x_with_v = sums(first + products, rank_);
  const Matrix of_v = sums(first + 2 * products, rank_);
  const Matrix normal = normal_part(first + products);
  left_ = normal;
  if (!polar_coefficients(step_scale(), of_x, x_with_v, of_v, left_, right_, scratch_, *kernel)) {
    retract_plainly(normal, normal_steps);
    return false;
  }
  Given given(given_);
  given.add(normal).add(normal_steps).add(left_).add(right_);
  device_->pass(MAGVA_CUDA_PASS_COMBINE, iteration, given.data(), nullptr);
  return true;
}

void Fitter::State::OnDevice::retract_plainly(ConstMatrixRef normal, ConstMatrixRef normal_steps) {
  Given given(given_);
  given.add(normal).add(normal_steps).add(step_scale());
  device_->pass(MAGVA_CUDA_PASS_ADD_TANGENT, iteration, given.data(), sums_.data());
  if (sums_(0) != 0) device_->pass(MAGVA_CUDA_PASS_DROP, iteration, nullptr, nullptr);
  polar();
}

// As TallSkinny::polar.
void Fitter::State::OnDevice::polar() {
  constexpr int kMaxPasses = 4;
  const auto multiply = [&](ConstMatrixRef by) {
    Given given(given_);
    given.add(by);
    device_->pass(MAGVA_CUDA_PASS_MULTIPLY, iteration, given.data(), nullptr);
  };
  const auto measure = [&] { device_->pass(MAGVA_CUDA_PASS_GRAM, iteration, nullptr, sums_.data()); };
  measure();
  if (const double largest = sums_(rank_ * rank_); largest > 1e100) {
    multiply(Matrix::Identity(rank_, rank_) / largest);
    measure();
  }
  for (int k = 0; k < kMaxPasses; ++k) {
    const bool lossy = kernel->inverse_root(sums(0, rank_), right_);
    multiply(right_);
    if (!lossy) return;
    measure();
  }
}

}  // namespace magva
