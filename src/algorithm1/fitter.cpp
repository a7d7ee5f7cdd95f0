#include "algorithm1/fitter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "algorithm1/device_state.hpp"
#include "algorithm1/fitter_state.hpp"
#include "algorithm1/two_pass_update.hpp"
#include "core/huge_pages.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

constexpr std::int64_t kGoodEvery = 100;  // iterations between copies of the blocks to fall back on

const FitterOptions& validated(const FitterOptions& options, Index dimension) {
  const auto problems = options.validate(dimension);
  if (!problems.empty()) throw UsageError(fmt::format("{}", fmt::join(problems, "; ")));
  return options;
}

const RuleOptions& rule_for(const Block& block, const FitterOptions& options) {
  switch (block.kind) {
    case BlockKind::kMean:
      return options.mean_rule;
    case BlockKind::kResidualScale:
    case BlockKind::kFactorScale:
      return options.scale_rule;
    case BlockKind::kFactors:
    case BlockKind::kCholesky:
      break;
  }
  return options.factor_rule;
}

Index widest(const std::vector<Block>& blocks) {
  Index cols = 1;
  for (const auto& block : blocks) cols = std::max(cols, block.value.cols());
  return cols;
}

std::vector<Block> without_gradients(const std::vector<Block>& blocks) {
  std::vector<Block> out;
  out.reserve(blocks.size());
  for (const auto& block : blocks) out.push_back({block.kind, block.manifold, block.value, Matrix()});
  return out;
}

}  // namespace

Fitter::State::State(const Model& model_, const FitterOptions& options_, const Whitening& whitening_,
                     ConstVectorRef start)
    : model(model_),
      options(validated(options_, model_.dimension())),
      whitening(whitening_),
      workers(std::make_unique<Workers>(options.threads)),
      family(make_family(options.family_options(), model.dimension(), options.draws, options.seed, *workers)),
      scratch(model.make_scratch(options.draws)) {
  const Index m = model.dimension();
  if (start.size() != m || whitening.centre.size() != m || whitening.scale.size() != m)
    throw UsageError(
        fmt::format("the start and the whitening must have {} coordinates, as the model has", m));
  if (!start.allFinite() || !(whitening.scale.array() > 0).all() || !whitening.centre.allFinite())
    throw UsageError("the start must be finite and the whitening scales positive");
  set_whitening(whitening_);
  auto& blocks = family->blocks();
  family->block(BlockKind::kMean).value = (start - whitening.centre).cwiseQuotient(whitening.scale);
  kernel = std::make_unique<TallSkinny>(m, widest(blocks), *workers);
  for (const auto& block : blocks)
    updates.push_back(
        make_update(block.manifold, rule_for(block, options), block.value.rows(), block.value.cols()));
  if (options.average_last > 0) average = without_gradients(blocks);
  good = without_gradients(blocks);
  noise = huge_page_matrix(family->noise_size(), options.draws);
  theta = huge_page_matrix(m, options.draws);
  gradient = huge_page_matrix(m, options.draws);
  log_density.resize(options.draws);
  weight.resize(options.draws);
  zeros.resize(row_tasks(m));
}

std::unique_ptr<Fitter::State> Fitter::State::make(const Model& model, const FitterOptions& options,
                                                   const Whitening& whitening, ConstVectorRef start) {
  const auto* host = dynamic_cast<const FamilyHost*>(&model);
  if (host == nullptr || host->family_stays() || family_stays(options))
    return std::make_unique<State>(model, options, whitening, start);
  return std::make_unique<OnDevice>(*host, model, options, whitening, start);
}

void Fitter::State::set_whitening(const Whitening& to) {
  whitening = to;
  whitened = (to.centre.array() != 0).any() || (to.scale.array() != 1).any();
  whitening_log_det = to.scale.array().log().sum();
}

void Fitter::State::draw_noise(std::int64_t for_iteration, Range rows) {
  const Noise source(options.seed, NoiseStream::kFit);
  const Index own = options.antithetic ? options.draws / 2 : options.draws;
  for (Index s = 0; s < own; ++s)
    source.fill_rows(static_cast<std::uint64_t>(for_iteration), static_cast<std::uint32_t>(s), rows,
                     noise.col(s).data());
  for (Index s = own; s < options.draws; ++s)
    noise.col(s).segment(rows.begin, rows.size()) = -noise.col(s - own).segment(rows.begin, rows.size());
}

