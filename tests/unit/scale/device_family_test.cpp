// Algorithm 1 with its blocks on a device, whose passes are made here by the row functions of the CUDA
// plug-in: the same iterations as with the blocks in the fitter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "algorithm1/device_family.hpp"
#include "algorithm1/fitter.hpp"
#include "core/checksummed_file.hpp"
#include "core/noise.hpp"
#include "family_rows.h"
#include "magva/priors.hpp"
#include "magva/regression.hpp"
#include "models/prior.hpp"
#include "support/temporary_folder.hpp"
#include "unit/model/support.hpp"

namespace magva {
namespace {

using namespace magva_cuda;  // NOLINT: what is tested
using testing::normal_matrix;

/// What the plug-in's kernels do, a row after the other.
class RowsHere final : public DeviceFamily {
 public:
  RowsHere(const Model& model, const magva_cuda_family_options& o) : model_(model) {
    const Index m = o.dimension;
    f_ = {m,
          o.rank,
          o.draws,
          o.antithetic != 0,
          o.log_scales != 0,
          o.geometry == MAGVA_CUDA_LOWER_TRAPEZOIDAL,
          o.geometry == MAGVA_CUDA_CURVED,
          o.seed,
          block(MAGVA_CUDA_MEAN, o.mean_rule, m),
          block(MAGVA_CUDA_RESIDUAL, o.residual_rule, m),
          block(MAGVA_CUDA_FACTORS, o.factor_rule, m * o.rank),
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          o.whitening_centre,
          o.whitening_scale};
    direction_.resize(m * o.rank);
    sd_.resize(m);
    for (Matrix* each : {&epsilon_, &theta_, &gradient_}) each->resize(m, o.draws);
    f_.direction = direction_.data();
    f_.sd = sd_.data();
    f_.epsilon = epsilon_.data();
    f_.theta = theta_.data();
    f_.gradient = gradient_.data();
  }

  void write(int block, int part, const double* from) override {
    Vector& to = at(block, part);
    std::copy_n(from, to.size(), to.data());
  }
  void read(int block, int part, double* to) override {
    const Vector& from = at(block, part);
    std::copy_n(from.data(), from.size(), to);
  }

  void evaluate(VectorRef log_density, VectorRef finite) override {
    Workers workers(1);
    const auto scratch = model_.make_scratch(theta_.cols());
    Evaluation evaluation{*scratch, workers};
    model_.evaluate(theta_, log_density, gradient_, evaluation);
    if (f_.scale != nullptr)
      gradient_.array().colwise() *= Eigen::Map<const Vector>(f_.scale, f_.rows).array();
    for (Index s = 0; s < finite.size(); ++s) finite(s) = (gradient_.col(s).array() * 0).sum();
  }

