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

/// This rank's part of the sums, and the whole where it is rank 0.
class Sums {
 public:
  /// `own` are this rank's among the rows of all.
  Sums(const SampledModel& rows, Communicator& ranks, Range own) : rows_(rows), ranks_(ranks), own_(own) {}

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation& evaluation) {
    rows_.evaluate(theta, log_density, gradient, evaluation);
    add_up(theta, log_density, gradient);
  }

  /// The sample is of the rows of all ranks, in order.
  template <class Rows>
  void evaluate_sample(const Rows& sampled, double scale, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) {
    chosen_.clear();
    for (const auto row : sampled)
      if (const auto at = static_cast<Index>(row); at >= own_.begin && at < own_.end)
        chosen_.push_back(at - own_.begin);
    const RowSample sample{chosen_.data(), static_cast<Index>(chosen_.size()), scale};
    rows_.evaluate_sample(sample, theta, log_density, gradient, evaluation);
    add_up(theta, log_density, gradient);
  }

  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) {
    const double value = rows_.expectations()->expect(q, gradient, curvature, evaluation);
    const Index m = gradient.size();
    const Index products = curvature.times_factors.size();
    sum_.resize(1 + 2 * m + products);
    sum_ << value, gradient, curvature.diagonal, curvature.times_factors.reshaped();
    ranks_.sum_to_leader(sum_.data(), sum_.size());
    gradient = sum_.segment(1, m);
    curvature.diagonal = sum_.segment(1 + m, m);
    curvature.times_factors.reshaped() = sum_.tail(products);
    return sum_(0);
  }

  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature, Evaluation& evaluation) {
    const double value = rows_.expectations()->expect(q, gradient, curvature, evaluation);
    const Index m = gradient.size();
    sum_.resize(1 + m + m * m);
    sum_(0) = value;
    sum_.segment(1, m) = gradient;
    sum_.tail(m * m) = curvature.reshaped();
    ranks_.sum_to_leader(sum_.data(), sum_.size());
    gradient = sum_.segment(1, m);
    curvature.reshaped() = sum_.tail(m * m);
    return sum_(0);
  }

 private:
  void add_up(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient) {
    const Index draws = theta.cols();
    sum_.resize(draws * (theta.rows() + 1));
    sum_.head(draws) = log_density;
    sum_.tail(theta.size()) = gradient.reshaped();
    ranks_.sum_to_leader(sum_.data(), sum_.size());
    log_density = sum_.head(draws);
    gradient.reshaped() = sum_.tail(theta.size());
  }

  const SampledModel& rows_;
  Communicator& ranks_;
  Range own_;
  std::vector<Index> chosen_;
  Vector sum_;
};

/// The log likelihood of all ranks' rows, on rank 0.
class RowsOfAllRanks final : public SampledModel {
 public:
  RowsOfAllRanks(std::unique_ptr<const SampledModel> own, Communicator& ranks, Range own_rows,
                 Index observations)
      : own_(std::move(own)), requests_(ranks), observations_(observations), sums_(*own_, ranks, own_rows) {
    if (own_->expectations() != nullptr) expected_.emplace(*this, observations);
  }
  ~RowsOfAllRanks() override {
    requests_.send({}, 0, [](VectorRef) {});
  }

  Index dimension() const override { return own_->dimension(); }
  Index rows() const override { return observations_; }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override { return own_->make_scratch(draws); }
  /// All rows of a sample may be this rank's.
  std::unique_ptr<Scratch> make_sample_scratch(Index draws, Index max_rows) const override {
    return own_->make_sample_scratch(draws, std::min(max_rows, own_->rows()));
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
      return own().make_scratch(factors);
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
    const ExpectedLogDensity& own() const { return *rows_.own_->expectations(); }
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

  std::unique_ptr<const SampledModel> own_;
  mutable Requests requests_;
  Index observations_;
  mutable Sums sums_;
  mutable std::mutex mutex_;  // the ranks do one thing at a time
  std::optional<Expected> expected_;
};

/// The part of a rank other than the leader.
class Server {
 public:
  Server(const SampledModel& rows, Communicator& ranks, Range own_rows, int threads)
      : rows_(rows), requests_(ranks), sums_(rows, ranks, own_rows), workers_(threads) {}

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
    const Index m = rows_.dimension();
    const Index draws = header.columns;
    if (draws > most_draws_) {
      scratch_ = rows_.make_scratch(draws);
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
    const Index m = rows_.dimension();
    const Eigen::Map<const Vector> values = requests_.values(header);
    const GaussianView q = read_gaussian(values, m, header);
    const auto scratch = rows_.expectations()->make_scratch(header.columns);
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

  const SampledModel& rows_;
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

}  // namespace

Regression share_of(const Regression& regression, int rank, int size) {
  if (regression.rows() < size)
    throw UsageError(
        fmt::format("there are {} ranks and only {} rows: start fewer", size, regression.rows()));
  return regression.on_rows(piece(regression.rows(), size, rank));
}

std::shared_ptr<const Model> distribute(const Regression& rows, Communicator& ranks,
                                        const DistributeOptions& options) {
  const detail::RegressionTerms terms = rows.terms();
  std::unique_ptr<const SampledModel> own = options.device
                                                ? detail::make_cuda_likelihood(terms, *options.device).model
                                                : detail::make_likelihood_model(rows);
  const std::vector<Index> starts = row_starts(rows.rows(), ranks);
  const auto rank = static_cast<std::size_t>(ranks.rank());
  const Range own_rows{starts[rank], starts[rank + 1]};
  if (rank != 0) {
    Server(*own, ranks, own_rows, options.threads > 0 ? options.threads : threads_of_rank()).run();
    return nullptr;
  }
  return std::make_shared<detail::RegressionOf>(
      terms, std::make_unique<RowsOfAllRanks>(std::move(own), ranks, own_rows, starts.back()),
      options.start.value_or(rows.start()), options.whole);
}

}  // namespace magva
