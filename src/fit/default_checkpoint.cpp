// The default in a checkpoint: which stage it is at, what the stages before it have found, and the counters
// that later noise depends on.
#include <algorithm>

#include "fit/checkpoint_fields.hpp"
#include "fit/default_run.hpp"
#include "posterior/save.hpp"

namespace magva {

template <class Visit, io::ConstOrNot<PathPoint> T>
void visit_fields(Visit& visit, T& point) {
  visit(point.theta);
  visit(point.gradient);
  visit(point.log_density);
}

void visit_fields(io::Put& put, const std::shared_ptr<const FactoredPrecision>& precision) {
  put.out.integer(precision ? 1 : 0);
  if (precision) precision->write(put.out);
}
void visit_fields(io::Get& get, std::shared_ptr<const FactoredPrecision>& precision) {
  precision = get.in.integer() != 0 ? FactoredPrecision::read(get.in) : nullptr;
}

template <class Visit, io::ConstOrNot<Candidate> T>
void visit_fields(Visit& visit, T& candidate) {
  visit(candidate.centre);
  visit(candidate.curvature);
  visit(candidate.is_mode);
  visit(candidate.search);
  visit(candidate.precision);
  visit(candidate.sd);
  visit(candidate.has_mass);
}

template <class Visit, io::ConstOrNot<SumTerm> T>
void visit_fields(Visit& visit, T& sum) {
  visit(sum.members);
  visit(sum.weight);
}

template <class Visit, io::ConstOrNot<PatternEntries> T>
void visit_fields(Visit& visit, T& pattern) {
  visit(pattern.rows);
  visit(pattern.columns);
  visit(pattern.sums);
}

namespace {

bool fits(const PatternEntries& pattern, Index m) {
  const auto inside = [m](Index i) { return i >= 0 && i < m; };
  return pattern.rows.size() == pattern.columns.size() &&
         pattern.rows.size() >= static_cast<std::size_t>(m) &&
         std::all_of(pattern.rows.begin(), pattern.rows.end(), inside) &&
         std::all_of(pattern.columns.begin(), pattern.columns.end(), inside) &&
         std::all_of(pattern.sums.begin(), pattern.sums.end(), [&](const SumTerm& sum) {
           return sum.weight > 0 && std::all_of(sum.members.begin(), sum.members.end(), inside);
         });
}

}  // namespace

void visit_fields(io::Put& put, const std::shared_ptr<const HessianPattern>& pattern) {
  put(pattern ? pattern->dimension() : Index{0});
  if (pattern) put(pattern->places());
}
void visit_fields(io::Get& get, std::shared_ptr<const HessianPattern>& pattern) {
  Index m = 0;
  get(m);
  pattern = nullptr;
  if (m == 0) return;
  PatternEntries entries;
  get(entries);
  if (!fits(entries, m)) get.in.fail("its parts do not fit each other");
  pattern = std::make_shared<const HessianPattern>(m, std::move(entries));
}

template <class Visit, io::ConstOrNot<PathPlace> T>
void visit_fields(Visit& visit, T& place) {
  visit(place.best.point);
  visit(place.best.mean);
  visit(place.best.elbo);
  visit(place.best.sd);
  visit(place.end_elbo);
  visit(place.search);
}

template <class Visit, io::ConstOrNot<SearchState> T>
void visit_fields(Visit& visit, T& search) {
  visit(search.points);
  visit(search.next);
  visit(search.found.candidates);
  visit(search.found.reports);
  visit(search.highest);
  visit(search.pattern);
  visit(search.on_path);
}

template <class Visit, io::ConstOrNot<CurvatureSketch> T>
void visit_fields(Visit& visit, T& sketch) {
  visit(sketch.diagonal);
  visit(sketch.values);
  visit(sketch.directions);
}

template <class Visit, io::ConstOrNot<RivalContest> T>
void visit_fields(Visit& visit, T& contest) {
  visit(contest.elbo);
  visit(contest.next);
}

template <class Visit, io::ConstOrNot<CovarianceShape> T>
void visit_fields(Visit& visit, T& shape) {
  visit(shape.choice.rank);
  visit(shape.choice.path);
  visit(shape.sketch);
  visit(shape.pattern);
}

namespace {

bool fits(const PathPoint& point, Index m) { return point.theta.size() == m && point.gradient.size() == m; }

bool fits(const Candidate& candidate, Index m) {
  const auto& curvature = candidate.curvature;
  return fits(candidate.centre, m) && (!curvature || (curvature->rows() == m && curvature->cols() == m)) &&
         (!candidate.precision || candidate.precision->dimension() == m) &&
         (!candidate.sd || candidate.sd->size() == m);
}

bool all_fit(const std::vector<Candidate>& candidates, std::size_t searches, Index m) {
  return std::all_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& c) { return fits(c, m) && c.search < searches; });
}

bool fits(const PathPlace& place, std::size_t searches, Index m) {
  return fits(place.best.point, m) && place.best.mean.size() == m && place.best.sd.size() == m &&
         place.search < searches;
}

