// Posteriors of other shapes than the Gaussian's: fitted from the Gaussian, assessed as it was, and kept
// where they are better.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "assess/assess.hpp"
#include "assess/doubts.hpp"
#include "fit/runs.hpp"
#include "fit/shape_verdict.hpp"
#include "shape/base_model.hpp"
#include "shape/fit_shape.hpp"

namespace magva {

namespace {

/// The largest m for which a skewed shape is tried without being asked for. Flows are not: the verdict looks
/// along straight lines in the coordinates of their base, where they can follow the mass of a funnel and miss
/// the tails that make its sds.
constexpr Index kAutomaticSkewed = 200;
/// Iterations of each; fewer than the last are not worth it.
constexpr int kSkewedIterations = 600;
constexpr int kFlowIterations = 1500;
constexpr int kFewestIterations = 200;
/// Without being asked for, a shape takes so many times the gradients of the Gaussian at most; where that was
/// fitted without draws, it is not tried if a gradient takes more than so many products.
constexpr std::int64_t kGradientsOfGaussian = 8;
constexpr double kMostGradientProducts = 1e6;
/// Linear response that changes an sd by more, by its logarithm, asks for another shape.
constexpr double kLargeResponse = .2;
/// A shape's means and sds must agree with what was found about the Gaussian's, in sds and in logarithms, to
/// this; beyond the second, an sd off by a factor of two, it is of no use.
constexpr double kAgreement = .2;
constexpr double kUseless = .69;
/// A skewed shape whose log weights have a smaller sd is close to the posterior, whatever was found about the
/// Gaussian's margins, which is rougher than that.
constexpr double kCloseShapeSpread = .5;
/// An ELBO gains if it is higher by more than this many standard errors of the difference.
constexpr double kNoise = 3;

class ShapeRun {
 public:
  ShapeRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
           FitResult& result)
      : model_(model), options_(options), observers_(observers), result_(result), fitted_(result.posterior) {}

  void run() {
    const Index m = model_.dimension();
    if (options_.shape == ShapeChoice::kSkewed) try_shape(ShapeChoice::kSkewed, kSkewedIterations);
    if (options_.shape == ShapeChoice::kFlow) try_shape(ShapeChoice::kFlow, kFlowIterations);
    // A rank that was asked for is asked for with what it cannot show.
    if (options_.shape != ShapeChoice::kAutomatic || options_.rank.value_or(m) < m || fitted_.has_shape() ||
        result_.chain_draws > 0)
      return;
    if (m <= kAutomaticSkewed && (in_doubt() || (result_.warnings.empty() && far_from_corrected())))
      try_what_is_affordable();
  }

 private:
  bool in_doubt() const { return !result_.warnings.empty() && only_about_shape(result_.warnings); }

  /// The best Gaussian of all has other sds than linear response: then margins are skewed or have long tails,
  /// and quantiles are off where sds are not.
  bool far_from_corrected() const {
    if (!fitted_.is_dense() || !fitted_.has_correction()) return false;
    const Vector change = fitted_.corrected().sd().cwiseQuotient(fitted_.sd());
    return change.array().log().abs().maxCoeff() > kLargeResponse;
  }

  void try_what_is_affordable() {
    const int iterations = affordable_iterations();
    if (iterations >= kFewestIterations) try_shape(ShapeChoice::kSkewed, iterations);
  }

  int affordable_iterations() const {
    if (result_.expectations == Expectations::kExact) {
      const auto terms = static_cast<double>(model_.expectations()->terms());
      return terms * static_cast<double>(model_.dimension()) <= kMostGradientProducts ? kSkewedIterations : 0;
    }
    const std::int64_t gradients = kGradientsOfGaussian * result_.gradient_evaluations;
    return static_cast<int>(
        std::min<std::int64_t>(kSkewedIterations, gradients / (2 * ShapeFitOptions{}.pairs)));
  }

  void try_shape(ShapeChoice shape, int iterations) {
    if (result_.stopped != StopReason::kConverged) return;
    Control control({.seconds = options_.time_limit - result_.seconds,
                     .evaluations = options_.evaluation_limit(model_.dimension())},
                    observers_, Phase::kShape);
    control.go_on_from({{Phase::kShape, 0, result_.gradient_evaluations, result_.seconds, result_.elbo},
                        static_cast<double>(result_.gradient_evaluations)});
    Evaluator evaluator(model_, choose_threads(options_.threads, model_), &control);
    try {
      control.enter(Phase::kShape);
      const ShapeFitOptions how{.iterations = iterations, .seed = options_.seed, .least_gain = least_gain()};
      auto shaped = fit_shape(evaluator, fitted_, first_map(shape), how);
      const std::int64_t gradients = control.evaluations();
      if (shaped)
        assess_and_decide(shape, std::make_shared<const ShapedGaussian>(std::move(*shaped)), control);
      result_.gradient_evaluations = gradients;
    } catch (const Stopped&) {  // the result is what it was
    }
    result_.seconds = control.seconds();
  }

  /// A shape that was asked for is fitted to its end.
  double least_gain() const {
    return options_.shape == ShapeChoice::kAutomatic ? kNoise * std::numbers::sqrt2 * result_.elbo_se
                                                     : -std::numeric_limits<double>::infinity();
  }

  void assess_and_decide(ShapeChoice shape, std::shared_ptr<const ShapedGaussian> shaped, Control& control) {
    Assessment assessment = assess_shape(*shaped, control);
    if (shape == ShapeChoice::kFlow || !is_close(assessment)) keep_doubts(*shaped, assessment);
    if (!control.stopped()) decide(std::move(shaped), std::move(assessment));
  }

  ShapeMap first_map(ShapeChoice shape) const {
    return shape == ShapeChoice::kSkewed ? ShapeMap::skewed(fitted_)
                                         : ShapeMap::flow(fitted_, options_.layers, options_.seed);
  }

