/* The interface between the engine and its CUDA plug-in, libmagva_cuda.so, which is loaded at run time. Plain C: the two may come from
   different compilers.

   Functions that can fail return null, or a sentence that stays valid until the thread's next call. */
#ifndef MAGVA_CUDA_H
#define MAGVA_CUDA_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAGVA_CUDA_INTERFACE 1

/* The rows of a regression on a device. */
typedef struct magva_cuda_rows magva_cuda_rows;

enum { MAGVA_CUDA_BERNOULLI_LOGIT = 0, MAGVA_CUDA_POISSON_LOG = 1, MAGVA_CUDA_GAUSSIAN = 2 };
enum { MAGVA_CUDA_FLOAT64 = 0, MAGVA_CUDA_FLOAT32 = 1, MAGVA_CUDA_SPARSE = 2 };

/* All arrays are the caller's and may be freed after magva_cuda_create, but for those of a design that does not fit the device: it stays
   where it is and is copied over in every pass. */
typedef struct {
  int32_t likelihood;
  int32_t storage;
  int32_t device;
  int64_t rows, cols;
  const void* data;      /* dense, row after row */
  int64_t stride;        /* entries from a row to the next */
  const int64_t* starts; /* sparse: compressed rows */
  const int32_t* columns;
  const double* values;
  const double* response;
  const double* weight;  /* null: 1 each */
  const double* offset;  /* added to the linear predictors; null: none */
  int64_t memory_limit;  /* bytes of the device's memory for the design; 0: all that is free */
} magva_cuda_problem;

/* Draws: one column each. `precision` and `log_scale` of a Gaussian likelihood, one for each draw, are read for no other. */
typedef struct {
  const double* coefficients;
  int64_t coefficient_stride;
  const double* precision;
  const double* log_scale;
  int64_t draws;
} magva_cuda_draws;

/* Sums over the rows for each draw, without constants: log likelihood, its derivatives by the coefficients, and by log sigma. */
typedef struct {
  double* log_likelihood;
  double* gradient;
  int64_t gradient_stride;
  double* by_log_scale;
} magva_cuda_sums;

/* Coefficients ~ N(mean, factors factors' + diag(square)). */
typedef struct {
  const double* mean;
  const double* factors;
  int64_t factor_stride, factor_count;
  const double* square;        /* null: zeros */
  const double* covariance;    /* with log sigma; null: sigma is known, or there is none */
  double own_mean, own_variance; /* of log sigma */
} magva_cuda_gaussian;

/* Weighted sums over the rows of the expected log likelihood, in double precision whatever the design is stored as: value, derivative by
   the mean of log sigma and minus twice that by its variance; then by the coefficients' mean. Curvature either as products with the
   factors and the diagonal, or as the whole matrix of which the lower triangle is filled; unused pointers are null. */
typedef struct {
  double value, slope, curvature;
  double* gradient;
  double* cross;
  double* times_factors;
  int64_t times_factors_stride;
  double* diagonal;
  double* matrix;
  int64_t matrix_stride;
} magva_cuda_expectations;

int32_t magva_cuda_interface(void);
const char* magva_cuda_create(const magva_cuda_problem* problem, magva_cuda_rows** out);
void magva_cuda_destroy(magva_cuda_rows* rows);
/* The device and how the design is kept there, in a phrase; valid as long as the rows. */
const char* magva_cuda_describe(const magva_cuda_rows* rows);
const char* magva_cuda_evaluate(magva_cuda_rows* rows, const magva_cuda_draws* draws, const magva_cuda_sums* out);
const char* magva_cuda_expect(magva_cuda_rows* rows, const magva_cuda_gaussian* q, magva_cuda_expectations* out);

#ifdef __cplusplus
}
#endif
#endif
