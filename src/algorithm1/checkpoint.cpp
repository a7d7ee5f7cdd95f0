// Checkpoints of a fit. The noise is a function of the iteration's number: the blocks, the rules' memory and
// a few counters are all that a resumed run needs.
#include <utility>

#include "algorithm1/fitter_state.hpp"
#include "core/archive.hpp"

namespace magva {

namespace {

template <class Visit, class Rule>
void visit_rule(Visit& visit, Rule& rule) {
  visit(rule.kind);
  visit(rule.step);
  visit(rule.decay);
  visit(rule.epsilon);
  visit(rule.momentum);
  visit(rule.guard);
}

template <class Visit, class Options>
void visit_options(Visit&& visit, Options& options) {
  visit(options.family);
  visit(options.rank);
  visit(options.scales);
  visit(options.initial_factor_scale);
  visit(options.initial_residual_scale);
  visit_rule(visit, options.factor_rule);
  visit_rule(visit, options.mean_rule);
  visit_rule(visit, options.scale_rule);
  visit(options.estimator);
  visit(options.natural_mean);
  visit(options.draws);
  visit(options.antithetic);
  visit(options.decay);
  visit(options.average_last);
  visit(options.seed);
  visit(options.max_iterations);
  visit(options.time_limit);
  visit(options.max_rejected_in_a_row);
}

template <class Visit, class State>
void visit_counters(Visit&& visit, State& s) {
  visit(s.iteration);
  visit(s.evaluations);
  visit(s.rejected);
  visit(s.rejected_in_a_row);
  visit(s.averaged);
  visit(s.scale);
  visit(s.elbo);
}

/// Whether every enumerator is one of ours.
bool all_known(const FitterOptions& options) {
  const auto known = [](auto value, auto last) {
    return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
  };
  const auto known_rule = [&](const RuleOptions& rule) { return known(rule.kind, RuleKind::kAdam); };
  return known(options.family, FamilyKind::kFullRank) && known(options.scales, ScaleCoordinates::kLog) &&
         known(options.estimator, Estimator::kPath) && known(options.decay, StepDecay::kCosine) &&
         known_rule(options.factor_rule) && known_rule(options.mean_rule) && known_rule(options.scale_rule);
}

}  // namespace

void Fitter::save(io::ChecksummedWriter& out) const {
  state_->fetch_blocks();
  const State& s = *state_;
  out.integer(s.model.dimension());
  visit_options(io::Put{out}, s.options);
  visit_counters(io::Put{out}, s);
  out.number(s.seconds());
  out.matrix(s.whitening.centre);
  out.matrix(s.whitening.scale);
  for (const auto* blocks : {&std::as_const(*s.family).blocks(), &s.average, &s.good})
    for (const auto& block : *blocks) out.matrix(block.value);
  for (const auto& update : s.updates)
    for (const Matrix* memory : update->state()) out.matrix(*memory);
}

Fitter Fitter::resume(io::ChecksummedReader& in, const Model& model, int threads) {
  const auto restore = [&](Matrix& into) {
    Matrix saved = in.matrix();
    if (saved.rows() != into.rows() || saved.cols() != into.cols())
      in.fail("its parts do not fit each other");
    into = std::move(saved);
  };
  if (in.integer() != model.dimension()) in.fail("it belongs to a model with another number of parameters");
  FitterOptions options;
  visit_options(io::Get{in}, options);
  if (!all_known(options)) in.fail("its parts do not fit each other");
  options.threads = threads;
  auto state =
      State::make(model, options, Whitening::none(model.dimension()), Vector::Zero(model.dimension()));
  visit_counters(io::Get{in}, *state);
  const bool counted = state->iteration >= 0 && state->averaged >= 0 && state->rejected_in_a_row >= 0;
  if (!counted || (state->averaged > 0 && state->average.empty())) in.fail("its parts do not fit each other");
  state->earlier_seconds = in.number();
  Matrix centre = state->whitening.centre;
  Matrix scale = state->whitening.scale;
  restore(centre);
  restore(scale);
  state->set_whitening({centre, scale});
  for (auto* blocks : {&state->family->blocks(), &state->average, &state->good})
    for (auto& block : *blocks) restore(block.value);
  for (const auto& update : state->updates)
    for (Matrix* memory : update->state()) restore(*memory);
  return Fitter(std::move(state));
}

}  // namespace magva
