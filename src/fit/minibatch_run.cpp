#include <fmt/format.h>

#include <cmath>

#include "algorithm1/fitter.hpp"
#include "core/elbo.hpp"
#include "fit/checkpoint_fields.hpp"
#include "fit/checkpoints.hpp"
#include "fit/default_run.hpp"
#include "fit/full_pass.hpp"
#include "fit/runs.hpp"
#include "posterior/save.hpp"

namespace magva {

namespace {

constexpr Index kSampleRowsPerParameter = 50;  // that the first fit's curvature is about right
constexpr double kSettledNats = .01;           // a mean as good as this needs no further pass
constexpr int kStepHalvings = 4;
constexpr double kAdamStep = .01;     // in posterior sds
constexpr Index kSampleDraws = 4000;  // for the ELBO of the sample's fit
constexpr std::int64_t kIterations = 1000;

/// One minibatch, always the same: a model on a sample of the rows.
class FixedSample final : public Model {
 public:
  FixedSample(std::shared_ptr<const Model> full, const MinibatchOptions& options)
      : sample_(std::move(full), options) {}
  Index dimension() const override { return sample_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    Evaluation first{evaluation.scratch, evaluation.workers, 0};
    sample_.evaluate(theta, log_density, gradient, first);
  }
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override {
    return sample_.make_scratch(max_draws);
  }
  Vector start() const override { return sample_.start(); }
  std::string parameter_name(Index i) const override { return sample_.parameter_name(i); }
  double share() const { return 1. / static_cast<double>(sample_.batches()); }

 private:
  Minibatch sample_;
};

class MinibatchRun {
 public:
  MinibatchRun(const Minibatch& model, const FitOptions& options, const std::vector<Observer>& observers)
      : model_(model),
        options_(options),
        threads_(choose_threads(options.threads, model.full())),
        control_({.seconds = options.time_limit}, observers),
        full_(model.full(), threads_, &control_),
        checkpoints_(options.checkpoint, "minibatches") {}

  FitResult run() {
    if (checkpoints_.resumes()) checkpoints_.load([&](io::ChecksummedReader& in) { read_checkpoint(in); });
    if (!sample_) {
      sample_ = fit_to_sample();
      start_ = without_precision(sample_->posterior);
      save_checkpoint();
    }
    Gaussian refined = *start_;
    try {
      if (!fitter_) correct_mean();
      refined = *start_;
      refined = refine();
    } catch (const Stopped&) {  // with the best so far
    }
    return finish(std::move(*sample_), std::move(*start_), std::move(refined));
  }

 private:
  /// Rules know no sparse precisions: mean-field, then.
  static Gaussian without_precision(const Gaussian& q) {
    return q.is_sparse() ? Gaussian::low_rank(q.mean(), Matrix(q.dimension(), 0),
                                              q.precision_diagonal().cwiseSqrt().cwiseInverse())
                         : q;
  }

  FitResult fit_to_sample() {
    control_.enter(Phase::kSample);
    const Index rows = std::max(model_.options().rows, kSampleRowsPerParameter * model_.dimension());
    const FixedSample sample(model_.model(), {rows, model_.options().run, model_.options().seed});
    FitOptions options = options_;
    options.diagnostic_draws = kSampleDraws;
    options.max_iterations.reset();
    options.quantities.reset();
    options.checkpoint.reset();
    double spent = 0;
    const std::vector<Observer> observers{
        [&](const FitView& view) { return report_sample(sample.share(), view, spent); }};
    FitResult result = DefaultRun(sample, options, observers).run();
    // Which views come last is up to the clock; what the fit has counted is not.
    control_.spend(sample.share() * static_cast<double>(result.gradient_evaluations) - spent);
    for (Warning& warning : result.warnings)
      warning.message = "of the fit to a sample of rows: " + warning.message;
    return result;
  }

  bool report_sample(double share, const FitView& view, double& spent) {
    try {
      const double now = share * static_cast<double>(view.gradient_evaluations);
      control_.spend(now - spent);
      spent = now;
      control_.report(view.iteration, view.elbo);
      return true;
    } catch (const Stopped&) {
      return false;
    }
  }

