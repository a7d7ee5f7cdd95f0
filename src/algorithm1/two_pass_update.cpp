#include "algorithm1/two_pass_update.hpp"

namespace magva {

Fitter::State::TwoPassUpdate::TwoPassUpdate(State& state, RowwiseFamily& rows)
    : state_(state),
      rows_(rows),
      mean_(state.moving(BlockKind::kMean)),
      residual_scale_(state.moving(BlockKind::kResidualScale)),
      factors_(state.moving(BlockKind::kFactors)) {}

bool Fitter::State::TwoPassUpdate::run() {
  gradient_pass();
  finish_scale_blocks();
  if (!factors_.update.finish_gradient_pass(factors_.block.value, *state_.kernel)) return false;
  write_pass();
  return true;
}

void Fitter::State::TwoPassUpdate::gradient_pass() {
  TallSkinny& kernel = *state_.kernel;
  const double scale = state_.step_scale();
  Matrix& b = factors_.block.value;
  rows_.start_gradient(state_.noise, state_.weight, state_.options.estimator, state_.gradient);
  for (const MovingBlock* moving : {&mean_, &residual_scale_, &factors_})
    moving->update.start(moving->block.value, scale, kernel);
  sweep(b.rows(), kernel.workers(), [&](Range r, Index task) {
    prefetch_for_gradient_pass(following(r, b.rows()), kernel.prefetch(task));
    const MutablePanel of_factors = factors_.update.gradient_panel(r, task, kernel);
    const auto [of_mean, of_residual_scale] = rows_.compute_gradient_rows(r, task, of_factors);
    mean_.update.take_gradient(mean_.block.value, r, task, of_mean, kernel);
    residual_scale_.update.take_gradient(residual_scale_.block.value, r, task, of_residual_scale, kernel);
    factors_.update.take_gradient(b, r, task, of_factors, kernel);
  });
}

void Fitter::State::TwoPassUpdate::finish_scale_blocks() {
  for (const MovingBlock* moving : {&mean_, &residual_scale_})
    moving->update.finish_gradient_pass(moving->block.value, *state_.kernel);
  rows_.finish_gradient();
  if (find_block(state_.family->blocks(), BlockKind::kFactorScale))
    state_.update_block(BlockKind::kFactorScale);
}

void Fitter::State::TwoPassUpdate::write_pass() {
  TallSkinny& kernel = *state_.kernel;
  Matrix& b = factors_.block.value;
  const std::int64_t next = state_.iteration + 1;
  state_.draw_noise(next, {0, epsilon_rows({0, 0}).begin});
  rows_.start_draw(state_.noise, state_.theta);
  sweep_back(b.rows(), kernel.workers(), [&](Range r, Index task) {
    prefetch_for_write_pass(preceding(r), kernel.prefetch(task));
    factors_.update.write_rows(b, r, task, kernel);
    state_.draw_noise(next, epsilon_rows(r));
    rows_.draw_rows(r, task);
  });
  rows_.finish_draw();
}

Range Fitter::State::TwoPassUpdate::epsilon_rows(Range r) const {
  const Index first = state_.noise.rows() - state_.theta.rows();
  return {first + r.begin, first + r.end};
}

void Fitter::State::TwoPassUpdate::prefetch_for_gradient_pass(Range r, PrefetchQueue& prefetch) {
  prefetch.clear();
  if (stays_in_cache(factors_.block.value)) return;
  // A curved factor block issues the queue bit by bit, between its products; a flat one has none.
  if (factors_.update.is_flat()) {
    add(prefetch, panel(factors_.block.value, r));
    return prefetch.issue_all();
  }
  factors_.update.prefetch_for_gradient_pass(factors_.block.value, r, prefetch);
  add(prefetch, panel(state_.gradient, r));
  add(prefetch, panel(state_.noise, epsilon_rows(r)));
  for (const MovingBlock* moving : {&mean_, &residual_scale_})
    moving->update.prefetch_for_gradient_pass(moving->block.value, r, prefetch);
}

void Fitter::State::TwoPassUpdate::prefetch_for_write_pass(Range r, PrefetchQueue& prefetch) {
  prefetch.clear();
  if (stays_in_cache(factors_.block.value)) return;
  factors_.update.prefetch_for_write_pass(factors_.block.value, r, prefetch);
  add(prefetch, panel(state_.theta, r));
  add(prefetch, panel(state_.noise, epsilon_rows(r)));
  for (const MovingBlock* moving : {&mean_, &residual_scale_}) add(prefetch, panel(moving->block.value, r));
}

}  // namespace magva