  void pass(int pass, std::int64_t iteration, const double* given, double* sums) override {
    const Index p = f_.rank;
    const Index draws = f_.draws;
    const Index square = p * p;
    out_ = sums;
    switch (pass) {
      case MAGVA_CUDA_PASS_DRAW: {
        double log_sum = 0;
        double zero = 0;
        for (Index i = 0; i < f_.rows; ++i) {
          const DrawRow row = draw_row(f_, i, static_cast<std::uint64_t>(iteration), given);
          log_sum += row.log_scale;
          zero += row.zero;
        }
        add(factors().transpose() * sd_.array().square().inverse().matrix().asDiagonal() * factors());
        *out_++ = log_sum;
        *out_++ = zero;
        return;
      }
      case MAGVA_CUDA_PASS_PATH_INNER:
        return add(factors().transpose() * sd_.cwiseInverse().asDiagonal() * epsilon_);
      case MAGVA_CUDA_PASS_PATH_ADD:
        return rows([&](Index i) { path_row(f_, i, given); });
      case MAGVA_CUDA_PASS_GRADIENT: {
        const double* noise = given + 2 + draws;
        const GradientGiven all{given[0], given[1] != 0,     given + 2,
                                noise,    noise + p * draws, noise + p * draws + square};
        for (Index s = 0; s < draws; ++s)
          if (given[2 + s] == 0) gradient_.col(s).setZero();
        add(factors().transpose() * gradient_);
        double spoilt = 0;
        rows([&](Index i) { spoilt += gradient_row(f_, i, all); });
        *out_++ = spoilt;
        if (!f_.curved) return;
        if (!has_two_stages(f_.factors.rule.kind)) return measure();
        add(factors().transpose() * matrix(at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_MEMORY)));
        return add(factors().transpose() * matrix(direction_));
      }
      case MAGVA_CUDA_PASS_DIRECT:
        rows([&](Index i) { direct_row(f_, i, given, given + square, given + 2 * square); });
        return measure();
      case MAGVA_CUDA_PASS_COMBINE:
        return rows([&](Index i) {
          settle_row(f_, i, given, given + square);
          combine_row(f_, i, given + 2 * square, given + 3 * square);
        });
      case MAGVA_CUDA_PASS_ADD_TANGENT: {
        double spoilt = 0;
        rows([&](Index i) {
          settle_row(f_, i, given, given + square);
          spoilt += add_tangent_row(f_, i, given, given[2 * square]);
        });
        *out_++ = spoilt;
        ++tangents;
        return;
      }
      case MAGVA_CUDA_PASS_GRAM:
        add(factors().transpose() * factors());
        *out_++ = factors().cwiseAbs().maxCoeff();
        return;
      case MAGVA_CUDA_PASS_MULTIPLY:
        at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_VALUE) =
            (factors() * Eigen::Map<const Matrix>(given, p, p)).eval().reshaped();
        return;
      case MAGVA_CUDA_PASS_REMEMBER:
        at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_MEMORY + 2) = at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_VALUE);
        return;
      case MAGVA_CUDA_PASS_DROP:
        for (auto& block : blocks_)
          for (int k = 0; k < 3; ++k) {
            Vector& memory = block[static_cast<std::size_t>(MAGVA_CUDA_MEMORY + k)];
            memory = memory.array().isFinite().select(memory, 0);
          }
        return;
      case MAGVA_CUDA_PASS_AVERAGE:
        for (auto& block : blocks_)
          block[MAGVA_CUDA_AVERAGE] += given[0] * (block[MAGVA_CUDA_VALUE] - block[MAGVA_CUDA_AVERAGE]);
        return;
      case MAGVA_CUDA_PASS_KEEP_GOOD:
        for (auto& block : blocks_) block[MAGVA_CUDA_GOOD] = block[MAGVA_CUDA_VALUE];
        return;
      default:
        FAIL() << "pass " << pass;
    }
  }

  static inline int tangents = 0;  // how often a step could not be combined

 private:
  FamilyBlock block(int block, const magva_cuda_rule& rule, Index size) {
    for (Vector& part : blocks_[static_cast<std::size_t>(block)]) part = Vector::Zero(size);
    return {at(block, MAGVA_CUDA_VALUE).data(),
            {at(block, 1).data(), at(block, 2).data(), at(block, 3).data()},
            rule};
  }
  Vector& at(int block, int part) {
    return blocks_[static_cast<std::size_t>(block)][static_cast<std::size_t>(part)];
  }
  Eigen::Map<Matrix> matrix(Vector& values) { return {values.data(), f_.rows, f_.rank}; }
  Eigen::Map<Matrix> factors() { return matrix(at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_VALUE)); }
  void add(const Matrix& product) { out_ = std::copy_n(product.data(), product.size(), out_); }
  void measure() {
    add(factors().transpose() * factors());
    add(factors().transpose() * matrix(direction_));
    add(matrix(direction_).transpose() * matrix(direction_));
    if (f_.factors.rule.kind == MAGVA_CUDA_ADADELTA)
      add(matrix(at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_MEMORY + 2)).transpose() *
          matrix(at(MAGVA_CUDA_FACTORS, MAGVA_CUDA_MEMORY + 1)));
  }
  template <class Work>
  void rows(const Work& work) {
    for (Index i = 0; i < f_.rows; ++i) work(i);
  }

  const Model& model_;
  FamilyRows f_{};
  std::array<std::array<Vector, 6>, 3> blocks_;
  Vector direction_, sd_;
  Matrix epsilon_, theta_, gradient_;
  double* out_ = nullptr;
};

