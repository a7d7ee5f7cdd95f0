#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check/loo_row.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

constexpr Index kRowsOfChunk = 64;
constexpr Index kMostSimulated = 200;  // draws that data are simulated from
constexpr Index kReplicates = 40;      // data sets of the histogram
constexpr Index kMostBins = 30;
constexpr Index kBelowDraws = 200;  // for the probability that a new response is below a row's

void check_input(const CheckInput& input) {
  if (input.family ? !input.predictor : !input.probabilities)
    throw UsageError("a check needs a response family and predictors, or the probabilities of classes");
  if (input.rows.rows == 0 || input.draws() < 2) throw UsageError("a check needs rows and at least 2 draws");
  if (input.family && input.own.rows() != input.family->own_count())
    throw UsageError(fmt::format("the family {} has {} parameters of its own, but the draws have {}",
                                 to_string(input.family->distribution()), input.family->own_count(),
                                 input.own.rows()));
  if (input.log_weights.size() != 0 && input.log_weights.size() != input.draws())
    throw UsageError(
        fmt::format("there are {} draws but {} importance weights", input.draws(), input.log_weights.size()));
}

/// Pearson's statistics of each simulated draw, of one chunk of rows.
struct Pearson {
  Vector data;
  Vector simulated;
  double zeros = 0;
};

/// All that is asked of a chunk of rows.
class ChunkCheck {
 public:
  ChunkCheck(const CheckInput& input, ConstVectorRef log_weights, Index chunk)
      : input_(input),
        log_weights_(log_weights),
        weights_(log_weights.array().exp()),
        first_(chunk * kRowsOfChunk),
        rows_(input.rows.from(first_, std::min(kRowsOfChunk, input.rows.rows - first_))),
        at_(input.distributions(first_, rows_.rows)),
        generator_(input.seed + static_cast<std::uint64_t>(chunk) * 0x9e3779b97f4a7c15ULL) {}

  void fill_rows(FitCheck& out, VectorRef p_loo) {
    const Matrix log_likelihood = at_->log_likelihoods();
    for (Index i = 0; i < rows_.rows; ++i) {
      const Index row = first_ + i;
      const double weight = input_.row_weights ? input_.row_weights[row] : 1.0;
      const detail::LooRow loo =
          detail::loo_row(weight * log_likelihood.row(i).transpose(), input_.log_weights, log_weights_);
      out.loo.elpd_rows(row) = loo.elpd;
      out.loo.khat_rows(row) = loo.khat;
      p_loo(row) = loo.p_loo;
      out.pit(row) = probability_below(i, loo.log_weights, log_likelihood.row(i));
      fill_moments(i, out.mean(row), out.sd(row));
    }
  }

  /// Column r of `replicates` is a data set that the model simulates.
  void simulate(MatrixRef replicates) {
    for (Index r = 0; r < replicates.cols(); ++r) {
      const Index s = r * input_.draws() / replicates.cols();
      for (Index i = 0; i < rows_.rows; ++i) replicates(first_ + i, r) = at_->simulate(i, s, generator_);
    }
  }

  Pearson pearson() {
    const Index draws = std::min(kMostSimulated, input_.draws());
    Pearson out{Vector::Zero(draws), Vector::Zero(draws), 0};
    for (Index s = 0; s < draws; ++s)
      for (Index i = 0; i < rows_.rows; ++i) {
        const double mean = at_->mean(i, s);
        const double variance = at_->variance(i, s);
        if (!(variance > 0 && std::isfinite(variance))) continue;
        const double simulated = at_->simulate(i, s, generator_);
        out.data(s) += std::pow(rows_.response[i] - mean, 2) / variance;
        out.simulated(s) += std::pow(simulated - mean, 2) / variance;
        if (simulated == 0) out.zeros += 1 / static_cast<double>(draws);
      }
    return out;
  }

 private:
  /// P(Y < y) + U P(Y = y): uniform for any distribution. A censored row is anywhere above its time.
  template <class Row>
  double probability_below(Index i, ConstVectorRef log_weights, const Row& log_likelihood) {
    const Vector weights = log_weights.array().exp();
    const double at_most = weighted_cdf(i, weights);
    const double u = std::uniform_real_distribution<double>()(generator_);
    if (rows_.status && rows_.status[i] == 0) return at_most + u * (1 - at_most);
    const double equal =
        input_.discrete() ? weights.dot(log_likelihood.transpose().array().exp().matrix()) : 0.0;
    return std::max(0.0, at_most - (1 - u) * equal);
  }

