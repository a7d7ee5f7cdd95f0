"""NumPyro's side of the tasks: the same models and priors, AutoLowRankMultivariateNormal in float64, Adam.

usage: numpyro_peer.py FOLDER
Reads what magva_tasks has written to FOLDER, stops where log density or gradient disagree, and writes
FOLDER/numpyro.json. All steps of a timing run in one compiled loop; compilation is not counted.
"""
import json
import math
import pathlib
import sys
import time

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoLowRankMultivariateNormal
from numpyro.infer.util import potential_energy

TOLERANCE = 1e-9
STEP_SIZES = (0.003, 0.01, 0.03)
HORIZONS = (10_000, 40_000)
CHUNK = 250


def logistic(x, y):
    with numpyro.plate("columns", x.shape[1]):
        beta = numpyro.sample("beta", dist.Normal(0.0, math.sqrt(10.0)))
    numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y)


def horseshoe(x, y):
    intercept = numpyro.sample("a_intercept", dist.Normal(0.0, math.sqrt(10.0)))
    tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
    with numpyro.plate("columns", x.shape[1] - 1):
        scale = numpyro.sample("lambda", dist.HalfCauchy(1.0))
        beta = numpyro.sample("beta", dist.Normal(0.0, scale * tau))
    numpyro.sample("y", dist.Bernoulli(logits=intercept + x[:, 1:] @ beta), obs=y)


def coordinates(theta, is_horseshoe):
    """Our vector as NumPyro's unconstrained parameters."""
    if not is_horseshoe:
        return {"beta": theta}
    q = (theta.shape[0] - 2) // 2
    return {"a_intercept": theta[0], "beta": theta[1 : q + 1], "lambda": theta[q + 1 : 2 * q + 1],
            "tau": theta[2 * q + 1]}


class Problem:
    def __init__(self, folder, name, facts):
        read = lambda part: np.load(folder / f"{name}-{part}.npy")
        self.name, self.rank, self.draws = name, facts["rank"], facts["draws"]
        self.horseshoe = facts["horseshoe"]
        self.model = horseshoe if self.horseshoe else logistic
        self.data = (jnp.asarray(read("x")), jnp.asarray(read("y")[0]))
        self.theta, self.log_density, self.gradient = read("theta"), read("log_density")[0], read("gradient")

    def check(self):
        """The largest relative difference of log density and gradient; leaves where it is too large."""
        energy = jax.jit(jax.value_and_grad(
            lambda theta: -potential_energy(self.model, self.data, {}, coordinates(theta, self.horseshoe))))
        worst = 0.0
        for s in range(self.theta.shape[1]):
            value, gradient = energy(jnp.asarray(self.theta[:, s]))
            worst = max(worst, abs(float(value) / self.log_density[s] - 1),
                        float(np.abs(np.asarray(gradient) - self.gradient[:, s]).max() / np.abs(gradient).max()))
        if not worst < TOLERANCE:
            sys.exit(f"numpyro_peer: {self.name}: NumPyro and magva differ by {worst}")
        return worst

    def svi(self, step_size):
        guide = AutoLowRankMultivariateNormal(self.model, rank=self.rank)
        return guide, SVI(self.model, guide, numpyro.optim.Adam(step_size), Trace_ELBO(num_particles=self.draws))


def compiled_steps(svi, data, count):
    return jax.jit(lambda state: jax.lax.fori_loop(0, count, lambda _, s: svi.update(s, *data)[0], state))


def seconds_a_step(problem, budget=4.0):
    _, svi = problem.svi(0.01)
    state = svi.init(jax.random.PRNGKey(0), *problem.data)
    steps = compiled_steps(svi, problem.data, 1)
    jax.block_until_ready(steps(state))
    start = time.perf_counter()
    jax.block_until_ready(steps(state))
    count = max(1, int(0.01 / max(1e-5, time.perf_counter() - start)))
    steps = compiled_steps(svi, problem.data, count)
    jax.block_until_ready(steps(state))
    best, end = math.inf, time.perf_counter() + budget
    while time.perf_counter() < end or best == math.inf:
        start = time.perf_counter()
        jax.block_until_ready(steps(state))
        best = min(best, (time.perf_counter() - start) / count)
    return best


