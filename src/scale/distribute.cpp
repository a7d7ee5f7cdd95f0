#include "magva/distribute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "magva/error.hpp"
#include "scale/cuda_likelihood.hpp"
#include "scale/likelihood_model.hpp"
#include "scale/own_rows.hpp"
#include "scale/row_sections.hpp"

namespace magva {

namespace {

enum class Request : std::int64_t { evaluate, evaluate_sample, expect_products, expect_dense, end };

/// What rank 0 asks for: draws, on all rows or on a sample of them, or a Gaussian with so many factors, and
/// with or without residuals.
struct Header {
  Request request = Request::end;
  std::int64_t columns = 0;
  std::int64_t has_residuals = 0;
  std::int64_t sampled_rows = 0;
  double scale = 1;
  std::int64_t values = 0;  ///< that come with it
};

/// Requests as they go over the network: a header and values, in one message if there are as many values as
/// last time, which is what the other ranks expect.
class Requests {
 public:
  explicit Requests(Communicator& ranks) : ranks_(ranks), message_(Vector::Zero(kHeader)) {}

  /// On rank 0; fill(values) writes the values.
  template <class Fill>
  void send(Header header, Index values, const Fill& fill) {
    header.values = values;
    message_.resize(kHeader + std::max(values, expected_));
    std::memcpy(message_.data(), &header, sizeof header);
    fill(message_.segment(kHeader, values));
    broadcast(0, kHeader + expected_);
    if (values != expected_ && values > 0) broadcast(kHeader, values);
    expect(values);
  }
  /// On the others.
  Header receive() {
    message_.resize(kHeader + expected_);
    broadcast(0, kHeader + expected_);
    Header header;
    std::memcpy(static_cast<void*>(&header), message_.data(), sizeof header);
    if (header.values != expected_ && header.values > 0) {
      message_.resize(kHeader + header.values);
      broadcast(kHeader, header.values);
    }
    expect(header.values);
    return header;
  }
  /// Of the last request received.
  Eigen::Map<const Vector> values(const Header& header) const {
    return {message_.data() + kHeader, header.values};
  }

 private:
  static constexpr Index kHeader = sizeof(Header) / sizeof(double);
  /// Beyond so many values a second message costs little, and values that nobody needs a lot.
  static constexpr Index kMostExpected = 8192;

  void broadcast(Index begin, Index count) {
    ranks_.broadcast(message_.data() + begin, static_cast<std::size_t>(count) * sizeof(double));
  }
  void expect(Index values) { expected_ = values <= kMostExpected ? values : 0; }

  Communicator& ranks_;
  Vector message_;
  Index expected_ = 0;
};

/// A Gaussian as it goes over the network: mean, factors, residual_sd.
void write_gaussian(const GaussianView& q, VectorRef values) {
  const Index m = q.mean.size();
  values.head(m) = q.mean;
  values.segment(m, q.factors.size()) = q.factors.reshaped();
  values.tail(q.residual_sd.size()) = q.residual_sd;
}
GaussianView read_gaussian(const Eigen::Map<const Vector>& values, Index m, const Header& header) {
  const Index residuals = header.has_residuals * m;
  return {values.head(m), Eigen::Map<const Matrix>(values.data() + m, m, header.columns),
          values.tail(residuals)};
}

/// Draws, and then the rows on which they are evaluated, whose numbers are exact in double precision.
void write_sample(ConstMatrixRef theta, const RowSample& sample, VectorRef values) {
  values.head(theta.size()) = theta.reshaped();
  for (Index i = 0; i < sample.count; ++i) values(theta.size() + i) = static_cast<double>(sample.rows[i]);
}

/// A rank's rows as they are summed over: in many sections for draws, in few for expectations, whose sums are
/// large.
struct RankRows {
  std::unique_ptr<const detail::OwnRows> draws;
  std::unique_ptr<const detail::OwnRows> expectations;  ///< null: those of `draws`
  const detail::OwnRows& for_expectations() const { return expectations ? *expectations : *draws; }
  bool has_expectations() const { return draws->first().expectations() != nullptr; }
};

/// This rank's part of the sums, and the whole where it is rank 0.
class Sums {
 public:
  Sums(const RankRows& rows, Communicator& ranks)
      : rows_(rows),
        ranks_(ranks),
        of_draws_(rows.draws->sections_of_all(), ranks.size()),
        of_expectations_(rows.for_expectations().sections_of_all(), ranks.size()) {}

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation& evaluation) {
    rows_.draws->evaluate(theta, start(of_draws_, theta.size() + theta.cols()), evaluation);
    finish_draws(theta, log_density, gradient);
  }

