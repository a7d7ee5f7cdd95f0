#!/usr/bin/env python3
"""NumPyro's step on the same shapes: AutoLowRankMultivariateNormal of rank 10, Adam, float32, on the GPU that JAX finds.

usage: numpyro_steps.py [ROWS COLS]
All steps of a timing run in one compiled loop; compilation is not counted.
"""
import math
import sys
import time

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoLowRankMultivariateNormal


def logistic(x, y):
    with numpyro.plate("columns", x.shape[1]):
        beta = numpyro.sample("beta", dist.Normal(0.0, math.sqrt(10.0)))
    numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y)


def step_seconds(rows, cols, draws, steps=50):
    key = jax.random.PRNGKey(0)
    x = jax.random.normal(key, (rows, cols), jnp.float32)
    y = jax.random.bernoulli(key, 0.5, (rows,)).astype(jnp.float32)
    svi = SVI(logistic, AutoLowRankMultivariateNormal(logistic, rank=10), numpyro.optim.Adam(0.001), Trace_ELBO(num_particles=draws))
    state = svi.init(key, x, y)
    loop = jax.jit(lambda s, x, y: jax.lax.fori_loop(0, steps, lambda _, t: svi.update(t, x, y)[0], s))
    jax.block_until_ready(loop(state, x, y))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(loop(state, x, y))
        best = min(best, (time.perf_counter() - start) / steps)
    return best


def main():
    rows, cols = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1_000_000, 1000)
    print(f"NumPyro {numpyro.__version__}, JAX {jax.__version__}, {jax.devices()[0]}")
    for n, draws in ((rows // 10, 1), (rows, 1), (rows, 8)):
        print(f"NumPyro, {n} x {cols} float32, {draws} draw(s): step {1e6 * step_seconds(n, cols, draws):.1f} us", flush=True)


main()
