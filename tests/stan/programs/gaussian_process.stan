// Regression on a Gaussian process with a squared exponential kernel; the function itself is integrated out.
data {
  int<lower=1> N;
  array[N] real x;
  vector[N] y;
}
parameters {
  real<lower=0> length;
  real<lower=0> alpha;
  real<lower=0> sigma;
}
model {
  matrix[N, N] K = add_diag(gp_exp_quad_cov(x, alpha, length), square(sigma) + 1e-9);
  length ~ inv_gamma(5, 5);
  alpha ~ normal(0, 2);
  sigma ~ normal(0, 1);
  y ~ multi_normal_cholesky(rep_vector(0, N), cholesky_decompose(K));
}