  /// The sample is of the rows of all ranks, in order.
  template <class Rows>
  void evaluate_sample(const Rows& sampled, double scale, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) {
    chosen_.clear();
    for (const auto row : sampled) chosen_.push_back(static_cast<Index>(row));
    if (!std::is_sorted(chosen_.begin(), chosen_.end())) std::sort(chosen_.begin(), chosen_.end());
    rows_.draws->evaluate_sample(chosen_, scale, theta, start(of_draws_, theta.size() + theta.cols()),
                                 evaluation);
    finish_draws(theta, log_density, gradient);
  }

  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) {
    const Index m = gradient.size();
    const Index products = m * q.factors.cols();
    const Index values = 1 + 2 * m + products;
    rows_.for_expectations().expect(values, start(of_expectations_, values), evaluation,
                                    [&](const ExpectedLogDensity& section, VectorRef out, Evaluation& inner) {
                                      out(0) = section.expect(q, gradient, curvature, inner);
                                      out.segment(1, m) = gradient;
                                      out.segment(1 + m, m) = curvature.diagonal;
                                      out.tail(products) = curvature.times_factors.reshaped();
                                    });
    combine(of_expectations_, values);
    gradient = sum_.segment(1, m);
    curvature.diagonal = sum_.segment(1 + m, m);
    curvature.times_factors.reshaped() = sum_.segment(1 + 2 * m, products);
    return sum_(0);
  }

  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature, Evaluation& evaluation) {
    const Index m = gradient.size();
    const Index values = 1 + m + m * m;
    rows_.for_expectations().expect(values, start(of_expectations_, values), evaluation,
                                    [&](const ExpectedLogDensity& section, VectorRef out, Evaluation& inner) {
                                      out(0) = section.expect(q, gradient, curvature, inner);
                                      out.segment(1, m) = gradient;
                                      out.tail(m * m) = curvature.reshaped();
                                    });
    combine(of_expectations_, values);
    gradient = sum_.segment(1, m);
    curvature.reshaped() = sum_.segment(1 + m, m * m);
    return sum_(0);
  }

 private:
  /// Where this rank's nodes go, of so many values each.
  double* start(const detail::NodeTree& tree, Index values) {
    sum_.setZero(tree.nodes_per_rank() * values);
    return sum_.data();
  }
  /// On rank 0 the first of them becomes the sum of all.
  void combine(const detail::NodeTree& tree, Index values) {
    const Index nodes = tree.nodes_per_rank();
    ranks_.combine_at_leader(sum_.data(), nodes, values, [&](double* all, Index count) {
      tree.add_up(count, [&](int rank, Index node) { return all + (rank * nodes + node) * count; });
    });
  }
  void finish_draws(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient) {
    const Index draws = theta.cols();
    combine(of_draws_, draws + theta.size());
    log_density = sum_.head(draws);
    gradient.reshaped() = sum_.segment(draws, theta.size());
  }

  const RankRows& rows_;
  Communicator& ranks_;
  detail::NodeTree of_draws_, of_expectations_;
  std::vector<Index> chosen_;
  Vector sum_;
};

/// The log likelihood of all ranks' rows, on rank 0.
class RowsOfAllRanks final : public SampledModel {
 public:
  RowsOfAllRanks(RankRows own, Communicator& ranks, Index observations)
      : own_(std::move(own)), requests_(ranks), observations_(observations), sums_(own_, ranks) {
    if (own_.has_expectations()) expected_.emplace(*this, observations);
  }
  ~RowsOfAllRanks() override {
    requests_.send({}, 0, [](VectorRef) {});
  }

