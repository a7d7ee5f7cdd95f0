// Normal observations in many groups whose means are exchangeable, not centred.
data {
  int<lower=1> N;
  int<lower=1> groups;
  array[N] int<lower=1, upper=groups> group;
  vector[N] y;
}
parameters {
  real mu;
  real<lower=0> tau;
  real<lower=0> sigma;
  vector[groups] z;
}
model {
  mu ~ normal(0, 10);
  tau ~ normal(0, 5);
  sigma ~ normal(0, 5);
  z ~ std_normal();
  y ~ normal(mu + tau * z[group], sigma);
}
generated quantities {
  vector[groups] level = mu + tau * z;
}