/// A regression with its family elsewhere.
class HostingModel final : public Model, public FamilyHost {
 public:
  explicit HostingModel(const Model& inner) : inner_(inner) {}
  Index dimension() const override { return inner_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    inner_.evaluate(theta, log_density, gradient, evaluation);
  }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override { return inner_.make_scratch(draws); }
  Vector start() const override { return inner_.start(); }
  std::unique_ptr<DeviceFamily> make_device_family(magva_cuda_family_options options) const override {
    return std::make_unique<RowsHere>(inner_, options);
  }
  std::optional<std::string> family_stays() const override { return std::nullopt; }

 private:
  const Model& inner_;
};

Regression small_regression() {
  const Index rows = 60;
  RowMatrix x = normal_matrix(rows, 270, 3) / 10;  // three panels
  x.col(0).setOnes();
  const Vector y = (normal_matrix(rows, 1, 5).col(0).array() > 0).cast<double>();
  return logistic_regression({Design::own(std::move(x)), y, Vector(), {}});
}

FitterOptions options_of(FamilyKind family, RuleKind rule) {
  FitterOptions options;
  options.family = family;
  options.rank = family == FamilyKind::kMeanField ? 0 : 3;
  options.factor_rule = rule_defaults(rule);
  options.mean_rule = rule_defaults(rule);
  options.scale_rule = rule_defaults(rule);
  // Gradients step far: short steps keep residual scales from crossing 0, near which sums of 1 / d2^2 cancel.
  if (rule == RuleKind::kBasic || rule == RuleKind::kMomentum)
    for (RuleOptions* each : {&options.factor_rule, &options.mean_rule, &options.scale_rule})
      each->step = 1e-4;
  options.draws = 2;
  options.initial_residual_scale = .5;
  options.max_iterations = 50;
  return options;
}

void expect_equal(Fitter& a, Fitter& b, double tolerance) {
  const auto& here = a.family().blocks();
  const auto& there = b.family().blocks();
  for (std::size_t k = 0; k < here.size(); ++k)
    EXPECT_LT((here[k].value - there[k].value).cwiseAbs().maxCoeff(),
              tolerance * (1 + here[k].value.cwiseAbs().maxCoeff()))
        << to_string(here[k].kind);
}

/// Iterations are compared one by one from the same state: a rule as printed magnifies what is rounded.
void compare_iterations(const FitterOptions& options, const std::string& what) {
  SCOPED_TRACE(what);
  const Regression model = small_regression();
  const HostingModel hosting(model);
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "checkpoint";
  Fitter here(model, options);
  for (int k = 0; k < 12; ++k) {
    {
      io::ChecksummedWriter out(file, "test", 1);
      here.save(out);
      out.commit();
    }
    io::ChecksummedReader in(file, "test", 1);
    Fitter there = Fitter::resume(in, hosting);
    const IterationView a = here.step();
    const IterationView b = there.step();
    EXPECT_NEAR(a.elbo, b.elbo, 1e-12 * std::abs(a.elbo));
    expect_equal(here, there, 1e-12);
  }
}

// The printed rules without a guard have poles, near which nothing agrees to rounding; they are the guarded
// ones with a floor of 0.
constexpr RuleKind kRules[] = {RuleKind::kBasic,
                               RuleKind::kMomentum,
                               RuleKind::kRmspropGuarded,
                               RuleKind::kAdadeltaGuarded,
                               RuleKind::kRmspropStable,
                               RuleKind::kAdadeltaStable,
                               RuleKind::kAdam};

