#pragma once
// Regressions whose rows are spread over the ranks of a job, such as one that mpirun starts.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "magva/device.hpp"
#include "magva/regression.hpp"

namespace magva {

/// The ranks of a job: rank 0 leads, the others do their part of its sums. Both functions are called on all
/// ranks, in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// From rank 0 to all.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  /// From any rank to all. To be overridden where that takes less than by way of rank 0.
  virtual void broadcast_from(int root, void* data, std::size_t bytes);
  /// Sums of all ranks' values, to rank 0. They are added in the order of the ranks: the same bits every
  /// time.
  virtual void sum_to_leader(double* values, Index count) = 0;

  /// Adds up the parts of all ranks, `parts` each of `count` values that begin at
  /// all + (rank * parts + part) * count, and leaves the result in the first.
  using AddUp = std::function<void(double* all, Index count)>;
  /// Each rank's `values` are its parts, one after another; on rank 0 the first becomes what `add_up` makes
  /// of all of them. It may be called with some of the values of all parts at a time. To be overridden where
  /// that takes less than a sum over zeros.
  virtual void combine_at_leader(double* values, Index parts, Index count, const AddUp& add_up);
};

/// Whether a launcher, such as mpirun or srun, started this process as one of several.
bool is_rank_of_job();
/// Whether it started this process as the only one.
bool is_only_rank();
/// This process's rank in the job, as the launcher says; 0 if it does not.
int rank_in_job();
/// The place of this process among those of the job on this machine, as the launcher says; 0 if it does not.
int local_rank();
/// Threads that this rank may use without being in the way of others.
int threads_of_rank();

/// A process alone, as if it were the only rank of a job.
std::unique_ptr<Communicator> single_communicator();
/// The ranks of an MPI job; ends the job where a rank fails. Throws UsageError if there is no MPI plug-in
/// (libmagva_mpi.so, beside the program, where the loader looks or where the environment variable
/// MAGVA_MPI_PLUGIN says).
std::unique_ptr<Communicator> mpi_communicator();
/// The ranks of a communicator of a program that uses MPI itself, by its Fortran handle (MPI_Comm_c2f,
/// mpi4py's py2f). It is duplicated: messages of the program's own do not get mixed up with these. Called on
/// all of its ranks; one such Communicator at a time.
std::unique_ptr<Communicator> mpi_communicator(int fortran_handle);

/// The rows that one of `size` ranks takes of so many: whole sections, whose sums do not depend on the number
/// of ranks. Throws UsageError if there are not enough.
Range rows_of_rank(Index rows, int rank, int size);

/// The rows of a regression that one of `size` ranks takes. They stay where they are: a design file is mapped
/// and read only as far as it is used.
Regression share_of(const Regression& regression, int rank, int size);

struct DistributeOptions {
  std::optional<Vector> start;          ///< of the model; unset: the one that suits rank 0's rows
  std::optional<DeviceOptions> device;  ///< a GPU for this rank's rows
  int threads = 0;                      ///< of the ranks other than the leader; 0: threads_of_rank()
  /// The regression on the rows of all ranks, if the leader has them: single rows are looked at there.
  std::shared_ptr<const Regression> whole = nullptr;
};

/// Called on all ranks, each with its rows. On rank 0 returns the model on the rows of all, to be fitted as
/// any other. On the other ranks works for that model until it is destroyed, and then returns null.
///
/// A batch of draws takes one broadcast of theta and one sum of log densities and gradients; an expectation,
/// one of the Gaussian and one of the sums. If the ranks have the rows of rows_of_rank() and no device, draws
/// are evaluated to the same bits for any number of ranks, one among them.
std::shared_ptr<const Model> distribute(const Regression& rows, Communicator& ranks,
                                        const DistributeOptions& options = {});

}  // namespace magva
