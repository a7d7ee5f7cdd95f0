#include "magva/minibatch.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "magva/error.hpp"
#include "models/row_sample.hpp"

namespace magva {

namespace {

struct MinibatchScratch final : Scratch {
  MinibatchScratch(std::unique_ptr<Scratch> regression, Index sampled_rows)
      : inner(std::move(regression)), rows(static_cast<std::size_t>(sampled_rows)) {}
  std::unique_ptr<Scratch> inner;
  std::vector<Index> rows;
};

struct Bits {
  std::uint64_t first, second;
};

/// A function of seed, epoch and stratum alone. The key differs from the seed, so that other users of the
/// same generator with the same seed see other numbers.
Bits random_bits(std::uint64_t seed, std::uint64_t epoch, Index stratum) {
  constexpr std::uint64_t kPurpose = 0x6d696e6962617463;
  const std::uint64_t key = seed ^ kPurpose;
  const auto index = static_cast<std::uint64_t>(stratum);
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  const auto high = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32U); };
  const r123::Philox4x32::ctr_type counter{{low(epoch), high(epoch), low(index), high(index)}};
  const r123::Philox4x32::key_type keys{{low(key), high(key)}};
  const auto bits = r123::Philox4x32()(counter, keys);
  const auto join = [](std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32U | b; };
  return {join(bits[0], bits[1]), join(bits[2], bits[3])};
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 31U) * 0x7fb5d329728ea185;
  x = (x ^ x >> 27U) * 0x81dadef4bc2dd44d;
  return x ^ x >> 33U;
}

/// One step of a keyed permutation of the numbers of 2 `half` bits (a Feistel network).
std::uint64_t scramble(std::uint64_t x, unsigned half, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = x >> half;
  std::uint64_t right = x & mask;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const std::uint64_t next = left ^ (mix(right + key * (2 * round + 1)) & mask);
    left = right;
    right = next;
  }
  return left << half | right;
}

/// Where a keyed permutation of 0 .. count - 1 takes `x`: numbers beyond are scrambled on until they are
/// within. The shift makes every place exactly as likely as any other.
Index permuted(Index x, Index count, Bits bits) {
  const auto size = static_cast<std::uint64_t>(count);
  const unsigned half = (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2;
  auto to = static_cast<std::uint64_t>(x);
  do {
    to = scramble(to, half, bits.first);
  } while (to >= size);
  return static_cast<Index>((to + bits.second % size) % size);
}

/// Tells the operating system that rows will be read soon: where they are in a mapped file, it fetches them
/// all at once, in the background, instead of page by page as they are touched.
template <class Scalar>
void read_ahead(const DenseRows<Scalar>& x, Index begin, Index count) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(x.data + begin * x.stride) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(x.data + (begin + count) * x.stride);
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_WILLNEED);
}
void read_ahead(const SparseRows&, Index, Index) {}  // never mapped

}  // namespace

/// A regression on this machine.
class Minibatch::RegressionRows final : public SampledModel {
 public:
  explicit RegressionRows(std::shared_ptr<const Regression> regression)
      : regression_(std::move(regression)) {}

  Index dimension() const override { return regression_->dimension(); }
  Index rows() const override { return regression_->rows(); }
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override {
    return regression_->make_scratch(max_draws);
  }
  std::unique_ptr<Scratch> make_sample_scratch(Index max_draws, Index max_rows) const override {
    return regression_->make_scratch(max_draws, max_rows);
  }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    regression_->evaluate(theta, log_density, gradient, evaluation);
  }
  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override {
    regression_->evaluate_sample(sample, theta, log_density, gradient, evaluation);
  }
  void announce(Index begin, Index count) const override {
    std::visit([&](const auto& rows) { read_ahead(rows, begin, count); }, regression_->design().storage());
  }

 private:
  std::shared_ptr<const Regression> regression_;
};