def exact_elbo(x, y, mean, factors, residual_variance):
    """The ELBO of a Gaussian for logistic regression with a N(0, 10) prior: one integral for each row."""
    m = mean.size
    eta = x @ mean
    sd = np.sqrt(((x @ factors) ** 2).sum(1) + (x**2) @ residual_variance)
    z = np.linspace(-8.5, 8.5, 8 * int(8.5 * max(2.0, sd.max())) + 1)
    w = np.exp(-0.5 * z * z)
    likelihood = (y * eta).sum() - (np.logaddexp(0, eta[:, None] + sd[:, None] * z) @ w / w.sum()).sum()
    marginal = (factors**2).sum(1) + residual_variance
    prior = -0.5 * m * math.log(20 * math.pi) - (mean**2 + marginal).sum() / 20
    inner = np.eye(factors.shape[1]) + factors.T @ (factors / residual_variance[:, None])
    log_det = np.log(residual_variance).sum() + np.linalg.slogdet(inner)[1]
    return likelihood + prior + 0.5 * (log_det + m * (math.log(2 * math.pi) + 1))


def check_exact_elbo(folder, problem, runs):
    read = lambda part: np.load(folder / f"default-{part}.npy")
    x, y = map(np.asarray, problem.data)
    ours = exact_elbo(x, y, read("mean")[:, 0], read("factors"), read("residual_sd")[:, 0] ** 2)
    if not abs(ours - runs[-1]["elbo"]) < 1e-5:
        sys.exit(f"numpyro_peer: the exact ELBO is {ours} here and {runs[-1]['elbo']} in magva_tasks")


def elbo_over_time(problem, step_size, horizon):
    """(seconds, exact ELBO) as the fit goes on, for a constant step or a cosine decay over `horizon` steps."""
    schedule = step_size
    if horizon is not None:
        schedule = lambda t: step_size * 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(1.0, t / horizon)))
    guide, svi = problem.svi(schedule)
    state = svi.init(jax.random.PRNGKey(1), *problem.data)
    steps = compiled_steps(svi, problem.data, CHUNK)
    jax.block_until_ready(steps(state))
    x, y = map(np.asarray, problem.data)
    seconds, path = 0.0, []
    for chunk in range((horizon or max(HORIZONS)) // CHUNK):
        start = time.perf_counter()
        state = jax.block_until_ready(steps(state))
        seconds += time.perf_counter() - start
        if chunk % 4 != 3:
            continue
        q = guide.get_posterior(svi.get_params(state))
        path.append((seconds, float(exact_elbo(x, y, *map(np.asarray, (q.loc, q.cov_factor, q.cov_diag))))))
    return path


def main():
    folder = pathlib.Path(sys.argv[1])
    ours = json.loads((folder / "magva.json").read_text())
    out = {"numpyro": numpyro.__version__, "jax": jax.__version__}
    for name in ("ionosphere", "horseshoe", "spam"):
        problem = Problem(folder, name, ours[name])
        out[name] = {"difference": problem.check(), "step": seconds_a_step(problem)}
        print(name, out[name], file=sys.stderr)
    problem = Problem(folder, "ionosphere", ours["ionosphere"])
    check_exact_elbo(folder, problem, ours["default"]["runs"])
    out["elbo_over_time"] = []
    for step_size in STEP_SIZES:
        for horizon in (None, *HORIZONS):
            path = elbo_over_time(problem, step_size, horizon)
            out["elbo_over_time"].append({"step_size": step_size, "cosine": horizon, "path": path})
            print(step_size, horizon, path[-1], max(e for _, e in path), file=sys.stderr)
    (folder / "numpyro.json").write_text(json.dumps(out, indent=1))


main()
