/* The interface between the engine and its CUDA plug-in, libmagva_cuda.so, which is loaded at run time. Plain C: the two may come from
   different compilers.

   Functions that can fail return null, or a sentence that stays valid until the thread's next call. */
#ifndef MAGVA_CUDA_H
#define MAGVA_CUDA_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAGVA_CUDA_INTERFACE 3

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
/* Of int8: evaluated in double precision, or in single. */
enum { MAGVA_CUDA_FLOAT64 = 0, MAGVA_CUDA_FLOAT32 = 1, MAGVA_CUDA_SPARSE = 2, MAGVA_CUDA_INT8 = 3, MAGVA_CUDA_INT8_SINGLE = 4 };

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

/* The blocks of Algorithm 1's Gaussian beside the rows of a regression: mean, residual scales and factors, the memories of their rules,
   noise and draws stay on the device. What is given and what comes back are p x p matrices and a few numbers of each draw, all
   column-major. The caller does the algebra of p x p matrices between the passes. */
typedef struct magva_cuda_family magva_cuda_family;

#define MAGVA_CUDA_MOST_FACTORS 32
#define MAGVA_CUDA_MOST_FAMILY_DRAWS 32

enum {
  MAGVA_CUDA_BASIC = 0,
  MAGVA_CUDA_MOMENTUM = 1,
  MAGVA_CUDA_RMSPROP = 2,  /* as printed */
  MAGVA_CUDA_ADADELTA = 3, /* as printed */
  MAGVA_CUDA_RMSPROP_STABLE = 4,
  MAGVA_CUDA_ADADELTA_STABLE = 5,
  MAGVA_CUDA_ADAM = 6
};
/* `floor`: the printed rules' denominators are at least floor |gradient|. */
typedef struct {
  int32_t kind;
  double step, decay, epsilon, momentum, floor;
} magva_cuda_rule;

enum { MAGVA_CUDA_FLAT = 0, MAGVA_CUDA_LOWER_TRAPEZOIDAL = 1, MAGVA_CUDA_CURVED = 2 };

typedef struct {
  int64_t dimension; /* coefficients, then the likelihood's own coordinates */
  int32_t rank, draws;
  int32_t antithetic, log_scales, geometry, averages;
  uint64_t seed;
  magva_cuda_rule mean_rule, residual_rule, factor_rule;
  const double* prior_location; /* of each coefficient */
  const double* prior_scale;
  const double* prior_degrees; /* of freedom, infinite: normal; null: all normal */
  const double* whitening_centre; /* theta = centre + scale o phi; null: phi itself */
  const double* whitening_scale;
} magva_cuda_family_options;

enum { MAGVA_CUDA_MEAN = 0, MAGVA_CUDA_RESIDUAL = 1, MAGVA_CUDA_FACTORS = 2 };
/* The memories in the order of the rules' states, without those that have other rows. */
enum {
  MAGVA_CUDA_VALUE = 0,
  MAGVA_CUDA_MEMORY = 1, /* and 2, 3 */
  MAGVA_CUDA_GOOD = 4,
  MAGVA_CUDA_AVERAGE = 5
};

/* Passes over the rows: what each is given -> what it sums. S are the p x p matrices that project, V - B S. */
enum {
  MAGVA_CUDA_PASS_DRAW = 0,        /* d1 o z (p x draws) -> B'WB, sum of log |d2|, 0 if the mean is finite */
  MAGVA_CUDA_PASS_PATH_INNER = 1,  /* -> B' (epsilon / d2) (p x draws) */
  MAGVA_CUDA_PASS_PATH_ADD = 2,    /* T (p x draws); adds epsilon / d2 + W B T to the gradients */
  MAGVA_CUDA_PASS_GRADIENT = 3,    /* scale, path (0 or 1), weights, weighted noise (p x draws), K, powers (6) -> B'g (p x draws), 0 if all
                                      steps are finite, then of curved factors: of a rule with one stage as PASS_DIRECT, else B'memory, B'G */
  MAGVA_CUDA_PASS_DIRECT = 4,      /* S of memory, S of the gradient, powers (2) -> B'B, B'V, V'V, previous' steps */
  MAGVA_CUDA_PASS_COMBINE = 5,     /* S of V, S of steps, L, R: settles memories, B <- B L + V R */
  MAGVA_CUDA_PASS_ADD_TANGENT = 6, /* S of V, S of steps, scale: settles memories, B <- B + scale (V - B S) -> 0 if all is finite */
  MAGVA_CUDA_PASS_GRAM = 7,        /* -> B'B, largest |B| */
  MAGVA_CUDA_PASS_MULTIPLY = 8,    /* M: B <- B M */
  MAGVA_CUDA_PASS_REMEMBER = 9,    /* previous <- B */
  MAGVA_CUDA_PASS_DROP = 10,       /* clears what is not finite in the memories */
  MAGVA_CUDA_PASS_AVERAGE = 11,    /* share: average += share (value - average) */
  MAGVA_CUDA_PASS_KEEP_GOOD = 12   /* good <- value */
};

/* `rows` must outlive the family. */
const char* magva_cuda_family_create(magva_cuda_rows* rows, const magva_cuda_family_options* options, magva_cuda_family** out);
void magva_cuda_family_destroy(magva_cuda_family* family);
/* A part of a block, dimension x 1 or dimension x rank, to the device or back. */
const char* magva_cuda_family_write(magva_cuda_family* family, int32_t block, int32_t part, const double* from);
const char* magva_cuda_family_read(magva_cuda_family* family, int32_t block, int32_t part, double* to);
const char* magva_cuda_family_pass(magva_cuda_family* family, int32_t pass, int64_t iteration, const double* given, double* sums);
/* The own coordinates of the draws. */
const char* magva_cuda_family_own(magva_cuda_family* family, double* own);
/* Log densities of the draws, without constants and priors of own coordinates, and their gradients, which stay on the device; own_slopes
   (of the own coordinates' priors) are added to these. finite: 0 where a gradient is finite. */
const char* magva_cuda_family_evaluate(magva_cuda_family* family, const double* own_values, const double* own_slopes, double* log_density,
                                       double* finite);

#ifdef __cplusplus
}
#endif
#endif
