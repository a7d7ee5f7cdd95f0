#include "mixed/system_draws.hpp"

#include <algorithm>
#include <limits>

#include "mixed/methods.hpp"
#include "mixed/stratified_normals.hpp"

namespace magva::mixed {

std::vector<Range> equal_columns(ConstMatrixRef theta) {
  constexpr Index kLongest = 32;
  std::vector<Range> runs;
  for (Index s = 0; s < theta.cols(); ++s) {
    const bool same =
        !runs.empty() && runs.back().size() < kLongest && theta.col(s) == theta.col(runs.back().begin);
    if (same)
      runs.back().end = s + 1;
    else
      runs.push_back({s, s + 1});
  }
  return runs;
}

namespace {

void store(const SystemOf& of, const Vector& draw, Index s, MixedDraws& out) {
  const Index p = of.problem.coefficients();
  if (p > 0) out.population.col(s).head(p) = draw.segment(of.system.coefficient(), p) + of.centre;
  for (std::size_t k = 0; k < out.effects.size(); ++k) {
    const Index q = of.problem.data.terms[k].effect_count();
    for (Index g = 0; g < of.problem.data.terms[k].level_count(); ++g)
      out.effects[k].col(s).segment(g * q, q) = draw.segment(of.system.effect(k, g), q);
  }
}

}  // namespace

MixedDraws draw_effects(const SystemOf& of, ConstMatrixRef theta, std::uint64_t seed, Workers& workers,
                        const Condition& condition) {
  const Index p = of.problem.coefficients();
  MixedDraws out;
  out.population.resize(p + of.hyper.quantity_count(), theta.cols());
  for (const GroupTerm& term : of.problem.data.terms)
    out.effects.emplace_back(term.level_count() * term.effect_count(), theta.cols());
  const StratifiedNormals noise(seed, theta.cols());
  const std::vector<Range> runs = equal_columns(theta);
  workers.run(static_cast<Index>(runs.size()), [&](Index run) {
    const Range columns = runs[static_cast<std::size_t>(run)];
    MemoryPool::Lease memory(of.pool);
    ConditionalEffects given;
    const auto at = theta.col(columns.begin);
    const bool known = at.allFinite() && condition(at, *memory, given);
    for (Index s = columns.begin; s < columns.end; ++s) {
      of.hyper.quantities(at.data(), out.population.col(s).data() + p);
      Vector draw = Vector::Constant(of.system.size(), std::numeric_limits<double>::quiet_NaN());
      if (known) {
        noise.fill(s, draw);
        of.system.cholesky().solve_upper((*memory).factor, draw);
        draw += given.mean;
        of.system.scale(given.scales, draw);
        draw *= given.factor;
      }
      store(of, draw, s, out);
    }
  });
  return out;
}

}  // namespace magva::mixed
