#pragma once
// One run of the default, stage by stage: search -> curvature -> best Gaussian for the quadratic ->
// refinement -> assessment.
#include <vector>

#include "assess/assess.hpp"
#include "exact/newton.hpp"
#include "refine/refinement.hpp"
#include "search/curvature.hpp"
#include "search/starts.hpp"

namespace magva {

class DefaultRun {
 public:
  DefaultRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers);
  FitResult run();

 private:
  void stop(StopReason reason, std::string detail);

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

  // exact_run.cpp
  /// What the model knows without draws; null where draws are needed or asked for.
  const ExpectedLogDensity* exact_expectations() const;
  /// The best Gaussian by exact expectations.
  void fit_exactly(const ExpectedLogDensity& expected, const std::vector<Vector>& points);
  std::vector<Candidate> exact_candidates(ExactElbo& elbo, const std::vector<Vector>& points,
                                          const ExactObserver& go_on);
  void fit_exactly_from(ExactElbo& elbo, const Candidate& candidate, const ExactObserver& go_on);
  FitResult finish_exact();

  // default_run.cpp
  Refinement race(std::vector<Candidate> candidates);
  void refine(Refinement& refinement);
  /// Refines from other factors, where there are any to try, and keeps the best.
  void try_other_factors(Refinement& best);
  bool ran_away(const Gaussian& q);
  void compare_with_rivals(const Gaussian& best, Assessment& assessment);
  void warn_of_mode(const Gaussian& best, const Gaussian& other, double elbo, Assessment& assessment) const;
  FitResult finish(const Gaussian& q, std::int64_t iterations);
  FitResult report(const Gaussian& q, Assessment assessment, std::int64_t iterations);

  const Model& model_;
  const FitOptions& options_;
  Control control_;
  Evaluator evaluator_;

  Index rank_ = 0;
  std::vector<RankStep> rank_path_;
  std::vector<StartReport> reports_;
  std::vector<Refinement> rivals_;
  Vector first_sd_;
  std::optional<CurvatureSketch> sketch_;
  /// Fits without draws, from every candidate.
  struct ExactFit {
    Gaussian posterior;
    double elbo;
    ExactStop stop;
  };
  std::vector<ExactFit> exact_fits_;
  std::optional<Gaussian> fallback_;  // what is known before there is a refinement

  // Of the fit, without the assessment.
  std::int64_t evaluations_ = 0;
  std::int64_t rejected_ = 0;
  StopReason stopped_ = StopReason::kIterationLimit;
  std::string stop_detail_;
};

}  // namespace magva
