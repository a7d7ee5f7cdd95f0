#pragma once
// One run of the default, stage by stage: search -> curvature -> best Gaussian for the quadratic ->
// refinement -> assessment.
#include <optional>
#include <vector>

#include "assess/assess.hpp"
#include "exact/newton.hpp"
#include "refine/start.hpp"
#include "search/candidates.hpp"

namespace magva {

class DefaultRun {
 public:
  DefaultRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers);
  FitResult run();

 private:
  /// All stages before the assessment; throws Stopped where the fit must end.
  void run_stages();
  std::vector<Vector> first_points();
  std::vector<Candidate> search(const std::vector<Vector>& points);
  /// The best Gaussian for the quadratic at each candidate; the best of them after a short refinement.
  Refinement start_refinement(const std::vector<Candidate>& candidates);
  Refinement compare(std::vector<Refinement> runners, const std::vector<Candidate>& candidates);
  void refine();
  /// Refines from other factors, where there are any to try, and keeps the best.
  void try_other_factors();
  bool ran_away(const Gaussian& q);
  FitResult assess_result();
  void compare_with_rivals(const Gaussian& best, Assessment& assessment);
  void warn_of_mode(const Gaussian& best, const Gaussian& other, double elbo, Assessment& assessment) const;
  FitResult report(const Gaussian& q, Assessment assessment, std::int64_t iterations);

  // exact_run.cpp
  /// What the model knows without draws; null where draws are needed or asked for.
  const ExpectedLogDensity* exact_expectations() const;
  /// The best Gaussian by exact expectations, in place of all stages.
  void fit_exactly(const ExpectedLogDensity& expected, const std::vector<Vector>& points);
  std::vector<Candidate> exact_candidates(ExactElbo& elbo, const std::vector<Vector>& points,
                                          const ExactObserver& go_on);
  void fit_exactly_from(ExactElbo& elbo, const Candidate& candidate, const ExactObserver& go_on);
  FitResult assess_exact();

  /// The best Gaussian so far.
  Gaussian posterior() const;
  void stop(StopReason reason, std::string detail);

  const Model& model_;
  const FitOptions& options_;
  Control control_;
  Evaluator evaluator_;

  std::vector<StartReport> reports_;
  CovarianceShape shape_;
  std::optional<Candidate> candidate_;  // the best, before there is a refinement
  std::optional<Refinement> best_;
  std::vector<Refinement> rivals_;  // of the best, which may be at other modes
  Vector first_sd_;
  /// Fits without draws, from every candidate.
  struct ExactFit {
    Gaussian posterior;
    double elbo;
    ExactStop stop;
  };
  std::vector<ExactFit> exact_fits_;

  // Of the fit, without the assessment.
  std::int64_t evaluations_ = 0;
  std::int64_t rejected_ = 0;
  StopReason stopped_ = StopReason::kIterationLimit;
  std::string stop_detail_;
};

}  // namespace magva