  /// Steps of the mean by the full gradient in the sample's metric, which gain a factor of about
  /// sqrt(rows of the sample / parameters) each.
  void correct_mean() {
    if (!pass_) {
      control_.enter(Phase::kPasses);
      pass_ = look_at(*start_);
      ++passes_;
    }
    try {
      for (; passes_ < options_.minibatch.passes && pass_->gain > kSettledNats; ++passes_) {
        if (length_ < std::pow(.5, kStepHalvings)) break;
        save_checkpoint();
        control_.report(passes_, std::numeric_limits<double>::quiet_NaN());
        Gaussian next = moved(*start_, start_->mean() + length_ * pass_->step);
        FullPass there = look_at(next);
        if (!(there.log_density > pass_->log_density)) {
          length_ /= 2;
          continue;
        }
        start_ = std::move(next);
        pass_ = std::move(there);
      }
    } catch (const Stopped&) {  // the best so far
    }
  }

  FullPass look_at(const Gaussian& q) {
    return pass_over_all_rows(full_, q, options_.minibatch.draws, options_.seed);
  }

  Gaussian refine() {
    control_.poll();
    if (!std::isfinite(pass_->anchor.log_density)) return *start_;
    if (!fitter_) begin_refinement();
    const double cost =
        static_cast<double>(fitter_->options().draws + 1) / static_cast<double>(model_.batches());
    try {
      return fitter_
          ->run({[&](const IterationView& view) {
            control_.spend(cost);
            iterations_ = view.iteration;
            control_.report(view.iteration, view.elbo);
            checkpoints_.save_when_due(control_.seconds(),
                                       [&](io::ChecksummedWriter& out) { write_checkpoint(out); });
            return true;
          }})
          .posterior;
    } catch (const Stopped&) {
      checkpoints_.save([&](io::ChecksummedWriter& out) { write_checkpoint(out); });
      return fitter_->result(control_.reason(), control_.detail()).posterior;
    }
  }

  void begin_refinement() {
    control_.enter(Phase::kRefinement);
    anchored_.emplace(model_, pass_->anchor);
    const FitterOptions options = refinement_options(*start_);
    const Whitening whitening{start_->mean(), start_->sd()};
    fitter_.emplace(*anchored_, options, whitening, start_->mean());
    start_family(fitter_->family(), *start_, whitening, options.family);
    save_checkpoint();
  }

  // A stage that ended because the fit had to end is not done.
  void save_checkpoint() {
    if (!control_.stopped()) checkpoints_.save([&](io::ChecksummedWriter& out) { write_checkpoint(out); });
  }

  void write_checkpoint(io::ChecksummedWriter& out) const {
    io::Put put{out};
    put(full_.counters());
    put(control_.position());
    write_gaussian(out, sample_->posterior);
    visit_sample(put, *sample_);
    write_gaussian(out, *start_);
    put(pass_);
    put(length_);
    put(passes_);
    put(iterations_);
    out.integer(fitter_ ? 1 : 0);
    if (fitter_) fitter_->save(out);
  }

  void read_checkpoint(io::ChecksummedReader& in) {
    io::Get get{in};
    Evaluator::Counters counters;
    Control::Position position;
    get(counters);
    get(position);
    sample_ = assessed(read_gaussian(in), Assessment());
    visit_sample(get, *sample_);
    start_ = read_gaussian(in);
    get(pass_);
    get(length_);
    get(passes_);
    get(iterations_);
    const Index m = model_.dimension();
    if (start_->dimension() != m || (pass_ && (pass_->step.size() != m || pass_->anchor.theta.size() != m ||
                                               pass_->anchor.gradient.size() != m)))
      in.fail("it belongs to a model with another number of parameters");
    if (in.integer() != 0) {
      if (!pass_) in.fail("its parts do not fit each other");
      anchored_.emplace(model_, pass_->anchor);
      fitter_.emplace(Fitter::resume(in, *anchored_, threads_));
    }
    full_.set(counters);
    control_.go_on_from(position);
  }

  /// What the result takes from the fit to the sample.
  template <class Visit, class Result>
  static void visit_sample(Visit& visit, Result& sample) {
    visit(sample.trusted);
    visit(sample.warnings);
    visit(sample.rank_path);
    visit(sample.starts);
    visit(sample.rejected_draws);
  }

  FitterOptions refinement_options(const Gaussian& start) const {
    FitterOptions options;
    options.family = start.is_dense()    ? FamilyKind::kFullRank
                     : start.rank() == 0 ? FamilyKind::kMeanField
                                         : FamilyKind::kStiefel;
    options.rank = start.rank();
    options.scales = ScaleCoordinates::kLog;
    options.factor_rule = options.mean_rule = options.scale_rule = rule_defaults(RuleKind::kAdam);
    options.factor_rule.step = options.mean_rule.step = options.scale_rule.step = kAdamStep;
    options.estimator = Estimator::kPath;
    options.draws = options_.minibatch.draws;
    options.antithetic = true;
    options.decay = StepDecay::kCosine;
    options.seed = options_.seed;
    options.threads = threads_;
    options.max_iterations = options_.max_iterations.value_or(kIterations);
    return options;
  }