void Fitter::State::draw() {
  sweep(noise.rows(), *workers, [&](Range rows, Index) { draw_noise(iteration, rows); });
  family->prepare_and_draw(noise, theta);
}

void Fitter::State::evaluate_model() {
  if (whitened)
    for (Index s = 0; s < theta.cols(); ++s)
      theta.col(s) = whitening.centre + whitening.scale.cwiseProduct(theta.col(s));
  Evaluation evaluation{*scratch, *workers, static_cast<std::uint64_t>(iteration)};
  // A draw without a gradient is left out and its partner is not: then each needs its own.
  if (!options.antithetic || !evaluate_pairs(evaluation))
    model.evaluate(theta, log_density, gradient, evaluation);
  if (whitened)
    for (Index s = 0; s < gradient.cols(); ++s) gradient.col(s).array() *= whitening.scale.array();
}

bool Fitter::State::evaluate_pairs(Evaluation& evaluation) {
  model.evaluate_antithetic(theta, log_density, gradient, evaluation);
  const Index pairs = options.draws / 2;
  if (!log_density.allFinite() || !gradient.leftCols(pairs + 1).allFinite()) return false;
  sweep(gradient.rows(), *workers, [&](Range r, Index) {
    const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kPanelRows, 1> mean =
        gradient.col(pairs).segment(r.begin, r.size());
    for (Index k = 0; k < pairs; ++k) {
      auto half_difference = gradient.col(k).segment(r.begin, r.size());
      gradient.col(k + pairs).segment(r.begin, r.size()) = mean - half_difference;
      half_difference += mean;
    }
  });
  return true;
}

bool Fitter::State::finite_gradient(Index draw) {
  zeros.setZero();
  sweep(gradient.rows(), *workers, [&](Range rows, Index task) {
    zeros(task) += (gradient.col(draw).segment(rows.begin, rows.size()).array() * 0).sum();
  });
  return std::isfinite(zeros.sum());
}

// A draw that the model could not evaluate gets weight 0; the others share the weight equally.
void Fitter::State::weigh_draws() {
  Index accepted = 0;
  double sum = 0;
  for (Index s = 0; s < options.draws; ++s) {
    const bool fine = std::isfinite(log_density(s)) && finite_gradient(s);
    weight(s) = fine ? 1 : 0;
    if (fine) {
      ++accepted;
      sum += log_density(s);
    } else {
      drop_draw(s);
    }
  }
  evaluations += options.draws;
  rejected += options.draws - accepted;
  rejected_in_a_row = accepted == 0 ? rejected_in_a_row + 1 : 0;
  if (accepted > 0) weight /= static_cast<double>(accepted);
  elbo = accepted == 0 ? std::numeric_limits<double>::quiet_NaN()
                       : sum / static_cast<double>(accepted) + family->entropy() + whitening_log_det;
}

double Fitter::State::step_scale() const {
  if (options.decay == StepDecay::kConstant) return scale;
  const double progress = static_cast<double>(iteration) / static_cast<double>(options.max_iterations);
  return scale * .5 * (1 + std::cos(std::numbers::pi * std::min(1., progress)));
}

Fitter::State::MovingBlock Fitter::State::moving(BlockKind kind) {
  auto& blocks = family->blocks();
  std::size_t b = 0;
  while (blocks[b].kind != kind) ++b;
  return {blocks[b], *updates[b]};
}

void Fitter::State::update_block(BlockKind kind) {
  const auto [block, update] = moving(kind);
  update.step(block.value, block.gradient, step_scale(), *kernel);
}

void Fitter::State::update_each_block() {
  for (const Block& block : family->blocks()) update_block(block.kind);
}

// The mean's natural gradient needs the factors before they change.
void Fitter::State::update_blocks_naturally() {
  family->gradient(noise, weight, options.estimator, gradient);
  family->times_covariance(family->block(BlockKind::kMean).gradient.col(0));
  update_each_block();
}

void Fitter::State::update_blocks() {
  if (options.natural_mean) return update_blocks_naturally();
  if (RowwiseFamily* rows = family->by_rows()) {
    drawn = TwoPassUpdate(*this, *rows).run();
    return;
  }
  family->gradient(noise, weight, options.estimator, gradient);
  update_each_block();
}

