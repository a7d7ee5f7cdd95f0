#include "refine/fit_batch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>

#include "assess/pareto.hpp"
#include "fit/constants.hpp"
#include "magva/error.hpp"
#include "refine/full_pass.hpp"

namespace magva {

namespace {

constexpr Index kSampleRowsPerParameter = 50;  // that the first fit's curvature is about right
constexpr double kSettledNats = .01;           // a mean as good as this needs no further pass
constexpr int kStepHalvings = 4;
constexpr double kAdamStep = .01;  // in posterior sds

/// One minibatch, always the same: a model on a sample of the rows.
class FixedSample final : public Model {
 public:
  FixedSample(std::shared_ptr<const Regression> full, const MinibatchOptions& options)
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

class BatchRun {
 public:
  BatchRun(const Minibatch& model, const BatchOptions& options, const std::vector<AutoObserver>& observers)
      : model_(model), options_(options), observers_(observers), full_(model.full(), options.start.threads) {}

  AutoResult run() {
    AutoResult result = fit_to_sample();
    Gaussian q = correct_mean(result.posterior);
    Gaussian refined = refine(q);
    return judge(std::move(result), std::move(q), std::move(refined));
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  /// Full gradients, or as many row gradients.
  std::int64_t evaluations() const {
    return static_cast<std::int64_t>(
        std::ceil(sampled_evaluations_ + static_cast<double>(full_.evaluations())));
  }
  bool go_on(const char* phase, std::int64_t iteration, double elbo) {
    const AutoView view{phase, iteration, evaluations(), seconds(), elbo};
    for (const auto& observer : observers_) stopped_ = !observer(view) || stopped_;
    return !stopped_;
  }

  AutoResult fit_to_sample() {
    const Index rows = std::max(model_.options().rows, kSampleRowsPerParameter * model_.dimension());
    const FixedSample sample(model_.regression(), {rows, model_.options().run, model_.options().seed});
    AutoOptions options = options_.start;
    options.elbo_draws = constants::kElboDraws;
    AutoResult result = fit_auto(sample, options, {[&](const AutoView& view) {
                                   sampled_evaluations_ =
                                       sample.share() * static_cast<double>(view.gradient_evaluations);
                                   return go_on("fit to a sample of rows", view.iteration, view.elbo);
                                 }});
    sampled_evaluations_ = sample.share() * static_cast<double>(result.gradient_evaluations);
    for (std::string& warning : result.warnings) warning = "of the fit to a sample of rows: " + warning;
    return result;
  }

  /// Steps of the mean by the full gradient in the sample's metric, which gain a factor of about
  /// sqrt(rows of the sample / parameters) each.
  Gaussian correct_mean(const Gaussian& start) {
    Gaussian best = start;
    pass_ = look_at(best);
    double length = 1;
    for (int passes = 1; passes < options_.passes && pass_.gain > kSettledNats; ++passes) {
      if (length < std::pow(.5, kStepHalvings) || !go_on("passes over all rows", passes, nan())) break;
      Gaussian next = moved(best, best.mean() + length * pass_.step);
      FullPass there = look_at(next);
      if (!(there.log_density > pass_.log_density)) {
        length /= 2;
        continue;
      }
      best = std::move(next);
      pass_ = std::move(there);
    }
    return best;
  }

  FullPass look_at(const Gaussian& q) {
    return pass_over_all_rows(full_, q, options_.draws, options_.start.seed);
  }

  Gaussian refine(const Gaussian& start) {
    if (stopped_ || !std::isfinite(pass_.anchor.log_density)) return start;
    const AnchoredMinibatch anchored(model_, pass_.anchor);
    FitOptions options = refinement_options(start);
    const Whitening whitening{start.mean(), start.sd()};
    Fitter fitter(anchored, options, whitening, start.mean());
    start_family(fitter.family(), start, whitening, options.family);
    const double cost = static_cast<double>(options.draws + 1) / static_cast<double>(model_.batches());
    const FitResult result = fitter.run({[&](const IterationView& view) {
      sampled_evaluations_ += cost;
      iterations_ = view.iteration;
      return go_on("refinement", view.iteration, view.elbo);
    }});
    return result.posterior;
  }

  FitOptions refinement_options(const Gaussian& start) const {
    FitOptions options;
    options.family.kind = start.is_dense()    ? FamilyKind::kFullRank
                          : start.rank() == 0 ? FamilyKind::kMeanField
                                              : FamilyKind::kStiefel;
    options.family.rank = start.rank();
    options.family.scales = ScaleCoordinates::kLog;
    options.factor_rule = options.mean_rule = options.scale_rule = rule_defaults(RuleKind::kAdam);
    options.factor_rule.step = options.mean_rule.step = options.scale_rule.step = kAdamStep;
    options.estimator = Estimator::kPath;
    options.draws = options_.draws;
    options.antithetic = true;
    options.decay = StepDecay::kCosine;
    options.seed = options_.start.seed;
    options.threads = options_.start.threads;
    options.max_iterations = options_.iterations;
    options.time_limit = options_.start.time_limit;
    return options;
  }

  /// Puts the covariance of `start` into the family's blocks.
  static void start_family(Family& family, const Gaussian& start, const Whitening& whitening,
                           const FamilyOptions& options) {
    const Vector inverse = whitening.scale.cwiseInverse();
    const Gaussian white = start.transformed(-whitening.centre.cwiseProduct(inverse), inverse);
    for (Block& block : family.blocks()) {
      if (block.name == "L") block.value = white.factors();
      if (block.name == "d2") block.value = white.residual_sd().array().log();
      if (options.kind != FamilyKind::kStiefel) continue;
      const Vector lengths = white.factors().colwise().norm().cwiseMax(1e-8);
      if (block.name == "B") block.value = white.factors() * lengths.cwiseInverse().asDiagonal();
      if (block.name == "d1") block.value = lengths.array().log();
    }
  }

  AutoResult judge(AutoResult result, Gaussian start, Gaussian refined) {
    const std::uint64_t seed = options_.start.seed + 1;
    const Index draws = options_.start.elbo_draws;
    const std::int64_t spent = evaluations();
    ElboEstimate estimate = estimate_elbo(full_, refined, draws, seed);
    if (iterations_ > 0) {
      ElboEstimate before = estimate_elbo(full_, start, draws, seed);
      if (!(estimate.elbo > before.elbo)) {
        estimate = std::move(before);
        refined = std::move(start);
        result.warnings.emplace_back(
            "minibatches did not improve the ELBO on all rows: the result is that of the passes before them");
      }
    }
    result.posterior = std::move(refined);
    result.elbo = estimate.elbo;
    result.elbo_se = estimate.se;
    result.khat = std::isfinite(estimate.elbo) ? pareto_khat(estimate.log_weights)
                                               : std::numeric_limits<double>::infinity();
    result.iterations = iterations_;
    result.gradient_evaluations = spent + options_.draws + 1;
    result.rejected_draws += full_.rejected();
    state_evidence(result);
    result.seconds = seconds();
    return result;
  }

  void state_evidence(AutoResult& result) {
    const double gain = look_at(result.posterior).gain;
    result.stopped = stopped_ ? StopReason::kInterrupted : StopReason::kIterationLimit;
    result.evidence = fmt::format(
        "after {} iterations on minibatches, a step of the mean by the gradient of all rows would gain "
        "{:.3g} "
        "nats",
        iterations_, gain);
    const double tolerance = std::max(constants::kToleranceNats,
                                      constants::kToleranceShare * static_cast<double>(model_.dimension()));
    if (stopped_ || !(gain < tolerance)) {
      result.trusted = false;
      result.warnings.push_back(
          fmt::format("the fit has not converged ({}): {}", words(result.stopped), result.evidence));
    }
    if (!std::isfinite(result.elbo)) {
      result.trusted = false;
      result.warnings.emplace_back("the ELBO of the result is not finite");
    } else if (result.khat > constants::kDoubtfulKhat) {
      result.warnings.push_back(fmt::format("k-hat is {:.2f}, {}", result.khat, khat_words(result.khat)));
    }
  }

  static double nan() { return std::numeric_limits<double>::quiet_NaN(); }

  const Minibatch& model_;
  const BatchOptions& options_;
  const std::vector<AutoObserver>& observers_;
  Evaluator full_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  FullPass pass_;
  double sampled_evaluations_ = 0;
  std::int64_t iterations_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::vector<std::string> BatchOptions::problems(Index dimension) const {
  auto out = start.problems(dimension);
  if (iterations < 1) out.push_back(fmt::format("iterations is {} and must be at least 1", iterations));
  if (passes < 1) out.push_back(fmt::format("passes is {} and must be at least 1", passes));
  if (draws < 2 || draws % 2 != 0)
    out.push_back(fmt::format("draws is {} and must be even, at least 2", draws));
  return out;
}

AutoResult fit_batch(const Minibatch& model, const BatchOptions& options,
                     const std::vector<AutoObserver>& observers) {
  const auto problems = options.problems(model.dimension());
  if (!problems.empty()) throw UsageError(fmt::format("{}", fmt::join(problems, "; ")));
  return BatchRun(model, options, observers).run();
}

}  // namespace magva