  Index dimension() const override { return own_.draws->dimension(); }
  Index rows() const override { return observations_; }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override {
    return own_.draws->make_scratch(draws);
  }
  std::unique_ptr<Scratch> make_sample_scratch(Index draws, Index) const override {
    return own_.draws->make_scratch(draws);
  }
  const ExpectedLogDensity* expectations() const override { return expected_ ? &*expected_ : nullptr; }

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    const std::lock_guard lock(mutex_);
    requests_.send({Request::evaluate, theta.cols()}, theta.size(),
                   [&](VectorRef values) { values = theta.reshaped(); });
    sums_.evaluate(theta, log_density, gradient, evaluation);
  }

  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override {
    const std::lock_guard lock(mutex_);
    requests_.send({Request::evaluate_sample, theta.cols(), 0, sample.count, sample.scale},
                   theta.size() + sample.count,
                   [&](VectorRef values) { write_sample(theta, sample, values); });
    sums_.evaluate_sample(std::span(sample.rows, static_cast<std::size_t>(sample.count)), sample.scale, theta,
                          log_density, gradient, evaluation);
  }

 private:
  class Expected final : public ExpectedLogDensity {
   public:
    Expected(const RowsOfAllRanks& rows, Index observations) : rows_(rows), observations_(observations) {}
    Index dimension() const override { return rows_.dimension(); }
    bool log_concave() const override { return own().log_concave(); }
    Index terms() const override { return observations_; }
    std::unique_ptr<Scratch> make_scratch(Index factors) const override {
      return rows_.own_.for_expectations().make_expectation_scratch(factors);
    }

    double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                  Evaluation& evaluation) const override {
      return ask(Request::expect_products, q,
                 [&] { return rows_.sums_.expect(q, gradient, curvature, evaluation); });
    }
    double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                  Evaluation& evaluation) const override {
      return ask(Request::expect_dense, q,
                 [&] { return rows_.sums_.expect(q, gradient, curvature, evaluation); });
    }

   private:
    const ExpectedLogDensity& own() const { return *rows_.own_.draws->first().expectations(); }
    template <class Work>
    double ask(Request request, const GaussianView& q, Work&& work) const {
      const std::lock_guard lock(rows_.mutex_);
      rows_.requests_.send({request, q.factors.cols(), q.residual_sd.size() > 0 ? 1 : 0},
                           q.mean.size() + q.factors.size() + q.residual_sd.size(),
                           [&](VectorRef values) { write_gaussian(q, values); });
      return work();
    }

    const RowsOfAllRanks& rows_;
    Index observations_;
  };

  RankRows own_;
  mutable Requests requests_;
  Index observations_;
  mutable Sums sums_;
  mutable std::mutex mutex_;  // the ranks do one thing at a time
  std::optional<Expected> expected_;
};

/// The part of a rank other than the leader.
class Server {
 public:
  Server(const RankRows& rows, Communicator& ranks, int threads)
      : rows_(rows), requests_(ranks), sums_(rows, ranks), workers_(threads) {}

  void run() {
    for (;;) {
      const Header header = requests_.receive();
      if (header.request == Request::end) return;
      if (header.request == Request::evaluate || header.request == Request::evaluate_sample)
        evaluate(header);
      else
        expect(header);
    }
  }

 private:
  void evaluate(const Header& header) {
    const Index m = rows_.draws->dimension();
    const Index draws = header.columns;
    if (draws > most_draws_) {
      scratch_ = rows_.draws->make_scratch(draws);
      most_draws_ = draws;
    }
    const auto values = requests_.values(header);
    const auto theta = values.head(m * draws).reshaped(m, draws);
    Vector log_density(draws);
    Matrix gradient(m, draws);
    Evaluation evaluation{*scratch_, workers_};
    if (header.request == Request::evaluate)
      sums_.evaluate(theta, log_density, gradient, evaluation);
    else
      sums_.evaluate_sample(values.tail(header.sampled_rows), header.scale, theta, log_density, gradient,
                            evaluation);
  }

  void expect(const Header& header) {
    const Index m = rows_.draws->dimension();
    const Eigen::Map<const Vector> values = requests_.values(header);
    const GaussianView q = read_gaussian(values, m, header);
    const auto scratch = rows_.for_expectations().make_expectation_scratch(header.columns);
    Evaluation evaluation{*scratch, workers_};
    Vector gradient(m);
    if (header.request == Request::expect_products) {
      CurvatureProducts curvature;
      sums_.expect(q, gradient, curvature, evaluation);
    } else {
      Matrix curvature;
      sums_.expect(q, gradient, curvature, evaluation);
    }
  }

  const RankRows& rows_;
  Requests requests_;
  Sums sums_;
  Workers workers_;
  std::unique_ptr<Scratch> scratch_;
  Index most_draws_ = 0;
};

/// Where the rows of each rank begin among those of all, in the order of the ranks, and where the last end.
std::vector<Index> row_starts(Index own, Communicator& ranks) {
  Vector counts = Vector::Zero(ranks.size());
  counts(ranks.rank()) = static_cast<double>(own);
  ranks.sum_to_leader(counts.data(), counts.size());
  ranks.broadcast(counts.data(), static_cast<std::size_t>(counts.size()) * sizeof(double));
  std::vector<Index> starts{0};
  for (const double count : counts) starts.push_back(starts.back() + static_cast<Index>(count));
  return starts;
}

