#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <thread>

#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva_mpi.h"
#include "scale/plugin.hpp"

namespace magva {

namespace {

/// The first of these variables that is set to a number; Open MPI, MPICH and Slurm have their own.
std::optional<int> from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') return std::atoi(text);
  return std::nullopt;
}

class MpiCommunicator final : public Communicator {
 public:
  /// Without a handle, of all ranks of the job.
  explicit MpiCommunicator(std::optional<int> fortran_handle)
      : plugin_("libmagva_mpi.so", "MAGVA_MPI_PLUGIN",
                "magva was installed without its MPI plug-in libmagva_mpi.so, or cannot load it: install "
                "Open MPI "
                "and build it (docs/scale.md), or start a single process"),
        finish_(plugin_.find<decltype(magva_mpi_finish)>("magva_mpi_finish")),
        abort_(plugin_.find<decltype(magva_mpi_abort)>("magva_mpi_abort")),
        broadcast_(plugin_.find<decltype(magva_mpi_broadcast)>("magva_mpi_broadcast")),
        broadcast_from_(plugin_.find<decltype(magva_mpi_broadcast_from)>("magva_mpi_broadcast_from")),
        sum_(plugin_.find<decltype(magva_mpi_sum_to_first)>("magva_mpi_sum_to_first")),
        combine_(plugin_.find<decltype(magva_mpi_combine_at_first)>("magva_mpi_combine_at_first")) {
    if (fortran_handle)
      check(plugin_.find<decltype(magva_mpi_join)>("magva_mpi_join")(*fortran_handle, &rank_, &size_));
    else
      check(plugin_.find<decltype(magva_mpi_start)>("magva_mpi_start")(&rank_, &size_));
  }
  /// A rank that leaves with an error would let the others wait for ever.
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > 0 && rank_ != 0)
      abort_();
    else
      finish_();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void broadcast(void* data, std::size_t bytes) override {
    check(broadcast_(data, static_cast<std::int64_t>(bytes)));
  }
  void broadcast_from(int root, void* data, std::size_t bytes) override {
    check(broadcast_from_(root, data, static_cast<std::int64_t>(bytes)));
  }
  void sum_to_leader(double* values, Index count) override { check(sum_(values, count)); }
  void combine_at_leader(double* values, Index parts, Index count, const AddUp& add_up) override {
    const auto call = [](const void* context, double* all, std::int64_t some) {
      (*static_cast<const AddUp*>(context))(all, some);
    };
    check(combine_(values, parts, count, call, &add_up));
  }

 private:
  static void check(const char* failed) {
    if (failed != nullptr) throw IoError(failed);
  }

  detail::Plugin plugin_;
  decltype(magva_mpi_finish)* finish_;
  decltype(magva_mpi_abort)* abort_;
  decltype(magva_mpi_broadcast)* broadcast_;
  decltype(magva_mpi_broadcast_from)* broadcast_from_;
  decltype(magva_mpi_sum_to_first)* sum_;
  decltype(magva_mpi_combine_at_first)* combine_;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 1;
};

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void broadcast(void*, std::size_t) override {}
  void broadcast_from(int, void*, std::size_t) override {}
  void sum_to_leader(double*, Index) override {}
  void combine_at_leader(double* values, Index, Index count, const AddUp& add_up) override {
    add_up(values, count);
  }
};

}  // namespace

bool is_only_rank() { return from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) == 1; }

bool is_rank_of_job() {
  const auto size = from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (size) return *size > 1;
  // srun says how many tasks it starts; with PMIx or PMI-2 each is told its rank.
  const auto tasks = from_environment({"SLURM_STEP_NUM_TASKS"});
  return tasks && *tasks > 1 && from_environment({"PMIX_RANK", "PMI_RANK"}).has_value();
}

int rank_in_job() {
  return is_rank_of_job() ? from_environment({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}).value_or(0)
                          : 0;
}

int local_rank() {
  return from_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}).value_or(0);
}

// Launchers usually bind a rank to its cores; if not, the machine's are shared.
int threads_of_rank() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  const int own =
      ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : static_cast<int>(online);
  if (own < online) return std::max(1, own);
  const int beside =
      from_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"})
          .value_or(1);
  return std::max(1, own / std::max(1, beside));
}

std::unique_ptr<Communicator> single_communicator() { return std::make_unique<SingleCommunicator>(); }
std::unique_ptr<Communicator> mpi_communicator() { return std::make_unique<MpiCommunicator>(std::nullopt); }
std::unique_ptr<Communicator> mpi_communicator(int fortran_handle) {
  return std::make_unique<MpiCommunicator>(fortran_handle);
}

}  // namespace magva
