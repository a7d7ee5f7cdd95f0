#include "algorithm1/iteration_sweeps.hpp"

namespace magva {

namespace {

constexpr std::size_t kRowBlocks = 2;  // mu and d2 come first, with a row a coordinate

}  // namespace

Fitter::State::Sweeps::Sweeps(State& state, RowwiseFamily& family) : state_(state), family_(family) {
  for (std::size_t b = 0; b < kRowBlocks; ++b)
    state_.updates[b]->by_rows()->start(state_.family->blocks()[b].value, *state_.kernel);
}

Panel Fitter::State::Sweeps::make(Range r, Index task, const MutablePanel& place) {
  const Panel of_factors = family_.make(r, task, place);
  for (std::size_t b = 0; b < kRowBlocks; ++b) {
    const MutablePanel gradient = family_.made_beside(b, r, task);
    state_.updates[b]->by_rows()->step_rows(state_.family->blocks()[b].value, r, task, gradient,
                                            state_.step_scale());
  }
  return of_factors;
}

void Fitter::State::Sweeps::update_the_rest() {
  for (std::size_t b = 0; b < kRowBlocks; ++b) state_.updates[b]->by_rows()->finish(*state_.kernel);
  family_.finish_gradient();
  for (std::size_t b = kRowBlocks; b < state_.updates.size(); ++b)
    if (b != family_.factor_block()) state_.update_block(b);
}

void Fitter::State::Sweeps::wrote(Range r, Index task) {
  const Index first = first_epsilon();
  state_.draw_noise(state_.iteration + 1, {first + r.begin, first + r.end});
  family_.draw_rows(r, task);
}

void Fitter::State::Sweeps::look_ahead_to_noise(Range r, Ahead& ahead) {
  const Index first = first_epsilon();
  add(ahead, panel(state_.noise, {first + r.begin, first + r.end}));
}

void Fitter::State::Sweeps::look_ahead_to_make(Range r, Ahead& ahead) {
  add(ahead, panel(state_.gradient, r));
  look_ahead_to_noise(r, ahead);
  for (std::size_t b = 0; b < kRowBlocks; ++b) {
    add(ahead, panel(state_.family->blocks()[b].value, r));
    state_.updates[b]->look_ahead(r, ahead);
  }
}

void Fitter::State::Sweeps::look_ahead_to_wrote(Range r, Ahead& ahead) {
  add(ahead, panel(state_.theta, r));
  look_ahead_to_noise(r, ahead);
  for (std::size_t b = 0; b < kRowBlocks; ++b) add(ahead, panel(state_.family->blocks()[b].value, r));
}

void Fitter::State::Sweeps::all_made() {
  update_the_rest();
  state_.draw_noise(state_.iteration + 1, {0, first_epsilon()});
  family_.start_draw(state_.noise, state_.theta);
}

void Fitter::State::Sweeps::finish(bool written) {
  if (written)
    family_.finish_draw();
  else
    update_the_rest();
}

}  // namespace magva
