#include "magva/model/minibatch.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"

namespace magva {

namespace {

struct MinibatchScratch final : Scratch {
  MinibatchScratch(std::unique_ptr<Scratch> regression, Index sampled_rows)
      : inner(std::move(regression)), rows(static_cast<std::size_t>(sampled_rows)) {}
  std::unique_ptr<Scratch> inner;
  std::vector<Index> rows;
};

/// Uniform on [0, 1), a function of seed, iteration and stratum alone. The key differs from the seed, so that
/// other users of the same generator with the same seed see other numbers.
double uniform(std::uint64_t seed, std::uint64_t iteration, Index stratum) {
  constexpr std::uint64_t kPurpose = 0x6d696e6962617463;
  const std::uint64_t key = seed ^ kPurpose;
  const auto index = static_cast<std::uint64_t>(stratum);
  const r123::Philox4x32::ctr_type counter{
      {static_cast<std::uint32_t>(iteration), static_cast<std::uint32_t>(iteration >> 32),
       static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)}};
  const r123::Philox4x32::key_type keys{
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  const auto bits = r123::Philox4x32()(counter, keys);
  const std::uint64_t both = (static_cast<std::uint64_t>(bits[0]) << 32) | bits[1];
  return static_cast<double>(both >> 11) * 0x1p-53;
}

}  // namespace

std::vector<std::string> MinibatchOptions::problems() const {
  std::vector<std::string> found;
  if (rows < 1) found.push_back(fmt::format("the batch has {} rows, but it must have at least 1", rows));
  if (run < 1) found.push_back(fmt::format("the run is {} rows long, but it must have at least 1", run));
  return found;
}

Minibatch::Minibatch(std::shared_ptr<const Regression> regression, const MinibatchOptions& options)
    : full_(std::move(regression)), seed_(options.seed) {
  for (const std::string& problem : options.problems()) throw UsageError(problem);
  run_ = std::min(options.run, full_->rows());
  runs_ = (full_->rows() + run_ - 1) / run_;
  sampled_ = std::min((options.rows + run_ - 1) / run_, runs_);
}

Index Minibatch::choose(std::uint64_t iteration, Index* rows) const {
  Index count = 0;
  for (Index stratum = 0; stratum < sampled_; ++stratum) {
    // Strata have equal, not whole, lengths: a run across a border belongs to both in part, and every run is
    // expected sampled / runs times.
    const double point = (static_cast<double>(stratum) + uniform(seed_, iteration, stratum)) * scale();
    const Index run = std::min(static_cast<Index>(point), runs_ - 1);
    for (Index row = run * run_; row < std::min((run + 1) * run_, full_->rows()); ++row) rows[count++] = row;
  }
  return count;
}

std::vector<Index> Minibatch::rows_at(std::uint64_t iteration) const {
  std::vector<Index> rows(static_cast<std::size_t>(sampled_ * run_));
  rows.resize(static_cast<std::size_t>(choose(iteration, rows.data())));
  return rows;
}

std::unique_ptr<Scratch> Minibatch::make_scratch(Index max_draws) const {
  const Index most = sampled_ * run_;
  return std::make_unique<MinibatchScratch>(full_->make_scratch(max_draws, std::min(most, full_->rows())),
                                            most);
}

void Minibatch::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                         Evaluation& evaluation) const {
  auto& scratch = static_cast<MinibatchScratch&>(evaluation.scratch);
  Evaluation inner{*scratch.inner, evaluation.workers, evaluation.iteration};
  if (sampled_ == runs_) return full_->evaluate(theta, log_density, gradient, inner);
  const Index count = choose(evaluation.iteration, scratch.rows.data());
  full_->evaluate_sample({scratch.rows.data(), count, scale()}, theta, log_density, gradient, inner);
}

}  // namespace magva
