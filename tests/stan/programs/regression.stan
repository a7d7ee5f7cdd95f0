// Linear regression with the conjugate prior, so that every posterior moment is known in closed form:
// beta | variance ~ N(0, scale^2 variance I), variance ~ inverse gamma(shape, rate).
data {
  int<lower=1> N;
  int<lower=1> K;
  matrix[N, K] X;
  vector[N] y;
  real<lower=0> scale;
  real<lower=0> shape;
  real<lower=0> rate;
}
parameters {
  vector[K] beta;
  real<lower=0> variance;
}
transformed parameters {
  real sigma = sqrt(variance);
}
model {
  variance ~ inv_gamma(shape, rate);
  beta ~ normal(0, scale * sigma);
  y ~ normal(X * beta, sigma);
}
