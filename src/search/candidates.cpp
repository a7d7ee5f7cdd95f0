#include "search/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/elbo.hpp"
#include "search/curvature.hpp"
#include "search/rank_choice.hpp"

namespace magva {

namespace {

/// Iterations of one mode search, and where the dense curvature will finish it.
constexpr int kModeIterations = 300;
constexpr int kRoughModeIterations = 100;
/// A search that ends so many nats a parameter (and ten more parameters) below a known mode leads nowhere.
constexpr double kHopelessNats = 10;
/// Largest m for which the way to a mode that was found is searched by Gaussians with the dense curvature;
/// for others, by those that the way itself shows.
constexpr Index kPathDimension = 40;
/// A place on the way is tried if it is further from every mode than so many of the mode's sds, as a root
/// mean square over the parameters, and its ELBO is not below theirs by more than so many nats, and nats a
/// parameter: rough Gaussians lose about that.
constexpr double kElsewhere = 2;
constexpr double kRoughNats = 6;
constexpr double kRoughShare = .5;
/// Where m is large the fit begins on the way if that is better than the ends by kRoughNats and so many nats
/// a parameter.
constexpr double kMarginShare = .05;
constexpr Index kModeDraws = 20;
/// Largest m for which the Hessian's pattern is sought, and the scale of the moves that find it.
constexpr Index kSparseDimension = 200'000;
constexpr double kPatternScale = .1;
/// Most candidates that are refined side by side.
constexpr std::size_t kMostCandidates = 5;

class CandidateSearch {
 public:
  CandidateSearch(Evaluator& evaluator, SearchState& state, std::uint64_t seed)
      : evaluator_(evaluator),
        state_(state),
        seed_(seed),
        found_(state.found),
        highest_(state.highest),
        pattern_(state.pattern) {}

  SearchResult run(const std::function<void()>& after_start) {
    const auto& points = state_.points;
    try {
      while (state_.next < points.size() && found_.candidates.size() < kMostCandidates) {
        search_from(points[state_.next], state_.next);
        ++state_.next;
        after_start();
      }
    } catch (const Stopped&) {  // what was found so far
    }
    try {
      if (!large()) add_place_on_path();
    } catch (const Stopped&) {  // without it
    }
    if (found_.candidates.empty()) found_.candidates.push_back(without_curvature(points.front()));
    drop_ends_beside_modes();
    sort();
    if (large()) keep_one();
    return std::move(found_);
  }

 private:
  /// No curvature but sketches.
  bool large() const { return evaluator_.dimension() > kDenseDimension && !pattern_; }
  /// So far below a mode there is no other.
  double hopeless_nats() const { return kHopelessNats * static_cast<double>(10 + evaluator_.dimension()); }

  void search_from(ConstVectorRef point, std::size_t index) {
    if (Control* control = evaluator_.control()) {
      control->enter(Phase::kSearch);
      control->report(static_cast<std::int64_t>(index), std::numeric_limits<double>::quiet_NaN());
    }
    const ModeSearch search = search_mode_from(point);
    if (!highest_ || search.end.log_density > highest_->log_density) highest_ = search.end;
    found_.reports.push_back(
        {search.end.log_density, search.converged, std::numeric_limits<double>::quiet_NaN()});
    if (Control* control = evaluator_.control()) control->enter(Phase::kCurvature);
    if (index == 0 && !pattern_) pattern_ = find_pattern(evaluator_, search.end.theta, seed_);
    look_at_path(search, index);
    add(search, index);
  }

  // The mode of a hierarchical model may be a spike, where all effects and their sd vanish.
  void look_at_path(const ModeSearch& search, std::size_t index) {
    if (evaluator_.dimension() <= kPathDimension || evaluator_.model().expectations() != nullptr) return;
    auto [best, end_elbo] = best_path_mean(evaluator_, search.path, seed_);
    auto& known = state_.on_path;
    if (known) end_elbo = std::max(end_elbo, known->end_elbo);
    if (known && !(best.elbo > known->best.elbo))
      known->end_elbo = end_elbo;
    else
      known = PathPlace{std::move(best), end_elbo, index};
  }

