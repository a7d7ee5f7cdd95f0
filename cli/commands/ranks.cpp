#include "commands/ranks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/sources.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "table/shared_table.hpp"

namespace magva::commands {

namespace {

using options::Values;
using source::ModelSource;

/// What all ranks are to fit, as text; nothing if it never came to that.
void broadcast(Communicator& ranks, std::string& text) {
  std::uint64_t size = text.size();
  ranks.broadcast(&size, sizeof size);
  text.resize(size);
  ranks.broadcast(text.data(), text.size());
}

std::string task_text(const Values& values) {
  nlohmann::json options = values.to_json();
  for (const char* leaders_own : {"out", "resume", "config", "quiet"}) options.erase(leaders_own);
  return nlohmann::json{{"arguments", values.arguments}, {"options", std::move(options)}}.dump();
}

Values task_values(const std::string& text) {
  const auto task = nlohmann::json::parse(text);
  Values values(*program().find("fit"));
  values.arguments = task.at("arguments").get<std::vector<std::string>>();
  values.fill_in(task.at("options"), "the leading rank");
  return values;
}

std::shared_ptr<const Regression> regression_of(const ModelSource& source, const std::string& what) {
  auto regression = std::dynamic_pointer_cast<const Regression>(source.model);
  if (!regression)
    throw UsageError(
        fmt::format("{} is for regressions with one linear predictor: fit this model without it", what));
  return regression;
}

/// Puts minibatches of the source's model, which is elsewhere now, in place of those of this machine's.
void move_minibatch(ModelSource& source) {
  if (source.minibatch)
    source.minibatch = std::make_shared<const Minibatch>(source.model, source.minibatch->options());
}

/// A job of one rank sums over rows as one of several does, so that either goes on with what the other began.
void add_as_ranks_do(ModelSource& source) {
  static const std::unique_ptr<Communicator> alone = single_communicator();
  const auto regression = std::dynamic_pointer_cast<const Regression>(source.model);
  if (!regression) return;
  DistributeOptions options;
  options.start = regression->start();
  options.whole = regression;
  source.model = distribute(*regression, *alone, options);
  move_minibatch(source);
}

/// A sparse design is kept on a GPU by columns, too, from which no rows can be taken.
void check_batch(const ModelSource& source, const Regression& regression) {
  if (source.minibatch && std::holds_alternative<SparseRows>(regression.design().storage()))
    throw UsageError(
        "--batch with --device cuda is for dense designs: leave one of them out for this sparse one");
}

/// How many ranks failed, and whether the leader did.
struct Failures {
  double count = 0;
  double of_leader = 0;
};

Failures count_failures(Communicator& ranks, bool failed) {
  Failures failures{failed ? 1. : 0., failed ? 1. : 0.};
  ranks.sum_to_leader(&failures.count, 1);
  ranks.broadcast(&failures, sizeof failures);
  return failures;
}

/// Calls `prepare`, which may throw, on all ranks. False if another rank failed, or if the leader did, whose
/// sentence is enough; throws this rank's own failure.
template <class Prepare>
bool prepared_by_all(Communicator& ranks, Prepare&& prepare) {
  std::exception_ptr failed;
  try {
    prepare();
  } catch (...) {
    failed = std::current_exception();
  }
  const Failures failures = count_failures(ranks, failed != nullptr);
  if (failed && (ranks.rank() == 0 || failures.of_leader == 0)) std::rethrow_exception(failed);
  return failures.count == 0;
}

}  // namespace

void place_on_device(ModelSource& source, const Values& values) {
  if (values.text("device") != "cuda") return;
  const auto regression = regression_of(source, "--device cuda");
  check_batch(source, *regression);
  DeviceModel placed = on_device(*regression);
  source.model = std::move(placed.model);
  move_minibatch(source);
  source.notes.push_back("on " + placed.description);
}

Ranks::Ranks() {
  if (is_rank_of_job()) communicator_ = mpi_communicator();
}

Ranks::Ranks(std::unique_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)), waiting_(false) {}

Ranks::~Ranks() {
  if (!communicator_ || !leads() || !waiting_) return;
  std::string nothing;
  broadcast(*communicator_, nothing);
}

ModelSource Ranks::make_share(const Values& values) {
  return share(values, [&] {
    const auto read = [&](const std::string& path, const table::ReadOptions& options) {
      return table::read_shared(path, options, table::TableRanks(*communicator_));
    };
    return commands::make_source(values, {communicator_->rank(), communicator_->size()}, read);
  });
}

ModelSource Ranks::share(const Values& values, const std::function<ModelSource()>& make) {
  ModelSource source;
  std::optional<Regression> own;
  DistributeOptions options;
  const int size = communicator_->size();
  const bool ready = prepared_by_all(*communicator_, [&] {
    source = make();
    const auto whole = regression_of(source, "mpirun");
    own.emplace(share_of(*whole, communicator_->rank(), size));
    options.start = whole->start();
    if (leads() && source.has_all_rows) options.whole = whole;
    options.threads = static_cast<int>(values.integer("threads"));
    if (values.text("device") != "cuda") return;
    check_batch(source, *whole);
    options.device = DeviceOptions{.device = local_rank()};
  });
  if (!leads()) source = {};  // its own rows are what it needs from here on
  if (!ready && leads()) throw IoError("another rank could not read its rows: it has said why");
  source.model = ready ? distribute(*own, *communicator_, options) : nullptr;
  if (!source.model) return source;
  move_minibatch(source);
  source.notes.push_back(
      fmt::format("rows are spread over {} ranks{}", size, options.device ? ", a GPU each" : ""));
  return source;
}

ModelSource Ranks::make_source(const Values& values) {
  if (communicator_) {
    waiting_ = false;
    std::string task = task_text(values);
    broadcast(*communicator_, task);
    return make_share(values);
  }
  ModelSource source = commands::make_source(values);
  if (is_only_rank() && values.text("device") != "cuda") add_as_ranks_do(source);
  place_on_device(source, values);
  return source;
}

int Ranks::serve() {
  std::string task;
  broadcast(*communicator_, task);
  if (task.empty()) return kOk;
  try {
    make_share(task_values(task));
  } catch (const std::exception& error) {
    fmt::print(stderr, "magva: rank {}: {}\n", communicator_->rank(), error.what());
    return kIo;
  }
  return kOk;
}

}  // namespace magva::commands
