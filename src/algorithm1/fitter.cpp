#include "algorithm1/fitter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "algorithm1/fitter_state.hpp"
#include "algorithm1/iteration_sweeps.hpp"
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
  if (block.name == "mu") return options.mean_rule;
  if (block.name == "d1" || block.name == "d2") return options.scale_rule;
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
  for (const auto& block : blocks) out.push_back({block.name, block.manifold, block.value, Matrix()});
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
  blocks[0].value = (start - whitening.centre).cwiseQuotient(whitening.scale);
  kernel = std::make_unique<TallSkinny>(m, widest(blocks), *workers);
  for (const auto& block : blocks) {
    updates.push_back(
        make_update(block.manifold, rule_for(block, options), block.value.rows(), block.value.cols()));
    work.push_back(large_matrix(block.value.rows(), block.value.cols()));
  }
  if (options.average_last > 0) average = without_gradients(blocks);
  good = without_gradients(blocks);
  noise = large_matrix(family->noise_size(), options.draws);
  theta = large_matrix(m, options.draws);
  gradient = large_matrix(m, options.draws);
  log_density.resize(options.draws);
  weight.resize(options.draws);
  zeros.resize(row_tasks(m));
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
  Evaluation evaluation{*scratch, *workers, static_cast<std::uint64_t>(iteration), options.antithetic};
  model.evaluate(theta, log_density, gradient, evaluation);
  if (evaluation.mirrored && !(log_density.allFinite() && gradient.allFinite())) {
    // A draw without a gradient is left out, and its mirrored one not.
    evaluation.mirrored = false;
    model.evaluate(theta, log_density, gradient, evaluation);
  }
  if (whitened)
    for (Index s = 0; s < gradient.cols(); ++s) gradient.col(s).array() *= whitening.scale.array();
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
      gradient.col(s).setZero();
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

void Fitter::State::update_block(std::size_t b) {
  Block& block = family->blocks()[b];
  updates[b]->step(block.value, block.gradient, step_scale(), work[b], *kernel);
}

// The mean's natural gradient needs the factors before they change.
void Fitter::State::update_blocks_naturally() {
  family->gradient(noise, weight, options.estimator, gradient);
  family->times_covariance(family->blocks()[0].gradient.col(0));
  for (std::size_t b = 0; b < updates.size(); ++b) update_block(b);
}

void Fitter::State::update_blocks_by_rows(RowwiseFamily& rows) {
  const std::size_t factors = rows.factor_block();
  rows.start_gradient(noise, weight, options.estimator, gradient);
  Sweeps sweeps(*this, rows);
  drawn =
      updates[factors]->step(family->blocks()[factors].value, sweeps, step_scale(), work[factors], *kernel);
  sweeps.finish(drawn);
}

void Fitter::State::update_blocks() {
  if (options.natural_mean) return update_blocks_naturally();
  if (RowwiseFamily* rows = family->by_rows()) return update_blocks_by_rows(*rows);
  family->gradient(noise, weight, options.estimator, gradient);
  for (std::size_t b = 0; b < updates.size(); ++b) update_block(b);
}

void Fitter::State::average_blocks() {
  const double from = (1 - options.average_last) * static_cast<double>(options.max_iterations);
  if (average.empty() || static_cast<double>(iteration) < from) return;
  ++averaged;
  const double share = 1 / static_cast<double>(averaged);
  for (std::size_t b = 0; b < average.size(); ++b)
    average[b].value += share * (family->blocks()[b].value - average[b].value);
}

bool Fitter::State::healthy() const {
  return std::isfinite(family->entropy()) && std::isfinite((family->blocks()[0].value.array() * 0).sum());
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
    : state_(std::make_unique<State>(model, options, whitening, start)) {}

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
  s.family->prepare();
  if (!s.healthy())
    return result(
        StopReason::kDiverged,
        fmt::format("the variational parameters stopped being finite at iteration {}", s.iteration));
  return result(StopReason::kIterationLimit, fmt::format("{} iterations were done", s.iteration));
}

FitterResult Fitter::result(StopReason reason, std::string stop_detail) const {
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
  return *state_->family;
}
const FitterOptions& Fitter::options() const { return state_->options; }
const Whitening& Fitter::whitening() const { return state_->whitening; }
std::int64_t Fitter::iteration() const { return state_->iteration; }
double Fitter::seconds() const { return state_->seconds(); }

}  // namespace magva