  /// Puts the covariance of `start` into the family's blocks.
  static void start_family(Family& family, const Gaussian& start, const Whitening& whitening,
                           FamilyKind kind) {
    const Vector inverse = whitening.scale.cwiseInverse();
    const Gaussian white = start.transformed(-whitening.centre.cwiseProduct(inverse), inverse);
    for (Block& block : family.blocks()) {
      if (block.kind == BlockKind::kCholesky) block.value = white.factors();
      if (block.kind == BlockKind::kResidualScale) block.value = white.residual_sd().array().log();
      if (kind != FamilyKind::kStiefel) continue;
      const Vector lengths = white.factors().colwise().norm().cwiseMax(1e-8);
      if (block.kind == BlockKind::kFactors)
        block.value = white.factors() * lengths.cwiseInverse().asDiagonal();
      if (block.kind == BlockKind::kFactorScale) block.value = lengths.array().log();
    }
  }

  /// The better one on all rows.
  struct Choice {
    Gaussian posterior;
    std::optional<ElboEstimate> estimate;
    bool improved;  ///< minibatches have gained something
  };
  Choice choose(Gaussian start, Gaussian refined) {
    if (iterations_ == 0 || control_.stopped()) return {std::move(refined), std::nullopt, true};
    control_.enter(Phase::kAssessment);
    ElboEstimate before = estimate_elbo(full_, start, options_.diagnostic_draws, options_.seed + 1);
    ElboEstimate after = estimate_elbo(full_, refined, options_.diagnostic_draws, options_.seed + 1);
    if (control_.stopped()) return {std::move(refined), std::nullopt, true};
    if (after.elbo > before.elbo) return {std::move(refined), std::move(after), true};
    return {std::move(start), std::move(before), false};
  }

  FitResult finish(FitResult sample, Gaussian start, Gaussian refined) {
    const std::int64_t spent = control_.evaluations();
    Choice best = choose(std::move(start), std::move(refined));
    Assessment assessment = assess(full_, best.posterior, ending_of(best.posterior),
                                   {.draws = options_.diagnostic_draws,
                                    .seed = options_.seed,
                                    .quantities = options_.quantities ? &*options_.quantities : nullptr,
                                    .estimate = std::move(best.estimate)});
    if (!best.improved)
      assessment.warn(
          WarningKind::kNoGain,
          "minibatches did not improve the ELBO on all rows: the result is that of the passes before "
          "them");
    if (!sample.trusted) assessment.trusted = false;
    for (Warning& warning : sample.warnings) assessment.warnings.push_back(std::move(warning));
    FitResult result = assessed(std::move(best.posterior), std::move(assessment));
    result.rank_path = std::move(sample.rank_path);
    result.starts = std::move(sample.starts);
    result.iterations = iterations_;
    result.gradient_evaluations = spent + options_.minibatch.draws + 1;
    result.rejected_draws = sample.rejected_draws + full_.rejected();
    result.seconds = control_.seconds();
    return result;
  }

  FitEnding ending_of(const Gaussian& q) {
    try {
      control_.poll();
      const double gain = look_at(q).gain;
      return {
          StopReason::kIterationLimit,
          fmt::format("after {} iterations on minibatches, a step of the mean by the gradient of all rows "
                      "would gain {:.3g} nats",
                      iterations_, gain),
          gain < promised_nats(model_.dimension()), false};
    } catch (const Stopped&) {
      return {control_.reason(), control_.detail(), false, false};
    }
  }

  const Minibatch& model_;
  const FitOptions& options_;
  int threads_;
  Control control_;
  Evaluator full_;
  Checkpoints checkpoints_;
  std::optional<FitResult> sample_;
  std::optional<Gaussian> start_;  // of the minibatches: the sample's fit with a corrected mean
  std::optional<FullPass> pass_;   // at the start
  double length_ = 1;              // of the next step of the mean
  int passes_ = 0;
  std::optional<AnchoredMinibatch> anchored_;
  std::optional<Fitter> fitter_;
  std::int64_t iterations_ = 0;
};

}  // namespace

FitResult run_minibatch(const Minibatch& model, const FitOptions& options,
                        const std::vector<Observer>& observers) {
  return MinibatchRun(model, options, observers).run();
}

}  // namespace magva