std::shared_ptr<const SampledModel> Minibatch::rows_of(const std::shared_ptr<const Model>& model) {
  if (auto regression = std::dynamic_pointer_cast<const Regression>(model))
    return std::make_shared<const RegressionRows>(std::move(regression));
  return std::dynamic_pointer_cast<const SampledModel>(model);
}

std::vector<std::string> MinibatchOptions::validate() const {
  std::vector<std::string> found;
  if (rows < 1) found.push_back(fmt::format("the batch has {} rows, but it must have at least 1", rows));
  if (run < 1) found.push_back(fmt::format("the run is {} rows long, but it must have at least 1", run));
  return found;
}

Minibatch::Minibatch(std::shared_ptr<const Model> model, const MinibatchOptions& options)
    : full_(std::move(model)), sampled_(rows_of(full_)), options_(options) {
  for (const std::string& problem : options.validate()) throw UsageError(problem);
  if (!sampled_)
    throw UsageError("minibatches are for regressions with one linear predictor: fit this model to all rows");
  run_ = std::min(options.run, rows());
  runs_ = (rows() + run_ - 1) / run_;
  const Index wanted = (options.rows + run_ - 1) / run_;
  batches_ = (runs_ + wanted - 1) / wanted;
  strata_ = (runs_ + batches_ - 1) / batches_;
}

Index Minibatch::rows() const { return sampled_->rows(); }

template <class Use>
void Minibatch::for_each_run(std::uint64_t iteration, Use use) const {
  const auto batches = static_cast<std::uint64_t>(batches_);
  const std::uint64_t epoch = iteration / batches;
  const auto batch = static_cast<Index>(iteration % batches);
  for (Index stratum = 0; stratum < strata_; ++stratum) {
    const Bits bits = random_bits(options_.seed, epoch, stratum);
    const Index begin = (stratum * batches_ + permuted(batch, batches_, bits)) * run_;
    const Index end = std::min(begin + run_, rows());
    if (begin < end) use(begin, end);
  }
}

Index Minibatch::choose(std::uint64_t iteration, Index* rows) const {
  Index count = 0;
  for_each_run(iteration, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) rows[count++] = row;
  });
  return count;
}

void Minibatch::fetch(std::uint64_t iteration) const {
  for_each_run(iteration, [&](Index begin, Index end) { sampled_->announce(begin, end - begin); });
}

std::vector<Index> Minibatch::rows_at(std::uint64_t iteration) const {
  std::vector<Index> rows(static_cast<std::size_t>(strata_ * run_));
  rows.resize(static_cast<std::size_t>(choose(iteration, rows.data())));
  return rows;
}

std::unique_ptr<Scratch> Minibatch::make_scratch(Index max_draws) const {
  const Index most = strata_ * run_;
  return std::make_unique<MinibatchScratch>(sampled_->make_sample_scratch(max_draws, std::min(most, rows())),
                                            most);
}

void Minibatch::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                         Evaluation& evaluation) const {
  auto& scratch = static_cast<MinibatchScratch&>(evaluation.scratch);
  Evaluation inner{*scratch.inner, evaluation.workers, evaluation.iteration};
  if (batches_ == 1) return sampled_->evaluate(theta, log_density, gradient, inner);
  if (run_ > 1) {
    fetch(evaluation.iteration);
    fetch(evaluation.iteration + 1);
  }
  const Index count = choose(evaluation.iteration, scratch.rows.data());
  sampled_->evaluate_sample({scratch.rows.data(), count, static_cast<double>(batches_)}, theta, log_density,
                            gradient, inner);
}

Index minibatch_run(const Regression& regression) {
  constexpr double kLargeBytes = 1e9;
  constexpr double kRunBytes = 65536;
  const Design& design = regression.design();
  const auto bytes = static_cast<double>(design.bytes());
  if (bytes < kLargeBytes) return 1;
  return static_cast<Index>(std::max(1., kRunBytes * static_cast<double>(design.rows()) / bytes));
}

}  // namespace magva