void Fitter::State::average_blocks() {
  const double from = (1 - options.average_last) * static_cast<double>(options.max_iterations);
  if (average.empty() || static_cast<double>(iteration) < from) return;
  ++averaged;
  add_to_average(1 / static_cast<double>(averaged));
}

void Fitter::State::add_to_average(double share) {
  for (std::size_t b = 0; b < average.size(); ++b)
    average[b].value += share * (family->blocks()[b].value - average[b].value);
}

bool Fitter::State::healthy() const {
  return std::isfinite(family->entropy()) &&
         std::isfinite((family->block(BlockKind::kMean).value.array() * 0).sum());
}

void Fitter::State::keep_good_blocks() {
  for (std::size_t b = 0; b < good.size(); ++b) good[b].value = family->blocks()[b].value;
}

double Fitter::State::seconds() const {
  return earlier_seconds + std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

Fitter::Fitter(const Model& model, const FitterOptions& options)
    : Fitter(model, options, Whitening::none(std::max<Index>(0, model.dimension())), model.start()) {}

Fitter::Fitter(const Model& model, const FitterOptions& options, const Whitening& whitening,
               ConstVectorRef start)
    : state_(State::make(model, options, whitening, start)) {}

Fitter::Fitter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Fitter::~Fitter() = default;
Fitter::Fitter(Fitter&&) noexcept = default;
Fitter& Fitter::operator=(Fitter&&) noexcept = default;

IterationView Fitter::step() {
  State& s = *state_;
  if (!s.drawn) s.draw();
  s.drawn = false;
  s.evaluate_model();
  s.weigh_draws();
  if (s.iteration % kGoodEvery == 0 && s.healthy()) s.keep_good_blocks();
  if (s.rejected_in_a_row == 0) s.update_blocks();
  s.average_blocks();
  ++s.iteration;
  return {s.iteration, s.evaluations, s.seconds(), s.elbo};
}

FitterResult Fitter::run(const std::vector<IterationObserver>& observers) {
  State& s = *state_;
  while (s.iteration < s.options.max_iterations) {
    const IterationView view = step();
    if (s.rejected_in_a_row >= s.options.max_rejected_in_a_row)
      return result(
          StopReason::kDiverged,
          fmt::format(
              "the log density or its gradient was not finite for any draw in {} iterations in a row, "
              "up to iteration {}",
              s.rejected_in_a_row, s.iteration));
    if (!s.healthy())
      return result(
          StopReason::kDiverged,
          fmt::format("the variational parameters stopped being finite at iteration {}", s.iteration));
    bool go_on = true;
    for (const auto& observer : observers) go_on = observer(view) && go_on;
    if (!go_on)
      return result(StopReason::kInterrupted, fmt::format("stopped after iteration {}", s.iteration));
    if (view.seconds >= s.options.time_limit)
      return result(StopReason::kTimeLimit, fmt::format("{} seconds were over after iteration {}",
                                                        s.options.time_limit, s.iteration));
  }
  s.prepare();
  if (!s.healthy())
    return result(
        StopReason::kDiverged,
        fmt::format("the variational parameters stopped being finite at iteration {}", s.iteration));
  return result(StopReason::kIterationLimit, fmt::format("{} iterations were done", s.iteration));
}

FitterResult Fitter::result(StopReason reason, std::string stop_detail) const {
  state_->fetch_blocks();
  const State& s = *state_;
  const auto& blocks = reason == StopReason::kDiverged ? s.good
                       : s.averaged > 0                ? s.average
                                                       : s.family->blocks();
  Gaussian posterior = s.family->gaussian(blocks).transformed(s.whitening.centre, s.whitening.scale);
  return {std::move(posterior), reason,     std::move(stop_detail), s.iteration, s.evaluations,
          s.rejected,           s.seconds()};
}

void Fitter::set_step_scale(double scale) { state_->scale = scale; }
Family& Fitter::family() {
  state_->drawn = false;
  state_->release_blocks();
  return *state_->family;
}
const FitterOptions& Fitter::options() const { return state_->options; }
const Whitening& Fitter::whitening() const { return state_->whitening; }
std::int64_t Fitter::iteration() const { return state_->iteration; }
double Fitter::seconds() const { return state_->seconds(); }

}  // namespace magva