  /// By some of the draws, each as often as its weight says, give or take one: a distribution function may
  /// take long.
  double weighted_cdf(Index i, const Vector& weights) const {
    const Index most = std::min(kBelowDraws, weights.size());
    double sum = 0;
    double passed = 0;
    Index taken = 0;
    for (Index s = 0; s < weights.size() && taken < most; ++s) {
      passed += weights(s);
      const auto due = std::min(most, static_cast<Index>(passed * static_cast<double>(most) + .5));
      if (due == taken) continue;
      sum += static_cast<double>(due - taken) * at_->cdf(i, s, rows_.response[i]);
      taken = due;
    }
    return sum / static_cast<double>(taken);
  }

  void fill_moments(Index i, double& mean, double& sd) const {
    double first = 0;
    double second = 0;
    double within = 0;
    for (Index s = 0; s < input_.draws(); ++s) {
      const double m = at_->mean(i, s);
      first += weights_(s) * m;
      second += weights_(s) * m * m;
      within += weights_(s) * at_->variance(i, s);
    }
    mean = first;
    sd = std::sqrt(std::max(0.0, second - first * first) + within);
  }

  const CheckInput& input_;
  const Vector log_weights_, weights_;
  Index first_;
  ResponseRows rows_;
  std::unique_ptr<const RowDistributions> at_;
  std::mt19937_64 generator_;
};

/// A bin for each value if there are few, else of equal width from the least to the largest response.
Vector bin_edges(const CheckInput& input) {
  const Eigen::Map<const Vector> y(input.rows.response, input.rows.rows);
  const double low = y.minCoeff();
  const double high = y.maxCoeff();
  if (input.discrete()) {
    const double width = std::ceil((high - low + 1) / static_cast<double>(kMostBins));
    const auto bins = static_cast<Index>(std::ceil((high - low + 1) / width));
    return Vector::LinSpaced(bins + 1, low - .5, low - .5 + width * static_cast<double>(bins));
  }
  return Vector::LinSpaced(kMostBins + 1, low, high > low ? high : low + 1);
}

/// Values outside the bins are left out; the last bin holds its upper edge too.
Vector counts_in_bins(ConstVectorRef values, const Vector& edges) {
  const Index bins = edges.size() - 1;
  Vector counts = Vector::Zero(bins);
  const double width = (edges(bins) - edges(0)) / static_cast<double>(bins);
  for (const double value : values) {
    if (!(value >= edges(0) && value <= edges(bins))) continue;
    counts(std::min(bins - 1, static_cast<Index>((value - edges(0)) / width))) += 1;
  }
  return counts;
}

PredictiveHistogram histogram_of(const CheckInput& input, ConstMatrixRef replicates) {
  PredictiveHistogram out;
  out.edges = bin_edges(input);
  const Index bins = out.edges.size() - 1;
  out.observed = counts_in_bins(Eigen::Map<const Vector>(input.rows.response, input.rows.rows), out.edges);
  Matrix counts(bins, replicates.cols());
  for (Index r = 0; r < replicates.cols(); ++r) counts.col(r) = counts_in_bins(replicates.col(r), out.edges);
  for (Vector* row : {&out.low, &out.median, &out.high}) row->resize(bins);
  for (Index b = 0; b < bins; ++b) {
    std::vector<double> sorted(counts.row(b).begin(), counts.row(b).end());
    std::sort(sorted.begin(), sorted.end());
    const auto quantile = [&](double p) {
      return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1) + .5)];
    };
    out.low(b) = quantile(.05);
    out.median(b) = quantile(.5);
    out.high(b) = quantile(.95);
  }
  return out;
}

Coverage coverage_of(const CheckInput& input, ConstVectorRef pit) {
  const Vector weights = input.row_weights ? Vector(Eigen::Map<const Vector>(input.row_weights, pit.size()))
                                           : Vector(Vector::Ones(pit.size()));
  const double total = weights.sum();
  const double n = total * total / weights.squaredNorm();  // rows of equal weight that are worth as much
  const auto inside = [&](double tail) {
    return weights.dot((pit.array() >= tail && pit.array() <= 1 - tail).cast<double>().matrix()) / total;
  };
  return {inside(.25), inside(.05), std::sqrt(.25 / n), std::sqrt(.09 / n)};
}

