#include "magva/distribute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
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
};

void broadcast(Communicator& ranks, Header& header) { ranks.broadcast(&header, sizeof header); }
void broadcast(Communicator& ranks, Vector& values) {
  ranks.broadcast(values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
}

void broadcast(Communicator& ranks, std::vector<Index>& rows) {
  ranks.broadcast(rows.data(), rows.size() * sizeof(Index));
}

/// A Gaussian as it goes over the network: mean, factors, residual_sd.
struct GaussianMessage {
  GaussianMessage(Index dimension, const Header& header)
      : m(dimension), factors(header.columns), values(m * (1 + factors + header.has_residuals)) {}
  GaussianMessage(const GaussianView& q, const Header& header) : GaussianMessage(q.mean.size(), header) {
    values.head(m) = q.mean;
    values.segment(m, m * factors) = q.factors.reshaped();
    values.tail(q.residual_sd.size()) = q.residual_sd;
  }
  GaussianView view() const {
    const Index residuals = values.size() - m * (1 + factors);
    return {values.head(m), Eigen::Map<const Matrix>(values.data() + m, m, factors), values.tail(residuals)};
  }
  Index m, factors;
  Vector values;
};

/// This rank's part of the sums, and the whole where it is rank 0.
class Sums {
 public:
  /// `own` are this rank's among the rows of all.
  Sums(const SampledModel& rows, Communicator& ranks, Range own) : rows_(rows), ranks_(ranks), own_(own) {}

  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation& evaluation) {
    rows_.evaluate(theta, log_density, gradient, evaluation);
    add_up(theta, log_density, gradient);
  }

  /// `sampled` are rows of all ranks, in order.
  void evaluate_sample(const std::vector<Index>& sampled, double scale, ConstMatrixRef theta,
                       VectorRef log_density, MatrixRef gradient, Evaluation& evaluation) {
    chosen_.assign(std::lower_bound(sampled.begin(), sampled.end(), own_.begin),
                   std::lower_bound(sampled.begin(), sampled.end(), own_.end));
    for (Index& row : chosen_) row -= own_.begin;
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
      : own_(std::move(own)), ranks_(ranks), observations_(observations), sums_(*own_, ranks, own_rows) {
    if (own_->expectations() != nullptr) expected_.emplace(*this, observations);
  }
  ~RowsOfAllRanks() override {
    Header end;
    broadcast(ranks_, end);
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
    Header header{Request::evaluate, theta.cols(), 0};
    broadcast(ranks_, header);
    message_ = theta.reshaped();
    broadcast(ranks_, message_);
    sums_.evaluate(theta, log_density, gradient, evaluation);
  }

  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override {
    const std::lock_guard lock(mutex_);
    Header header{Request::evaluate_sample, theta.cols(), 0, sample.count, sample.scale};
    broadcast(ranks_, header);
    message_ = theta.reshaped();
    broadcast(ranks_, message_);
    sampled_.assign(sample.rows, sample.rows + sample.count);
    broadcast(ranks_, sampled_);
    sums_.evaluate_sample(sampled_, sample.scale, theta, log_density, gradient, evaluation);
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
      Header header{request, q.factors.cols(), q.residual_sd.size() > 0 ? 1 : 0};
      broadcast(rows_.ranks_, header);
      GaussianMessage message(q, header);
      broadcast(rows_.ranks_, message.values);
      return work();
    }

    const RowsOfAllRanks& rows_;
    Index observations_;
  };

  std::unique_ptr<const SampledModel> own_;
  Communicator& ranks_;
  Index observations_;
  mutable Sums sums_;
  mutable Vector message_;
  mutable std::vector<Index> sampled_;
  mutable std::mutex mutex_;  // the ranks do one thing at a time
  std::optional<Expected> expected_;
};

/// The part of a rank other than the leader.
class Server {
 public:
  Server(const SampledModel& rows, Communicator& ranks, Range own_rows, int threads)
      : rows_(rows), ranks_(ranks), sums_(rows, ranks, own_rows), workers_(threads) {}

  void run() {
    for (Header header;;) {
      broadcast(ranks_, header);
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
    Vector theta(m * draws);
    broadcast(ranks_, theta);
    Vector log_density(draws);
    Matrix gradient(m, draws);
    Evaluation evaluation{*scratch_, workers_};
    if (header.request == Request::evaluate)
      return sums_.evaluate(theta.reshaped(m, draws), log_density, gradient, evaluation);
    sampled_.resize(static_cast<std::size_t>(header.sampled_rows));
    broadcast(ranks_, sampled_);
    sums_.evaluate_sample(sampled_, header.scale, theta.reshaped(m, draws), log_density, gradient,
                          evaluation);
  }

  void expect(const Header& header) {
    GaussianMessage message(rows_.dimension(), header);
    broadcast(ranks_, message.values);
    const auto scratch = rows_.expectations()->make_scratch(header.columns);
    Evaluation evaluation{*scratch, workers_};
    Vector gradient(rows_.dimension());
    if (header.request == Request::expect_products) {
      CurvatureProducts curvature;
      sums_.expect(message.view(), gradient, curvature, evaluation);
    } else {
      Matrix curvature;
      sums_.expect(message.view(), gradient, curvature, evaluation);
    }
  }

  const SampledModel& rows_;
  Communicator& ranks_;
  Sums sums_;
  Workers workers_;
  std::vector<Index> sampled_;
  std::unique_ptr<Scratch> scratch_;
  Index most_draws_ = 0;
};

/// Where the rows of each rank begin among those of all, in the order of the ranks, and where the last end.
std::vector<Index> row_starts(Index own, Communicator& ranks) {
  Vector counts = Vector::Zero(ranks.size());
  counts(ranks.rank()) = static_cast<double>(own);
  ranks.sum_to_leader(counts.data(), counts.size());
  broadcast(ranks, counts);
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
      options.start.value_or(rows.start()));
}

}  // namespace magva
