#include <algorithm>
#include <limits>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "fit/constants.hpp"
#include "fit/default_run.hpp"
#include "search/rank_path.hpp"

namespace magva {

double DefaultRun::hopeless_nats() const {
  return constants::kHopelessNats * static_cast<double>(10 + model_.dimension());
}

void DefaultRun::add_candidate(const ModeSearch& search, std::size_t index, std::vector<Candidate>& found) {
  if (model_.dimension() > constants::kDenseDimension) {
    found.push_back({search.end, std::nullopt, search.converged, index});
    return;
  }
  const auto best = std::find_if(found.begin(), found.end(), [](const Candidate& c) { return c.is_mode; });
  const bool have_mode = best != found.end();
  if (have_mode && search.end.log_density < best->centre.log_density - hopeless_nats()) return;
  Candidate end{search.end, std::nullopt, search.converged, index};
  for (const Candidate& other : found)
    if (other.curvature && same_place(other, end)) return;
  auto mode = polish_mode(evaluator_, search.end);
  const bool useful = mode && mode->is_mode;
  if (useful) {
    mode->search = index;
    for (const Candidate& other : found)
      if (same_place(other, *mode)) return;
  }
  if (!useful && have_mode) return;
  // A density without a top, or one whose top is a spike, has its mass elsewhere: on the way.
  if (!useful || (model_.dimension() <= constants::kPathDimension && index == 0)) {
    auto point = best_on_path(evaluator_, search, options_.seed);
    if (point) {
      point->search = index;
      found.push_back(std::move(*point));
    } else if (mode && !useful) {
      found.push_back(std::move(*mode));
    }
  }
  if (useful) found.push_back(std::move(*mode));
}

// The curvature of a mode found before makes later searches short.
ModeSearch DefaultRun::search_from(ConstVectorRef point, const std::vector<Candidate>& found) {
  const int iterations = model_.dimension() <= constants::kDenseDimension ? constants::kRoughModeIterations
                                                                          : constants::kModeIterations;
  for (const Candidate& candidate : found)
    if (candidate.is_mode && candidate.curvature)
      return search_mode(evaluator_, point, iterations, *candidate.curvature);
  return search_mode(evaluator_, point, iterations);
}

// Where the curvature is sketched a race would cost more than it tells. A search that ended hopelessly low
// has found no mode, whatever it says: rounding stops it where the log density is beyond all measure.
void DefaultRun::keep_one(std::vector<Candidate>& found) const {
  const auto highest = std::max_element(
      found.begin(), found.end(),
      [](const Candidate& a, const Candidate& b) { return a.centre.log_density < b.centre.log_density; });
  const double hopeless = highest->centre.log_density - hopeless_nats();
  const auto first = std::find_if(found.begin(), found.end(), [&](const Candidate& candidate) {
    return candidate.centre.log_density >= hopeless;
  });
  found = {std::move(*first)};
}

std::vector<Candidate> DefaultRun::find_candidates(const std::vector<Vector>& points) {
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < points.size() && found.size() < constants::kMostCandidates; ++i) {
    control_.enter(Phase::kSearch);
    control_.report(static_cast<std::int64_t>(i), std::numeric_limits<double>::quiet_NaN());
    const ModeSearch search = search_from(points[i], found);
    reports_.push_back({search.end.log_density, search.converged, std::numeric_limits<double>::quiet_NaN()});
    control_.enter(Phase::kCurvature);
    add_candidate(search, i, found);
  }
  if (found.empty()) {  // no curvature anywhere: the start itself, with whatever scale the refinement finds
    Candidate start{{points.front(), Vector::Zero(points.front().size()), 0}, std::nullopt, false, 0};
    found.push_back(std::move(start));
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    if (a.is_mode != b.is_mode) return a.is_mode;
    return a.centre.log_density > b.centre.log_density;
  });
  if (model_.dimension() > constants::kDenseDimension) keep_one(found);
  settle_rank(found.front());
  return found;
}

void DefaultRun::settle_rank(const Candidate& candidate) {
  const Index m = model_.dimension();
  if (m > constants::kDenseDimension) {
    const Index most = std::min(options_.rank.value_or(constants::kFirstSketched), constants::kMostSketched);
    sketch_ = sketch_curvature(evaluator_, candidate.centre, most, options_.seed);
    if (!options_.rank && choose_rank(*sketch_).rank == most)
      sketch_ = sketch_curvature(evaluator_, candidate.centre, constants::kMostSketched, options_.seed);
  }
  if (options_.rank) {
    rank_ = std::min(*options_.rank, m);
    rank_path_ = {{rank_, std::numeric_limits<double>::quiet_NaN()}};
    return;
  }
  RankChoice choice{m <= constants::kFullRankDimension ? m : 0, {}};
  if (candidate.curvature) {
    choice = choose_rank(QuadraticFitter(*candidate.curvature), m);
  } else if (sketch_) {
    choice = choose_rank(*sketch_);
  }
  rank_ = choice.rank;
  rank_path_ = std::move(choice.path);
}

std::unique_ptr<Covariance> DefaultRun::start_covariance(const Candidate& candidate) {
  const Index m = model_.dimension();
  if (candidate.curvature) {
    if (rank_ >= m) return make_full_rank(*candidate.curvature);
    QuadraticFit fit = QuadraticFitter(*candidate.curvature).best(rank_);
    return make_low_rank(std::move(fit.factors), fit.residual_sd, candidate.curvature);
  }
  if (!sketch_) return start_without_curvature();
  const Vector sd = sketch_->diagonal.cwiseSqrt().cwiseInverse();
  Matrix factors(m, rank_);
  const Index known = std::min(rank_, sketch_->values.size());
  factors.leftCols(known) =
      sketch_->directions.leftCols(known) *
      (sketch_->values.head(known).cwiseMin(constants::kWeakestFactor).cwiseInverse().array() - 1)
          .sqrt()
          .matrix()
          .asDiagonal();
  if (known < rank_) {
    Matrix random(m, rank_ - known);
    Noise(options_.seed, NoiseStream::kFactors).fill(0, 0, random);
    factors.rightCols(rank_ - known) = constants::kRandomFactor * (sd.asDiagonal() * random);
  }
  return make_low_rank(std::move(factors), sd, std::nullopt);
}

void DefaultRun::fit_scale(ConstVectorRef mean, Covariance& covariance) {
  double best = -std::numeric_limits<double>::infinity();
  double chosen = 1;
  for (const double scale : constants::kStartScales) {
    const auto trial = covariance.clone();
    trial->scale(scale);
    const ElboEstimate estimate =
        estimate_elbo(evaluator_, trial->gaussian(mean), constants::kStartScaleDraws, options_.seed);
    if (estimate.rejected > constants::kStartScaleDraws / 4) continue;
    if (!(estimate.elbo > best)) break;
    best = estimate.elbo;
    chosen = scale;
  }
  covariance.scale(chosen);
}

std::unique_ptr<Covariance> DefaultRun::start_without_curvature() const {
  const Index m = model_.dimension();
  const Vector sd = Vector::Constant(m, constants::kBlindSd);
  if (rank_ >= m) return make_full_rank(Matrix(sd.cwiseAbs2().cwiseInverse().asDiagonal()));
  Matrix factors(m, rank_);
  Noise(options_.seed, NoiseStream::kFactors).fill(0, 0, factors);
  factors *= constants::kRandomFactor * constants::kBlindSd;
  return make_low_rank(std::move(factors), sd, std::nullopt);
}

}  // namespace magva
