// The pass of a regression spread over the ranks of an MPI job: seconds a pass and what goes over the
// network. A delay may be added to each message, as a slower network would. usage: mpirun -n R
// magva_ranks_bench ROWS COLUMNS [DRAWS [LATENCY_US GBIT]]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "magva/distribute.hpp"
#include "tasks/timing.hpp"

namespace magva::bench {
namespace {

constexpr double kBudget = 2;  // seconds for a timing

/// Counts messages and bytes, and takes the time that a network with this latency and bandwidth would: log2
/// of the ranks messages one after another for a broadcast; for a sum, as many and the values of all ranks
/// over the leader's line.
class SlowedCommunicator final : public Communicator {
 public:
  SlowedCommunicator(Communicator& inner, double latency, double bandwidth)
      : inner_(inner), latency_(latency), bandwidth_(bandwidth) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void broadcast(void* data, std::size_t bytes) override {
    inner_.broadcast(data, bytes);
    const auto rounds = std::ceil(std::log2(static_cast<double>(size())));
    take_time(static_cast<double>(bytes),
              rounds * latency_ + rounds * static_cast<double>(bytes) / bandwidth_);
  }
  void sum_to_leader(double* values, Index count) override {
    inner_.sum_to_leader(values, count);
    const auto rounds = std::ceil(std::log2(static_cast<double>(size())));
    const double bytes = 8. * static_cast<double>(count);
    take_time(bytes, rounds * latency_ + (size() - 1) * bytes / bandwidth_);
  }

  std::int64_t messages = 0;
  double bytes = 0, seconds = 0;

 private:
  void take_time(double sent, double time) {
    ++messages;
    bytes += sent;
    if (latency_ == 0 || rank() != 0) return;  // the others wait for the leader
    seconds += time;
    const double end = seconds_now() + time;
    while (seconds_now() < end) {
    }
  }

  Communicator& inner_;
  double latency_, bandwidth_;
};

Regression rows_of_rank(Index rows, Index cols, int rank) {
  std::srand(static_cast<unsigned>(rank) + 1);
  RowMatrix x = RowMatrix::Random(rows, cols);
  x.col(0).setOnes();
  const Vector y = (Vector::Random(rows).array() > 0).cast<double>();
  return logistic_regression({Design::own(std::move(x)), y, Vector(), {}});
}

void report(const Model& model, SlowedCommunicator& ranks, Index draws, Index rows, Index cols) {
  Workers workers(threads_of_rank());
  const auto scratch = model.make_scratch(draws);
  Evaluation evaluation{*scratch, workers};
  const Matrix theta = .1 * Matrix::Random(model.dimension(), draws);
  Vector log_density(draws);
  Matrix gradient(model.dimension(), draws);
  const auto pass = [&] { model.evaluate(theta, log_density, gradient, evaluation); };
  pass();
  ranks.messages = 0;
  ranks.bytes = ranks.seconds = 0;
  const double begun = seconds_now();
  Index passes = 0;
  for (; seconds_now() < begun + kBudget; ++passes) pass();
  const double each = (seconds_now() - begun) / static_cast<double>(passes);
  const auto count = static_cast<double>(passes);
  fmt::print(
      "{} ranks of {} threads, {} x {} rows, {} draws: {:.3f} ms a pass; {:.0f} messages of {:.0f} bytes in "
      "all, "
      "{:.3f} ms of added network ({:.1f} %)\n",
      ranks.size(), threads_of_rank(), rows, cols, draws, 1e3 * each,
      static_cast<double>(ranks.messages) / count, ranks.bytes / count, 1e3 * ranks.seconds / count,
      100 * ranks.seconds / count / each);
}

int run(int count, char** words) {
  const auto number = [&](int at, double otherwise) { return count > at ? std::atof(words[at]) : otherwise; };
  const auto rows = static_cast<Index>(number(1, 100'000));
  const auto cols = static_cast<Index>(number(2, 100));
  const auto draws = static_cast<Index>(number(3, 1));
  const auto world = mpi_communicator();
  SlowedCommunicator ranks(*world, 1e-6 * number(4, 0), 1e9 / 8 * number(5, 10));
  const Range own = piece(rows, ranks.size(), ranks.rank());
  const auto model = distribute(rows_of_rank(own.size(), cols, ranks.rank()), ranks);
  if (model) report(*model, ranks, draws, rows, cols);
  return 0;
}

}  // namespace
}  // namespace magva::bench

int main(int count, char** words) { return magva::bench::run(count, words); }
