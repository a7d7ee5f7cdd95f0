#include "table/table_ranks.hpp"

#include <algorithm>
#include <numeric>

#include "magva/error.hpp"

namespace magva::table {

namespace {

/// An exception as it goes from one rank to another: of the kinds that the program has exit codes for.
struct Failure {
  enum class Kind { usage, data, io, other };
  Kind kind = Kind::other;
  std::string sentence;

  template <class Archive>
  void transfer(Archive& archive) {
    archive(kind, sentence);
  }
};

Failure describe(const std::exception_ptr& failed) {
  try {
    std::rethrow_exception(failed);
  } catch (const UsageError& error) {
    return {Failure::Kind::usage, error.what()};
  } catch (const DataError& error) {
    return {Failure::Kind::data, error.what()};
  } catch (const IoError& error) {
    return {Failure::Kind::io, error.what()};
  } catch (const std::exception& error) {
    return {Failure::Kind::other, error.what()};
  } catch (...) {
    return {Failure::Kind::other, "an unknown fault"};
  }
}

[[noreturn]] void raise(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::usage:
      throw UsageError(failure.sentence);
    case Failure::Kind::data:
      throw DataError(failure.sentence);
    case Failure::Kind::io:
      throw IoError(failure.sentence);
    case Failure::Kind::other:
      break;
  }
  throw Error(failure.sentence);
}

}  // namespace

std::vector<double> TableRanks::numbers(double own) const {
  std::vector<double> all(static_cast<std::size_t>(size()), 0);
  all[static_cast<std::size_t>(rank())] = own;
  if (alone()) return all;
  ranks_->sum_to_leader(all.data(), size());
  ranks_->broadcast(all.data(), all.size() * sizeof(double));
  return all;
}

void TableRanks::throw_if_any(const std::exception_ptr& failed) const {
  const std::vector<double> failures = numbers(failed ? 1 : 0);
  const auto first = std::find(failures.begin(), failures.end(), 1);
  if (first == failures.end()) return;
  const auto root = static_cast<int>(first - failures.begin());
  ByteWriter write;
  if (root == rank()) write(describe(failed));
  broadcast(root, write.bytes());
  if (root == rank()) std::rethrow_exception(failed);
  Failure failure;
  ByteReader read(write.bytes());
  read(failure);
  raise(failure);
}

bool TableRanks::all(bool here) const {
  const std::vector<double> answers = numbers(here ? 1 : 0);
  return std::all_of(answers.begin(), answers.end(), [](double answer) { return answer == 1; });
}

std::vector<Index> TableRanks::row_starts(Index own) const {
  std::vector<Index> starts{0};
  for (const double count : numbers(static_cast<double>(own)))
    starts.push_back(starts.back() + static_cast<Index>(count));
  return starts;
}

Vector TableRanks::gather(Vector own) const {
  if (alone()) return own;
  const std::vector<Index> starts = row_starts(own.size());
  Vector all(starts.back());
  all.segment(starts[static_cast<std::size_t>(rank())], own.size()) = own;
  for (int root = 0; root < size(); ++root) {
    const Index begin = starts[static_cast<std::size_t>(root)];
    const Index count = starts[static_cast<std::size_t>(root) + 1] - begin;
    broadcast(root, all.data() + begin, static_cast<std::size_t>(count) * sizeof(double));
  }
  return all;
}

void TableRanks::broadcast(int root, std::string& bytes) const {
  std::uint64_t count = bytes.size();
  broadcast(root, &count, sizeof count);
  bytes.resize(count);
  broadcast(root, bytes.data(), count);
}

void TableRanks::broadcast(int root, void* data, std::size_t bytes) const {
  if (!alone() && bytes > 0) ranks_->broadcast_from(root, data, bytes);
}

}  // namespace magva::table