TEST(DeviceFamily, IteratesAsTheFitterDoes) {
  for (const FamilyKind family :
       {FamilyKind::kMeanField, FamilyKind::kVafc, FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (const RuleKind rule : kRules)
      compare_iterations(options_of(family, rule), std::string(name(family)) + " " + name(rule));
}

TEST(DeviceFamily, TakesEveryEstimate) {
  FitterOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdam);
  options.estimator = Estimator::kPath;
  compare_iterations(options, "path");
  options.scales = ScaleCoordinates::kLog;
  options.antithetic = true;
  options.draws = 4;
  options.decay = StepDecay::kCosine;
  compare_iterations(options, "path, logarithms, pairs, decay");
  options.estimator = Estimator::kEntropy;
  compare_iterations(options, "logarithms, pairs, decay");
}

TEST(DeviceFamily, RetractsWhatIsTooLongToCombine) {
  FitterOptions options = options_of(FamilyKind::kStiefel, RuleKind::kBasic);
  options.factor_rule.step = 1000;
  RowsHere::tangents = 0;
  compare_iterations(options, "long steps");
  EXPECT_GT(RowsHere::tangents, 0);
}

TEST(DeviceFamily, EndsWithTheSameResult) {
  FitterOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdam);
  options.average_last = .5;
  const Regression model = small_regression();
  const HostingModel hosting(model);
  const Index m = model.dimension();
  const Whitening whitening{Vector::Constant(m, .01), Vector::Constant(m, .5)};
  Fitter here(model, options, whitening, model.start());
  Fitter there(hosting, options, whitening, model.start());
  const FitterResult a = here.run();
  const FitterResult b = there.run();
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_LT((a.posterior.mean() - b.posterior.mean()).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LT((a.posterior.sd() - b.posterior.sd()).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(DeviceFamily, ResumesToTheBits) {
  const FitterOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdadeltaGuarded);
  const Regression model = small_regression();
  const HostingModel hosting(model);
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "checkpoint";
  Fitter whole(hosting, options);
  Fitter begun(hosting, options);
  for (int k = 0; k < 7; ++k) begun.step();
  io::ChecksummedWriter out(file, "test", 1);
  begun.save(out);
  out.commit();
  io::ChecksummedReader in(file, "test", 1);
  Fitter resumed = Fitter::resume(in, hosting);
  for (int k = 0; k < 20; ++k) whole.step();
  for (int k = 0; k < 13; ++k) resumed.step();
  expect_equal(whole, resumed, 0x1p-1000);
}

TEST(DeviceFamily, DrawsTheFittersNoise) {
  const std::uint64_t seed = 0x123456789abcdef0U;
  for (const std::int64_t iteration : {std::int64_t{0}, std::int64_t{17}, std::int64_t{1} << 33}) {
    Matrix noise(1001, 2);
    Noise(seed, NoiseStream::kFit).fill(static_cast<std::uint64_t>(iteration), 0, noise);
    for (Index s = 0; s < 2; ++s)
      for (Index i = 0; i < noise.rows(); ++i)
        ASSERT_NEAR(fit_noise(seed, static_cast<std::uint64_t>(iteration), static_cast<std::uint32_t>(s), i),
                    noise(i, s), 1e-13);
  }
}

TEST(DeviceFamily, KnowsIndependentPriors) {
  const Vector nu = (Vector(2) << 3, 7).finished();
  const auto prior =
      make_prior({{1, 2, NormalBlock{Vector::Constant(2, .3), Vector::Constant(2, 2.)}},
                  {0, 1, NormalBlock{Vector::Zero(1), Vector::Constant(1, .1)}},
                  {3, 2, StudentTBlock{nu, Vector::Constant(2, -1.), Vector::Constant(2, .5)}}},
                 5);
  const auto independent = prior->independent();
  ASSERT_TRUE(independent);
  const PriorRows rows{5, independent->location.data(), independent->scale.data(),
                       independent->degrees_of_freedom.data()};
  const Vector theta = normal_matrix(5, 1, 9).col(0);
  Vector slope = Vector::Zero(5);
  Vector unused = Vector::Zero(5);
  Vector expected = Vector::Zero(5);
  double value = prior->add_to(independent->location.data(), nullptr, unused.data());
  for (Index i = 0; i < 5; ++i) value += prior_row(rows, i, theta(i), &slope(i));
  EXPECT_NEAR(value, prior->add_to(theta.data(), nullptr, expected.data()), 1e-13);
  EXPECT_LT((slope - expected).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_FALSE(make_prior(HorseshoeOptions{}, 5)->independent());
}

TEST(DeviceFamily, SaysWhyItStays) {
  EXPECT_FALSE(family_stays(options_of(FamilyKind::kStiefel, RuleKind::kAdam)));
  EXPECT_TRUE(family_stays(options_of(FamilyKind::kFullRank, RuleKind::kAdam)));
  FitterOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdam);
  options.rank = 33;
  EXPECT_EQ(family_stays(options).value(), "there are 33 factors, and kernels for at most 32");
}

}  // namespace
}  // namespace magva