  Assessment assess_shape(const ShapedGaussian& shaped, Control& control) const {
    const BaseModel model(model_, shaped.map());
    Evaluator evaluator(model, choose_threads(options_.threads, model_), &control);
    const Quantities quantities = quantities_of(shaped);
    const FitEnding ending{result_.stopped, result_.stop_detail, true, true};
    return assess(evaluator, shaped.base(), ending,
                  {.draws = options_.diagnostic_draws,
                   .seed = options_.seed,
                   .quantities = &quantities,
                   .estimate = std::nullopt});
  }

  /// What will be read off it, which are not the coordinates z of its base.
  Quantities quantities_of(const ShapedGaussian& shaped) const {
    Quantities out;
    if (options_.quantities) {
      out.names = options_.quantities->names;
      out.at = [this, &shaped](ConstMatrixRef z) {
        return options_.quantities->at(shaped.map().forward(z).theta);
      };
      return out;
    }
    for (Index i = 0; i < model_.dimension(); ++i) out.names.push_back(model_.parameter_name(i));
    out.at = [&shaped](ConstMatrixRef z) { return Matrix(shaped.map().forward(z).theta); };
    return out;
  }

  /// A shape can follow the mass of a funnel, or of a long tail, and miss the part that makes its sds, where
  /// no straight line in the coordinates of its base goes. What the assessment of the Gaussian found there
  /// must have been mended.
  void keep_doubts(const ShapedGaussian& shaped, Assessment& assessment) const {
    std::vector<Doubt> left = not_mended(shaped);
    std::erase_if(left, [&](const Doubt& doubt) {
      return !(size_of(doubt) > kAgreement) || is_named(doubt.parameter, assessment);
    });
    if (left.empty()) return;
    std::stable_sort(left.begin(), left.end(),
                     [](const Doubt& a, const Doubt& b) { return size_of(a) > size_of(b); });
    assessment.warn(WarningKind::kReweighted, fmt::format("the {} shape has not mended {}; {}",
                                                          shaped.shape(), describe(left), kSampleByMcmc));
    if (size_of(left.front()) > kUseless) assessment.trusted = false;
    assessment.doubts.insert(assessment.doubts.end(), left.begin(), left.end());
  }

  /// How far the shape's means and sds are from what was found about the Gaussian's.
  std::vector<Doubt> not_mended(const ShapedGaussian& shaped) const {
    const Vector mean = shaped.mean(), sd = shaped.sd();
    const Gaussian& reported = fitted_.corrected();
    const Vector reported_sd = reported.sd();
    std::vector<Doubt> out;
    for (const Doubt& doubt : result_.doubts)
      for (Index i = 0; i < model_.dimension(); ++i) {
        if (model_.parameter_name(i) != doubt.parameter) continue;
        const double found_mean = reported.mean()(i) + doubt.shift * reported_sd(i);
        out.push_back(
            {doubt.parameter, (found_mean - mean(i)) / sd(i), doubt.sd_ratio * reported_sd(i) / sd(i)});
      }
    return out;
  }

  /// Its log weights hardly vary, so that its KL divergence is below an eighth of a nat.
  bool is_close(const Assessment& assessment) const {
    return assessment.elbo_se * std::sqrt(static_cast<double>(options_.diagnostic_draws)) < kCloseShapeSpread;
  }

  static bool is_named(const std::string& parameter, const Assessment& assessment) {
    return std::any_of(assessment.doubts.begin(), assessment.doubts.end(),
                       [&](const Doubt& doubt) { return doubt.parameter == parameter; });
  }

  void decide(std::shared_ptr<const ShapedGaussian> shaped, Assessment assessment) {
    if (result_.shapes.empty())
      result_.shapes.push_back(
          {fitted_.shape(), result_.elbo, result_.elbo_se, result_.trusted, result_.doubts.size(), true});
    const double noise = std::hypot(assessment.elbo_se, result_.elbo_se);
    const bool gains = assessment.elbo - result_.elbo > kNoise * noise;
    const Verdict now(result_.trusted, result_.warnings, result_.doubts);
    const Verdict then(assessment.trusted, assessment.warnings, assessment.doubts);
    const bool keep = gains && (options_.shape != ShapeChoice::kAutomatic || !then.worse_than(now));
    result_.shapes.push_back({shaped->shape(), assessment.elbo, assessment.elbo_se, assessment.trusted,
                              assessment.doubts.size(), keep});
    if (!keep) return;
    for (ShapeReport& report : result_.shapes) report.kept = &report == &result_.shapes.back();
    replace(std::move(shaped), std::move(assessment));
  }

  /// Warnings that are not about shape stay.
  void replace(std::shared_ptr<const ShapedGaussian> shaped, Assessment assessment) {
    for (Warning& warning : result_.warnings)
      if (!about_shape(warning.kind)) assessment.distrust(warning.kind, std::move(warning.message));
    result_.posterior = fitted_.with_shape(std::move(shaped));
    result_.elbo = assessment.elbo;
    result_.elbo_se = assessment.elbo_se;
    result_.khat = assessment.khat;
    result_.trusted = assessment.trusted;
    result_.warnings = std::move(assessment.warnings);
    result_.doubts = std::move(assessment.doubts);
    result_.expectations = Expectations::kDraws;
  }

  const Model& model_;
  const FitOptions& options_;
  const std::vector<Observer>& observers_;
  FitResult& result_;
  const Gaussian fitted_;
};

}  // namespace

bool try_shapes(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                FitResult& result) {
  const bool had_shape = result.posterior.has_shape();
  ShapeRun(model, options, observers, result).run();
  return result.posterior.has_shape() && !had_shape;
}

}  // namespace magva
