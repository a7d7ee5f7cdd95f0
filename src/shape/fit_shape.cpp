#include "shape/fit_shape.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Natural-gradient steps of the base: this long at first, and never further than this many sds, or this
/// much of a scale, at once.
constexpr double kBaseStep = .1;
constexpr double kLongestStep = .3;
/// A draw whose whitened gradient is longer than this, for each root of a parameter, counts as that long:
/// far out in a tail one draw would decide everything.
constexpr double kLongestGradient = 20;
/// Iterations of a trial, as a part of all, and pairs of draws by which it is compared with the Gaussian. The
/// rest at most doubles what the trial has gained.
constexpr int kTrialPart = 5;
constexpr Index kTrialPairs = 512;
constexpr double kTrialShare = .5;

class ShapeFit {
 public:
  ShapeFit(Evaluator& evaluator, const Gaussian& start, ShapeMap map, const ShapeFitOptions& options)
      : evaluator_(evaluator),
        options_(options),
        first_mean_(start.mean()),
        first_root_(covariance_root(start)),
        mean_(first_mean_),
        root_(first_root_),
        map_(std::move(map)),
        kernel_(start.dimension(), start.dimension(), evaluator.workers()) {
    RuleOptions rule = rule_defaults(RuleKind::kAdam);
    rule.step = options.step;
    for (ShapeStage& stage : map_.stages())
      for (auto& layer : stage.layers)
        for (LayerParameter& parameter : layer->parameters())
          updates_.push_back(
              make_update(parameter.manifold, rule, parameter.value.rows(), parameter.value.cols()));
  }

  std::optional<ShapedGaussian> run() {
    const int trial = std::isfinite(options_.least_gain) ? options_.iterations / kTrialPart : 0;
    ascend(0, trial);
    if (trial > 0 && !can_gain()) return std::nullopt;
    ascend(trial, options_.iterations);
    return ShapedGaussian(Gaussian::dense(mean_, root_), std::move(map_));
  }

 private:
  /// With steps that decay to 0.
  void ascend(int begin, int end) {
    for (int t = begin; t < end; ++t) {
      const double share = static_cast<double>(t - begin) / (end - begin);
      iterate(t, .5 * (1 + std::cos(std::numbers::pi * share)));
    }
  }

  /// Columns of noise, then the same with the other sign.
  Matrix antithetic(NoiseStream stream, std::uint64_t iteration, Index pairs) const {
    Matrix noise(mean_.size(), 2 * pairs);
    Noise(options_.seed, stream).fill(iteration, 0, noise.leftCols(pairs));
    noise.rightCols(pairs) = -noise.leftCols(pairs);
    return noise;
  }

  /// By the same noise for both, which cancels where they are alike.
  bool can_gain() {
    const Matrix noise = antithetic(NoiseStream::kEvaluation, 0, kTrialPairs);
    const auto drawn = [&](const Vector& mean, const Matrix& root) -> Matrix {
      return Matrix(root.triangularView<Eigen::Lower>() * noise).colwise() + mean;
    };
    const ShapePass pass = map_.forward(drawn(mean_, root_));
    const Vector change = evaluator_.evaluate_values(pass.theta) + pass.log_det -
                          evaluator_.evaluate_values(drawn(first_mean_, first_root_));
    const Vector of_pair = .5 * (change.head(kTrialPairs) + change.tail(kTrialPairs));
    if (!of_pair.allFinite()) return true;  // draws do not tell
    const auto count = static_cast<double>(kTrialPairs);
    const double mean = of_pair.mean();
    const double se = std::sqrt((of_pair.array() - mean).square().sum() / (count - 1) / count);
    const double gain = mean + (root_.diagonal().array().log() - first_root_.diagonal().array().log()).sum();
    return gain + se > kTrialShare * options_.least_gain;
  }

  void iterate(int t, double decay) {
    const Index m = mean_.size();
    const Matrix noise = antithetic(NoiseStream::kFit, static_cast<std::uint64_t>(t), options_.pairs);
    const Matrix z = Matrix(root_.triangularView<Eigen::Lower>() * noise).colwise() + mean_;
    const ShapePass pass = map_.forward(z);
    Vector log_density(z.cols());
    Matrix gradient(m, z.cols());
    evaluator_.evaluate(pass.theta, log_density, gradient);
    report(t, log_density, pass, noise);
    Matrix score = -noise;
    root_.transpose().triangularView<Eigen::Upper>().solveInPlace(score);
    Matrix excess = gradient - map_.score(pass, std::move(score));
    bound(log_density, excess);
    const Matrix at_base = map_.set_gradients(pass, std::move(excess));
    step_base(root_.transpose().triangularView<Eigen::Upper>() * at_base, noise, decay * kBaseStep);
    step_layers(decay);
  }

  void report(int t, const Vector& log_density, const ShapePass& pass, const Matrix& noise) {
    if (evaluator_.control() == nullptr) return;
    const double constant = root_.diagonal().array().log().sum() +
                            .5 * static_cast<double>(mean_.size()) * std::log(2 * std::numbers::pi);
    const Vector log_q = -.5 * noise.colwise().squaredNorm().transpose() - pass.log_det;
    evaluator_.control()->report(t, (log_density - log_q).mean() + constant);
  }

  /// Columns of draws that the model could not evaluate are left out, long ones shortened; all are divided by
  /// their number.
  void bound(const Vector& log_density, Matrix& excess) const {
    const double longest = kLongestGradient * std::sqrt(static_cast<double>(mean_.size()));
    for (Index s = 0; s < excess.cols(); ++s) {
      const double length = (first_root_.transpose().triangularView<Eigen::Upper>() * excess.col(s)).norm();
      if (!std::isfinite(log_density(s)) || !std::isfinite(length))
        excess.col(s).setZero();
      else
        excess.col(s) *= std::min(1., longest / length) / static_cast<double>(excess.cols());
    }
  }

  void step_base(const Matrix& whitened, const Matrix& noise, double step) {
    Vector shift = step * whitened.rowwise().sum();
    shift *= std::min(1., kLongestStep / shift.norm());
    Matrix change = (whitened * noise.transpose()).triangularView<Eigen::Lower>();
    change.diagonal() /= 2;
    change *= step;
    change *= std::min(1., kLongestStep / change.norm());
    mean_ += root_.triangularView<Eigen::Lower>() * shift;
    change.diagonal().array() += 1;
    root_ = root_.triangularView<Eigen::Lower>() * change;
  }

  void step_layers(double decay) {
    std::size_t k = 0;
    for (ShapeStage& stage : map_.stages())
      for (auto& layer : stage.layers) {
        for (LayerParameter& parameter : layer->parameters())
          updates_[k++]->step(parameter.value, parameter.gradient, decay, kernel_);
        layer->constrain();
      }
  }

  Evaluator& evaluator_;
  const ShapeFitOptions& options_;
  const Vector first_mean_;
  const Matrix first_root_;
  Vector mean_;
  Matrix root_;
  ShapeMap map_;
  TallSkinny kernel_;
  std::vector<std::unique_ptr<BlockUpdate>> updates_;
};

}  // namespace

std::optional<ShapedGaussian> fit_shape(Evaluator& evaluator, const Gaussian& start, ShapeMap map,
                                        const ShapeFitOptions& options) {
  return ShapeFit(evaluator, start, std::move(map), options).run();
}

}  // namespace magva