  void add_place_on_path() {
    if (!state_.on_path || !std::isfinite(state_.on_path->best.elbo)) return;
    const PathMean& place = state_.on_path->best;
    for (const Candidate& candidate : found_.candidates)
      if (candidate.has_curvature() && !worth_a_try(place, candidate)) return;
    auto candidate = candidate_at(evaluator_, place.point, pattern_.get());
    if (!candidate) return;
    candidate->has_mass = true;
    candidate->sd = place.sd;
    keep(std::move(*candidate), state_.on_path->search);
  }

  /// Ends that are no modes were kept for want of anything better.
  void drop_ends_beside_modes() {
    auto& all = found_.candidates;
    if (evaluator_.dimension() <= kPathDimension || !has_mode()) return;
    std::vector<Candidate> kept;
    for (Candidate& candidate : all)
      if (candidate.is_mode || candidate.has_mass) kept.push_back(std::move(candidate));
    all = std::move(kept);
  }

  bool worth_a_try(const PathMean& place, const Candidate& than) {
    return is_elsewhere(place.mean, than) && !is_hopeless(place.elbo, than);
  }
  bool is_elsewhere(const Vector& place, const Candidate& than) const {
    const auto m = static_cast<double>(evaluator_.dimension());
    return !(than.squared_length(place - than.centre.theta) < kElsewhere * kElsewhere * m);
  }
  bool is_hopeless(double elbo, const Candidate& than) {
    const auto m = static_cast<double>(evaluator_.dimension());
    const double known = estimate_elbo(evaluator_, local_gaussian(than), kModeDraws, seed_).elbo;
    return elbo < known - kRoughNats - kRoughShare * m;
  }

  // The curvature of a mode found before makes later searches short.
  ModeSearch search_mode_from(ConstVectorRef point) {
    const int iterations = large() ? kModeIterations : kRoughModeIterations;
    for (const Candidate& candidate : found_.candidates)
      if (candidate.is_mode && candidate.has_curvature())
        return search_with_curvature(evaluator_, point, iterations, candidate);
    return search_mode(evaluator_, point, iterations);
  }

  void add(const ModeSearch& search, std::size_t index) {
    Candidate end{search.end, std::nullopt, search.converged, index};
    if (large()) {
      found_.candidates.push_back(std::move(end));
      return;
    }
    const auto best = std::find_if(found_.candidates.begin(), found_.candidates.end(),
                                   [](const Candidate& c) { return c.is_mode; });
    const bool have_mode = best != found_.candidates.end();
    if (have_mode && search.end.log_density < best->centre.log_density - hopeless_nats()) return;
    if (known(end)) return;
    auto mode = polish_mode(evaluator_, search.end, pattern_.get());
    const bool useful = mode && mode->is_mode;
    if (useful && known(*mode)) return;
    if (!useful && have_mode) return;
    // A density without a maximum, or one whose maximum is a spike, has its mass elsewhere: on the way.
    if (evaluator_.dimension() > kPathDimension) {
      if (mode && !useful) return keep(std::move(*mode), index);
    } else if (!useful) {
      auto point = best_on_path(evaluator_, search.path, seed_);
      if (point)
        keep(std::move(*point), index);
      else if (mode)
        keep(std::move(*mode), index);
    } else if (index == 0) {
      if (auto point = place_beside(*mode, search.path)) keep(std::move(*point), index);
    }
    if (useful) keep(std::move(*mode), index);
  }

  /// On the way to a mode, away from it. What is near leads to the same Gaussian.
  std::optional<Candidate> place_beside(const Candidate& mode, const std::vector<PathPoint>& path) {
    std::vector<PathPoint> elsewhere;
    for (const PathPoint& point : path)
      if (is_elsewhere(point.theta, mode)) elsewhere.push_back(point);
    auto place = best_on_path(evaluator_, elsewhere, seed_);
    if (!place || is_hopeless(local_elbo(*place), mode)) return std::nullopt;
    return place;
  }

