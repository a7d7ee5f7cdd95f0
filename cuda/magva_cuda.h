/* The interface between the engine and its CUDA plug-in, libmagva_cuda.so, which is loaded at run time. Plain C: the two may come from
   different compilers.

   Functions that can fail return null, or a sentence that stays valid until the thread's next call. */
#ifndef MAGVA_CUDA_H
#define MAGVA_CUDA_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAGVA_CUDA_INTERFACE 2

/* The rows of a regression on a device. */
typedef struct magva_cuda_rows magva_cuda_rows;

/* The first three have kernels of their own; see MAGVA_CUDA_OWN_VALUES for the parameters of each. */
enum {
  MAGVA_CUDA_BERNOULLI_LOGIT = 0,
  MAGVA_CUDA_POISSON_LOG = 1,
  MAGVA_CUDA_GAUSSIAN = 2,
  MAGVA_CUDA_BERNOULLI_PROBIT = 3,
  MAGVA_CUDA_BERNOULLI_CLOGLOG = 4,
  MAGVA_CUDA_NEGATIVE_BINOMIAL = 5,
  MAGVA_CUDA_GAMMA = 6,
  MAGVA_CUDA_WEIBULL = 7, /* exponential with the shape 1; no expectations but for that */
  MAGVA_CUDA_STUDENT_T = 8 /* no expectations */
};
enum { MAGVA_CUDA_FLOAT64 = 0, MAGVA_CUDA_FLOAT32 = 1, MAGVA_CUDA_SPARSE = 2 };

/* Quadrature rules for E f(z), z ~ N(0, 1), from narrow to wide: rule r is sum_k weight_k (f(node_k) + f(-node_k)) over k from start[r] to
   start[r + 1], and accurate for f(x) = g(sd x), with g's poles at least pi from the real line, up to sd = largest_sd[r]. */
typedef struct {
  int64_t count;
  const double* largest_sd;
  const int64_t* start; /* count + 1 of them */
  const double* node;
  const double* weight;
} magva_cuda_rules;

/* What a likelihood needs of its own parameters:
   gaussian           1 / sigma^2, log sigma
   negative binomial  log shape, shape
   gamma              log shape, shape, log gamma(shape), digamma(shape), trigamma(shape)
   weibull            log shape, shape
   student t          log sigma, nu, nu sigma^2, log normaliser (a function of nu), its derivative by log nu
   others             nothing */
#define MAGVA_CUDA_OWN_VALUES 5

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
  const double* status;  /* 1 if the event was seen, 0 if right-censored; null: all seen */
  magva_cuda_rules rules;
  int64_t memory_limit;  /* bytes of the device's memory for the design; 0: all that is free */
} magva_cuda_problem;

/* Draws: one column each, and MAGVA_CUDA_OWN_VALUES of each. They are evaluated on `row_count` of the rows, or on all. */
typedef struct {
  const double* coefficients;
  int64_t coefficient_stride;
  const double* own_values;
  int64_t draws;
  const int64_t* rows; /* null: all; of sparse designs no others can be had */
  int64_t row_count;
} magva_cuda_draws;

/* Sums over the rows for each draw, without constants: log likelihood, its derivatives by the coefficients, and by the likelihood's own
   two coordinates (zeros where it has fewer), which are the logarithms of its parameters. */
typedef struct {
  double* log_likelihood;
  double* gradient;
  int64_t gradient_stride;
  double* by_own;
} magva_cuda_sums;

/* A value of a likelihood's own coordinate under its marginal: (value - mean) / variance, the node's weight, and what MAGVA_CUDA_OWN_VALUES
   says. */
typedef struct {
  double shift, weight;
  double values[MAGVA_CUDA_OWN_VALUES];
} magva_cuda_own_node;

/* Coefficients ~ N(mean, factors factors' + diag(square)). */
typedef struct {
  const double* mean;
  const double* factors;
  int64_t factor_stride, factor_count;
  const double* square;        /* null: zeros */
  const double* covariance;    /* with the own coordinate; null: it is known, or there is none */
  double own_mean, own_variance; /* of the own coordinate */
  const magva_cuda_own_node* own_nodes; /* read for likelihoods after the first three: a rule for the own coordinate, at least one node */
  int64_t own_node_count;
} magva_cuda_gaussian;

/* Weighted sums over the rows of the expected log likelihood, in double precision whatever the design is stored as: value, derivative by
   the mean of the own coordinate and minus twice that by its variance; then by the coefficients' mean. Curvature either as products with
   the factors and the diagonal, or as the whole matrix of which the lower triangle is filled; unused pointers are null. */
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