bool fits(const SearchState& search, Index m) {
  return std::all_of(search.points.begin(), search.points.end(),
                     [&](const Vector& point) { return point.size() == m; }) &&
         all_fit(search.found.candidates, search.points.size(), m) &&
         (!search.highest || fits(*search.highest, m)) &&
         (!search.pattern || search.pattern->dimension() == m) &&
         (!search.on_path || fits(*search.on_path, search.points.size(), m));
}

bool fits(const CovarianceShape& shape, Index m) {
  const auto& sketch = shape.sketch;
  if (shape.pattern && shape.pattern->dimension() != m) return false;
  return shape.choice.rank >= 0 && shape.choice.rank <= m &&
         (!sketch || (sketch->diagonal.size() == m && sketch->directions.rows() == m &&
                      sketch->directions.cols() == sketch->values.size()));
}

std::optional<Refinement> read_refinement(io::ChecksummedReader& in, Evaluator& evaluator) {
  if (in.integer() == 0) return std::nullopt;
  return Refinement::read(in, evaluator);
}

void write_refinement(io::ChecksummedWriter& out, const std::optional<Refinement>& refinement) {
  out.integer(refinement ? 1 : 0);
  if (refinement) refinement->save(out);
}

/// Without its assessment, which is found again.
void write_mixture(io::ChecksummedWriter& out, const std::optional<MixtureFound>& found) {
  out.integer(found ? 1 : 0);
  if (!found) return;
  io::Put{out}(found->hyper_parameters);
  write_gaussian(out, found->around);
  found->mixture->write(out);
}

std::optional<MixtureFound> read_mixture(io::ChecksummedReader& in, Index m) {
  if (in.integer() == 0) return std::nullopt;
  std::vector<Index> hyper_parameters;
  io::Get{in}(hyper_parameters);
  Gaussian around = read_gaussian(in);
  const bool inside =
      std::all_of(hyper_parameters.begin(), hyper_parameters.end(), [m](Index i) { return i >= 0 && i < m; });
  if (around.dimension() != m || !inside) in.fail("its parts do not fit each other");
  return MixtureFound{std::move(around), GaussianMixture::read(in, m), std::nullopt,
                      std::move(hyper_parameters)};
}

}  // namespace

// A stage that ended because the fit had to end is not done.
void DefaultRun::enter(Stage stage) {
  stage_ = stage;
  save_checkpoint();
}

// A stage that took no time is sooner done again than written to a disk.
void DefaultRun::save_checkpoint() {
  if (control_.stopped()) return;
  checkpoints_.save_when_due(control_.seconds(), [&](io::ChecksummedWriter& out) { write_checkpoint(out); });
}

void DefaultRun::write_checkpoint(io::ChecksummedWriter& out) const {
  io::Put put{out};
  put(stage_);
  put(evaluator_.counters());
  put(control_.position());
  put(search_);
  write_mixture(out, early_);
  put(candidates_);
  put(reports_);
  put(shape_);
  put(first_sd_);
  put(stopped_);
  put(stop_detail_);
  write_refinement(out, best_);
  out.integer(static_cast<std::int64_t>(rivals_.size()));
  for (const Refinement& rival : rivals_) rival.save(out);
  put(contest_);
  out.integer(alternatives_ ? 1 : 0);
  if (!alternatives_) return;
  put(alternatives_->elbo);
  put(alternatives_->patience);
  put(alternatives_->tried);
  write_refinement(out, alternatives_->under_way);
}

void DefaultRun::read_checkpoint(io::ChecksummedReader& in) {
  io::Get get{in};
  Evaluator::Counters counters;
  Control::Position position;
  get(stage_);
  get(counters);
  get(position);
  get(search_);
  early_ = read_mixture(in, model_.dimension());
  get(candidates_);
  get(reports_);
  get(shape_);
  get(first_sd_);
  get(stopped_);
  get(stop_detail_);
  best_ = read_refinement(in, evaluator_);
  for (std::size_t left = in.count(); left > 0; --left) rivals_.push_back(Refinement::read(in, evaluator_));
  get(contest_);
  if (in.integer() != 0) {
    alternatives_ = Alternatives{0, 0, 0, std::nullopt};
    get(alternatives_->elbo);
    get(alternatives_->patience);
    get(alternatives_->tried);
    alternatives_->under_way = read_refinement(in, evaluator_);
  }
  const Index m = model_.dimension();
  const bool whole = stage_ == Stage::kSearch  ? !search_.points.empty()
                     : stage_ == Stage::kStart ? !candidates_.empty()
                                               : best_.has_value() && first_sd_.size() == m;
  const bool contest = !contest_ || contest_->next <= rivals_.size();
  if (!whole || !contest || !fits(search_, m) || !all_fit(candidates_, reports_.size(), m) ||
      !fits(shape_, m))
    in.fail("its parts do not fit each other");
  evaluator_.set(counters);
  control_.go_on_from(position);
  if (!search_.points.empty())
    candidate_ = Candidate{{search_.points.front(), Vector::Zero(m), 0}, std::nullopt, false, 0};
  if (!candidates_.empty()) candidate_ = candidates_.front();
}

}  // namespace magva