/// Whether ranks have the rows of rows_of_rank().
bool are_those_of_ranks(const std::vector<Index>& starts, int size) {
  if (detail::section_count(starts.back()) < size) return false;
  for (int rank = 0; rank < size; ++rank)
    if (rows_of_rank(starts.back(), rank, size).begin != starts[static_cast<std::size_t>(rank)]) return false;
  return true;
}

/// Sections for expectations: few, and only for numbers of ranks among which they can be shared evenly.
Index expectation_sections(Index sections, int size) {
  constexpr Index kMost = 16;
  const Index count = std::min(kMost, sections);
  return count % size == 0 ? count : size;
}

RankRows rows_of(const Regression& rows, const detail::RegressionTerms& terms,
                 const std::vector<Index>& starts, const Communicator& ranks,
                 const std::optional<DeviceOptions>& device) {
  const auto rank = static_cast<std::size_t>(ranks.rank());
  const Range own{starts[rank], starts[rank + 1]};
  const Index total = starts.back();
  if (device)
    return {std::make_unique<const detail::OwnRows>(detail::make_cuda_likelihood(terms, *device).model, own,
                                                    ranks),
            nullptr};
  const auto whole = [&] {
    return std::make_unique<const detail::OwnRows>(detail::make_likelihood_model(rows), own, ranks);
  };
  if (!are_those_of_ranks(starts, ranks.size())) return {whole(), nullptr};
  const Index sections = detail::section_count(total);
  RankRows out;
  out.draws = std::make_unique<const detail::OwnRows>(rows, own, total, sections, ranks);
  const Index few = expectation_sections(sections, ranks.size());
  if (out.has_expectations())
    out.expectations =
        few == ranks.size() ? whole() : std::make_unique<const detail::OwnRows>(rows, own, total, few, ranks);
  return out;
}

}  // namespace

void Communicator::broadcast_from(int root, void* data, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::vector<double> piece;  // bytes as numbers, which zeros can be added to
  auto* const text = static_cast<unsigned char*>(data);
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t count = std::min(kPiece, bytes - at);
    piece.assign(count, 0);
    if (rank() == root) std::copy_n(text + at, count, piece.begin());
    if (root != 0) sum_to_leader(piece.data(), static_cast<Index>(count));
    broadcast(piece.data(), count * sizeof(double));
    std::transform(piece.begin(), piece.end(), text + at,
                   [](double value) { return static_cast<unsigned char>(value); });
  }
}

void Communicator::combine_at_leader(double* values, Index parts, Index count, const AddUp& add_up) {
  const Index own = parts * count;
  Vector all = Vector::Zero(size() * own);
  all.segment(rank() * own, own) = Eigen::Map<const Vector>(values, own);
  sum_to_leader(all.data(), all.size());
  if (rank() != 0) return;
  add_up(all.data(), count);
  std::copy_n(all.data(), count, values);
}

Range rows_of_rank(Index rows, int rank, int size) {
  const Index sections = detail::section_count(rows);
  if (sections < size)
    throw UsageError(fmt::format("there are {} ranks, and {} rows are cut into {} parts at most: start fewer",
                                 size, rows, sections));
  const Range own = detail::sections_of_rank(sections, rank, size);
  return {piece(rows, sections, own.begin).begin, piece(rows, sections, own.end).begin};
}

Regression share_of(const Regression& regression, int rank, int size) {
  return regression.on_rows(rows_of_rank(regression.rows(), rank, size));
}

std::shared_ptr<const Model> distribute(const Regression& rows, Communicator& ranks,
                                        const DistributeOptions& options) {
  const detail::RegressionTerms terms = rows.terms();
  const std::vector<Index> starts = row_starts(rows.rows(), ranks);
  RankRows own = rows_of(rows, terms, starts, ranks, options.device);
  if (ranks.rank() != 0) {
    Server(own, ranks, options.threads > 0 ? options.threads : threads_of_rank()).run();
    return nullptr;
  }
  return std::make_shared<detail::RegressionOf>(
      terms, std::make_unique<RowsOfAllRanks>(std::move(own), ranks, starts.back()),
      options.start.value_or(rows.start()), options.whole);
}

}  // namespace magva
