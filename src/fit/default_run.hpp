#pragma once
// One run of the default, phase by phase.
#include <chrono>
#include <vector>

#include "fit/fit_auto.hpp"
#include "refine/refinement.hpp"
#include "search/curvature.hpp"
#include "search/starts.hpp"

namespace magva {

class AutoRun {
 public:
  AutoRun(const Model& model, const AutoOptions& options, const std::vector<AutoObserver>& observers);
  AutoResult run();

 private:
  /// Tells the observers; false where the run must end, with `stopped_` and `evidence_` saying why.
  bool go_on(const char* phase, std::int64_t iteration, double elbo);
  double seconds() const;
  std::int64_t evaluation_limit() const;
  double tolerance() const;

  // candidates.cpp
  std::vector<Candidate> find_candidates(const std::vector<Vector>& points);
  ModeSearch search_from(ConstVectorRef point, const std::vector<Candidate>& found);
  void add_candidate(const ModeSearch& search, std::size_t index, std::vector<Candidate>& found);
  void keep_one(std::vector<Candidate>& found) const;
  /// So far below a mode there is no other.
  double hopeless_nats() const;
  std::unique_ptr<Covariance> start_covariance(const Candidate& candidate);
  /// Shrinks a start to the scale with the best ELBO.
  void fit_scale(ConstVectorRef mean, Covariance& covariance);
  std::unique_ptr<Covariance> start_without_curvature() const;
  void settle_rank(const Candidate& candidate);

  // auto_run.cpp
  Refinement race(std::vector<Candidate> candidates);
  void refine(Refinement& refinement);
  /// Refines from other factors, where there are any to try, and keeps the best.
  void try_other_factors(Refinement& best);
  bool ran_away(const Gaussian& q);

  // trust.cpp
  AutoResult judge(const Refinement& best);
  void compare_with_rivals(const Gaussian& best, double elbo);

  const Model& model_;
  AutoOptions options_;
  const std::vector<AutoObserver>& observers_;
  Evaluator evaluator_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

  Index rank_ = 0;
  std::vector<RankStep> rank_path_;
  std::vector<StartReport> reports_;
  std::vector<Refinement> rivals_;
  Vector first_sd_;
  std::optional<CurvatureSketch> sketch_;

  bool over_ = false;  // nothing more may be evaluated for the fit
  StopReason stopped_ = StopReason::kIterationLimit;
  std::string evidence_;
  std::vector<std::string> warnings_;
  bool trusted_ = true;
};

}  // namespace magva
