// A refinement in a checkpoint: all that one iteration leaves to the next.
#include "posterior/save.hpp"
#include "refine/refinement_state.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

template <class Visit, io::ConstOrNot<CovarianceTangent> T>
void visit_fields(Visit& visit, T& tangent) {
  visit(tangent.factors);
  visit(tangent.scales);
}

template <class Visit, io::ConstOrNot<Iterate> T>
void visit_fields(Visit& visit, T& iterate) {
  visit(iterate.mean);
  visit(iterate.covariance);
}

template <class Visit, io::ConstOrNot<IterateAverage> T>
void visit_fields(Visit& visit, T& average) {
  visit(average.value);
  visit(average.count);
}

namespace {

/// What can be written field by field.
template <class Visit, class State>
void visit_values(Visit visit, State& s) {
  visit(s.sketching);
  visit(s.seed);
  visit(s.tolerance);
  visit(s.iteration);
  visit(s.last_sketch);
  visit(s.sketch_cost);
  visit(s.pairs);
  visit(s.mean_control);
  visit(s.covariance_control);
  visit(s.mean_window);
  visit(s.covariance_window);
  visit(s.left_window);
  visit(s.between_window);
  visit(s.between);
  visit(s.quiet_windows);
  visit(s.mean_gain);
  visit(s.covariance_gain);
  visit(s.average);
  visit(s.recent);
  visit(s.seen);
  visit(s.pair_noise);
  visit(s.previous);
  visit(s.previous_floor);
  visit(s.window_end);
  visit(s.best_elbo);
  visit(s.best_elbo_se);
  visit(s.best_mean);
  visit(s.returns);
  visit(s.elbo);
  visit(s.elbo_se);
  visit(s.status);
  visit(s.stop_detail);
  visit(s.last_mean_step);
  visit(s.last_direction);
}

/// A vector that is empty before its first use, or of this size.
bool fits(const Vector& vector, Index size) { return vector.size() == 0 || vector.size() == size; }

bool fits(const CovarianceTangent& tangent, const CovarianceTangent& like) {
  if (tangent.factors.size() == 0 && tangent.scales.size() == 0) return true;
  return tangent.factors.rows() == like.factors.rows() && tangent.factors.cols() == like.factors.cols() &&
         tangent.scales.size() == like.scales.size();
}

}  // namespace

// A file that nobody has damaged passes; one that was made up must not be believed.
bool Refinement::State::consistent() const {
  const Index m = mean.size();
  const CovarianceTangent here = covariance->coordinates(nullptr);
  const Index rows = covariance->pattern() != nullptr ? covariance->pattern()->entries() : m;
  if (here.factors.rows() != rows || covariance->times(mean).size() != m || !fits(best_mean, m) ||
      !fits(last_mean_step, m))
    return false;
  if (best_covariance && !fits(best_covariance->coordinates(nullptr), here)) return false;
  if (sketching && (covariance->low_rank() == nullptr || m <= kDenseDimension)) return false;
  if (curvature && (covariance->low_rank() == nullptr || curvature->dimension() != m)) return false;
  for (const Iterate* iterate : {&average.value, &recent.value, &previous, &window_end})
    if (!fits(iterate->mean, m) || !fits(iterate->covariance, here)) return false;
  const bool averaged = (average.count == 0 || average.value.mean.size() == m) &&
                        (recent.count == 0 || recent.value.mean.size() == m);
  return averaged && fits(last_direction, here) && (!sketched || sketched->dimension() == m) && pairs >= 2 &&
         pairs <= most_pairs() && iteration >= 0;
}

void Refinement::save(io::ChecksummedWriter& out) const {
  const State& s = *state_;
  out.matrix(s.mean);
  s.covariance->save(out);
  out.integer(s.curvature ? 1 : 0);
  if (s.curvature) s.curvature->save(out);
  out.integer(s.best_covariance ? 1 : 0);
  if (s.best_covariance) s.best_covariance->save(out);
  out.integer(s.sketched ? 1 : 0);
  if (s.sketched) write_gaussian(out, *s.sketched);
  visit_values(io::Put{out}, s);
}

Refinement Refinement::read(io::ChecksummedReader& in, Evaluator& evaluator) {
  GaussianStart start;
  start.mean = in.matrix().reshaped();
  if (start.mean.size() != evaluator.dimension())
    in.fail("it belongs to a model with another number of parameters");
  start.covariance = read_covariance(in, evaluator.workers());
  if (in.integer() != 0) start.curvature = read_curvature(in, evaluator.workers());
  auto state = std::make_unique<State>(evaluator, std::move(start), 0, 0);
  if (in.integer() != 0) state->best_covariance = read_covariance(in, evaluator.workers());
  if (in.integer() != 0) state->sketched = read_gaussian(in);
  visit_values(io::Get{in}, *state);
  if (!state->consistent()) in.fail("its parts do not fit each other");
  return Refinement(std::move(state));
}

}  // namespace magva