/// Whether the variance is free to differ from what the mean implies.
bool has_dispersion(const CheckInput& input) {
  const Distribution family = input.distribution();
  if (input.rows.status) return false;
  if (family == Distribution::binomial)
    return std::any_of(input.rows.trials, input.rows.trials + (input.rows.trials ? input.rows.rows : 0),
                       [](double n) { return n > 1; });
  return family == Distribution::poisson || family == Distribution::negative_binomial ||
         family == Distribution::exponential || family == Distribution::gamma;
}

std::string dispersion_advice(Distribution family, const Dispersion& d) {
  const bool over = d.ratio > 1.3 && d.p_value < .01;
  const bool under = d.ratio < .7 && d.p_value > .99;
  if (over && family == Distribution::poisson)
    return fmt::format(
        "the counts vary {:.1f} times as much as Poisson counts with these means: try the family "
        "negbinomial",
        d.ratio);
  if (over && family == Distribution::binomial)
    return fmt::format(
        "the successes vary {:.1f} times as much as binomial ones with these probabilities: try a "
        "group effect for each row",
        d.ratio);
  if (over && family == Distribution::exponential)
    return fmt::format(
        "the responses vary {:.1f} times as much as exponential ones: try the family gamma or weibull",
        d.ratio);
  if (over)
    return fmt::format(
        "the responses vary {:.1f} times as much as the family {} with these means: a predictor or a "
        "group effect may be missing",
        d.ratio, to_string(family));
  if (under && family == Distribution::exponential)
    return fmt::format(
        "the responses vary {:.2f} times as much as exponential ones: try the family gamma or weibull",
        d.ratio);
  if (under)
    return fmt::format(
        "the responses vary only {:.2f} times as much as the family {} with these means: its intervals "
        "are too wide",
        d.ratio, to_string(family));
  return {};
}

Dispersion dispersion_of(const CheckInput& input, const std::vector<Pearson>& chunks) {
  Pearson sum = chunks.front();
  for (std::size_t c = 1; c < chunks.size(); ++c) {
    sum.data += chunks[c].data;
    sum.simulated += chunks[c].simulated;
    sum.zeros += chunks[c].zeros;
  }
  const auto n = static_cast<double>(input.rows.rows);
  Dispersion out;
  out.ratio = sum.data.sum() / sum.simulated.sum();
  out.p_value = (sum.simulated.array() >= sum.data.array()).cast<double>().mean();
  out.zeros_observed =
      static_cast<double>(std::count(input.rows.response, input.rows.response + input.rows.rows, 0.0)) / n;
  out.zeros_predicted = sum.zeros / n;
  out.advice = dispersion_advice(input.distribution(), out);
  return out;
}

}  // namespace

FitCheck check_fit(const CheckInput& input, Workers& workers) {
  check_input(input);
  const Index n = input.rows.rows;
  const Vector log_weights = detail::normalised_log_weights(input.log_weights, input.draws());
  FitCheck out;
  for (Vector* rows : {&out.loo.elpd_rows, &out.loo.khat_rows, &out.pit, &out.mean, &out.sd}) rows->resize(n);
  Vector p_loo(n);
  Matrix replicates(n, kReplicates);
  const bool dispersion = has_dispersion(input);
  const Index chunks = (n + kRowsOfChunk - 1) / kRowsOfChunk;
  std::vector<Pearson> pearson(static_cast<std::size_t>(dispersion ? chunks : 0));
  workers.run(chunks, [&](Index chunk) {
    ChunkCheck check(input, log_weights, chunk);
    check.fill_rows(out, p_loo);
    check.simulate(replicates);
    if (dispersion) pearson[static_cast<std::size_t>(chunk)] = check.pearson();
  });
  detail::summarise_loo(p_loo, input.draws(), out.loo);
  out.coverage = coverage_of(input, out.pit);
  out.histogram = histogram_of(input, replicates);
  if (dispersion) out.dispersion = dispersion_of(input, pearson);
  return out;
}

std::string FitCheck::describe() const {
  std::string text =
      fmt::format("{}. Predictive intervals of 50 and 90 % hold {:.0f} and {:.0f} % of the rows",
                  loo.describe(), 100 * coverage.inside50, 100 * coverage.inside90);
  const bool far = std::abs(coverage.inside90 - .9) > 4 * coverage.se90 + .02 ||
                   std::abs(coverage.inside50 - .5) > 4 * coverage.se50 + .03;
  text += far ? ": the response's distribution does not fit." : ".";
  if (dispersion && !dispersion->advice.empty()) text += " Note: " + dispersion->advice + ".";
  return text;
}

}  // namespace magva
