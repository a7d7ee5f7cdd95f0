/* The interface between the engine and its MPI plug-in, libmagva_mpi.so, which is loaded at run time. Plain C.

   Functions that can fail return null, or a sentence that stays valid until the next call. They are called by one thread, and between
   start or join and finish. */
#ifndef MAGVA_MPI_H
#define MAGVA_MPI_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the world of an MPI job that this starts, and magva_mpi_finish ends. */
const char* magva_mpi_start(int32_t* rank, int32_t* size);
/* Of a communicator of a program that has started MPI itself, by its Fortran handle; magva_mpi_finish leaves MPI to the program. */
const char* magva_mpi_join(int32_t fortran_handle, int32_t* rank, int32_t* size);
void magva_mpi_finish(void);
/* Ends all ranks of the job. */
void magva_mpi_abort(void);
/* From rank 0 to all. */
const char* magva_mpi_broadcast(void* data, int64_t bytes);
/* From any rank to all. */
const char* magva_mpi_broadcast_from(int32_t root, void* data, int64_t bytes);
/* Sums over the ranks, added in their order, to rank 0; on the others the values are lost. */
const char* magva_mpi_sum_to_first(double* values, int64_t count);
/* Adds up parts of all ranks, which begin at all + (rank * parts + part) * count, and leaves the result in the first. */
typedef void magva_mpi_add_up(const void* context, double* all, int64_t count);
/* Each rank's `parts`, of `count` values each and one after another; on rank 0 the first becomes what add_up makes of all of them, to
   which some of the values of all parts are given at a time. On the others the values are lost. */
const char* magva_mpi_combine_at_first(double* values, int64_t parts, int64_t count, magva_mpi_add_up* add_up, const void* context);

#ifdef __cplusplus
}
#endif
#endif