  bool known(const Candidate& candidate) const {
    return std::any_of(found_.candidates.begin(), found_.candidates.end(), [&](const Candidate& other) {
      return other.has_curvature() && same_place(other, candidate);
    });
  }

  void keep(Candidate candidate, std::size_t index) {
    candidate.search = index;
    found_.candidates.push_back(std::move(candidate));
  }

  /// No curvature anywhere, or no time for it: the highest point, or the start itself, with whatever scale
  /// the refinement finds.
  Candidate without_curvature(ConstVectorRef start) const {
    if (highest_) return {*highest_, std::nullopt, false, 0};
    return {{start, Vector::Zero(start.size()), 0}, std::nullopt, false, 0};
  }

  bool has_mode() const {
    return std::any_of(found_.candidates.begin(), found_.candidates.end(),
                       [](const Candidate& candidate) { return candidate.is_mode; });
  }

  // Without a mode the log density says nothing: it may have no bound.
  void sort() {
    auto& all = found_.candidates;
    if (all.size() > 1 && !has_mode() && !large()) return sort_by_elbo();
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      if (a.is_mode != b.is_mode) return a.is_mode;
      return a.centre.log_density > b.centre.log_density;
    });
  }

  void sort_by_elbo() {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < found_.candidates.size(); ++i)
      order.emplace_back(local_elbo(found_.candidates[i]), i);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Candidate> sorted;
    for (const auto& [elbo, i] : order) sorted.push_back(std::move(found_.candidates[i]));
    found_.candidates = std::move(sorted);
  }

  double local_elbo(const Candidate& of) {
    if (!of.has_curvature()) return -std::numeric_limits<double>::infinity();
    const ElboEstimate estimate = estimate_elbo(evaluator_, local_gaussian(of), kModeDraws, seed_);
    return estimate.rejected > 0 ? -std::numeric_limits<double>::infinity() : estimate.elbo;
  }

  // Where the curvature is sketched a comparison would cost more than it tells. A search that ended
  // hopelessly low has found no mode, whatever it says: rounding stops it where the log density is beyond all
  // measure.
  void keep_one() {
    auto& all = found_.candidates;
    const auto highest = std::max_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return a.centre.log_density < b.centre.log_density;
    });
    const double hopeless = highest->centre.log_density - hopeless_nats();
    const auto first = std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) {
      return candidate.centre.log_density >= hopeless;
    });
    if (first != all.begin()) *all.begin() = std::move(*first);
    all.erase(all.begin() + 1, all.end());
    if (const auto& place = state_.on_path) {
      const double margin = kRoughNats + kMarginShare * static_cast<double>(evaluator_.dimension());
      if (place->best.elbo > place->end_elbo + margin)
        all.front() = {place->best.point, std::nullopt, false, place->search, nullptr, place->best.sd};
    }
  }

  Evaluator& evaluator_;
  SearchState& state_;
  std::uint64_t seed_;
  SearchResult& found_;
  std::optional<PathPoint>& highest_;
  std::shared_ptr<const HessianPattern>& pattern_;
};

}  // namespace

// A regression that knows its expectations has a dense Hessian, and where m is small that costs little.
std::shared_ptr<const HessianPattern> find_pattern(Evaluator& evaluator, ConstVectorRef at,
                                                   std::uint64_t seed) {
  const Index m = evaluator.dimension();
  if (m <= kFullRankDimension || m > kSparseDimension || evaluator.model().expectations() != nullptr)
    return nullptr;
  return find_hessian_pattern(evaluator, at, kPatternScale * at.cwiseAbs().cwiseMax(1), seed);
}

SearchResult find_candidates(Evaluator& evaluator, SearchState& state, std::uint64_t seed,
                             const std::function<void()>& after_start) {
  return CandidateSearch(evaluator, state, seed).run(after_start);
}

}  // namespace magva
