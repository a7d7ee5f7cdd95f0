#pragma once
// One run of the default, stage by stage: search -> curvature -> best Gaussian for the quadratic ->
// refinement -> assessment.
#include <optional>
#include <string_view>
#include <vector>

#include "assess/assess.hpp"
#include "exact/newton.hpp"
#include "fit/checkpoints.hpp"
#include "fit/mixture_run.hpp"
#include "refine/start.hpp"
#include "search/candidates.hpp"

namespace magva {

/// Between the best fit and its rivals, each refined to its end.
struct RivalContest {
  double elbo = 0;       ///< of the best so far
  std::size_t next = 0;  ///< of the rivals
};

/// Whether the two put their mass in different places: some mean differs by several sds of both.
bool different_modes(const Gaussian& a, const Gaussian& b);

class DefaultRun {
 public:
  DefaultRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers);
  FitResult run();
  /// Whether short chains have nothing to add: they have decided, or weights of a mixture's own draws have.
  bool is_settled() const {
    return by_chains_ || (hierarchical_ && hierarchical_->assessed && hierarchical_->assessed->decided);
  }

 private:
  /// All stages before the assessment; throws Stopped where the fit must end.
  void run_stages();
  std::vector<Vector> first_points(int count);
  void refuse_stochastic(ConstVectorRef point);
  /// The candidates, and the shape of the covariance at the best of them.
  void find_candidates_and_shape();
  std::vector<Candidate> search(
      SearchState& state, const std::function<void()>& after_start = [] {});
  /// The best Gaussian for the quadratic at each candidate; the best of them after a short refinement.
  Refinement start_refinement(const std::vector<Candidate>& candidates);
  Refinement compare(std::vector<Refinement> runners, const std::vector<Candidate>& candidates);
  /// Goes on with another rank, if the curvature where a refinement that began far from a mode has come to
  /// asks for it, and the Gaussian with that curvature is not much worse.
  void choose_rank_again(Refinement& best, const Candidate& from, double least_elbo);
  void refine();
  /// Refines the rivals to their end; one that is better than the best takes its place.
  void refine_rivals();
  bool refine_rival(Refinement& rival);
  /// Whether a rival will not come near the best.
  bool hopeless(const Refinement& rival);
  double compared_elbo(const Refinement& of);
  /// Refines from other factors, where there are any to try, and keeps the best.
  void try_other_factors();
  /// Reports an iteration that is about to begin. What it begins with is saved when that is due, and when the
  /// fit must end here.
  void report_iteration(const Refinement& of);
  bool ran_away();
  FitResult assess_result();
  void compare_with_rivals(const Gaussian& best, Assessment& assessment);
  void warn_of_mode(const Gaussian& best, const Gaussian& other, double elbo, Assessment& assessment) const;
  /// Says which parameter decides how wide others are, where that spoils the fit.
  void warn_of_funnel(const Gaussian& q, Assessment& assessment);
  FitResult report(const Gaussian& q, Assessment assessment, std::int64_t iterations);

  // default_checkpoint.cpp
  /// What has been done: a fit that is resumed goes on with this stage.
  enum class Stage { kSearch, kStart, kRefinement, kRivals, kAlternatives, kAssessment };
  void enter(Stage stage);
  void save_checkpoint();
  void write_checkpoint(io::ChecksummedWriter& out) const;
  void read_checkpoint(io::ChecksummedReader& in);

  // hierarchical_run.cpp
  /// Looks for a mixture over hyper-parameters first. False where there is none that settles the fit; what
  /// was found is then a candidate.
  bool fit_hierarchical();
  /// Whether weights leave nothing of it in doubt.
  bool is_without_doubt(const MixtureFound& found);
  /// Whether short chains leave no mean or sd of it in doubt; it is then `by_chains_`.
  bool settles_by_chains(const MixtureFound& found);
  /// Where searches from elsewhere find other mass than that of a mixture that was found from `first`.
  std::optional<MeanField> mass_elsewhere(const MixtureFound& found, const MeanField& first);
  bool is_elsewhere(const MixtureFound& found, const MeanField& first, const MeanField& other);
  /// Whether the ELBO of a mixture is clearly below that of a joint Gaussian.
  bool below(const Assessment& mixture, const Gaussian& joint);
  void keep_candidate(const Gaussian& around);
  /// What was found first and left a doubt; null where there is none.
  const MixtureFound* early_mixture();
  /// Where the mass is, for the search: its modes may be far from it, or spikes.
  void keep_place(const MeanField& first);
  FitResult result_of(const MixtureFound& found, Assessment assessment, std::string_view why);
  FitResult report_hierarchical();

  // newton_run.cpp
  /// Puts the best full-rank Gaussian in the place of the refinement that is about to begin, where Newton
  /// steps find it, and cost less.
  void try_newton_steps();
  bool newton_steps_pay() const;
  /// Where the search begins, or the place with mass near it if that is better.
  Gaussian newton_start();

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

  Checkpoints checkpoints_;
  std::optional<MixtureFound> hierarchical_;  // where that is the result
  std::optional<FitResult> by_chains_;        // the same, where short chains have decided that
  std::optional<MixtureFound> early_;         // where it is not, because of a doubt
  Stage stage_ = Stage::kSearch;
  SearchState search_;
  std::vector<Candidate> candidates_;

  std::vector<StartReport> reports_;
  CovarianceShape shape_;
  std::optional<Candidate> candidate_;  // the best, before there is a refinement
  std::optional<Refinement> best_;
  std::vector<Refinement> rivals_;  // of the best, which may be at other modes
  std::optional<RivalContest> contest_;
  Vector first_sd_;
  /// Refinements from other factors.
  struct Alternatives {
    double elbo = 0;            // of the best so far
    std::int64_t patience = 0;  // iterations
    int tried = 0;
    std::optional<Refinement> under_way;
  };
  std::optional<Alternatives> alternatives_;
  /// Fits without draws, from every candidate.
  struct ExactFit {
    Gaussian posterior;
    double elbo;
    ExactStop stop;
    std::optional<Matrix> curvature;  // E[-Hessian] near a low-rank fit, if it is known
  };
  std::vector<ExactFit> exact_fits_;
  /// By linear response.
  double correct(ExactFit& fit);

  // Of the fit, without the assessment.
  std::int64_t evaluations_ = 0;
  std::int64_t rejected_ = 0;
  StopReason stopped_ = StopReason::kIterationLimit;
  std::string stop_detail_;
};

}  // namespace magva
