#!/usr/bin/env python3
"""The default beside long runs of NUTS on hierarchical models with 90 to 10,000 parameters, one process for both.

    pip install -r bench/python/requirements.txt
    bench/stan/nuts.py                            # all models, three seeds
    bench/stan/nuts.py crossed rasch --seeds 1
    bench/stan/nuts.py --cache FOLDER             # NUTS's moments are kept there, and taken from there

One line a fit: parameters, the worst error of a mean, in posterior sds, and of an sd, as a share of it, over all
parameters on the unconstrained scale's own names; the verdict; processor seconds of the fit and of NUTS, which a busy
machine disturbs less than those of a clock, on one thread, compilation included in both; the ELBO. NUTS's own error is
about .04 sds, and .1 for the worst of a thousand parameters. A verdict is right where a fit that is trusted without a
warning has all means within .25 sds and all sds within 25 %, and one that is not trusted has not.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Threads of OpenBLAS, OpenMP and XLA that wait for each other would count as work.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NPROC="1")

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

import magva

CHAINS, WARM_UP, KEPT = 4, 1_000, 1_000  # the defaults of Stan and PyMC
MISLEADING = 0.25
BOUND = 0.15

Model = Callable[[], None]


def normals(name: str, count: int) -> jax.Array:
    return numpyro.sample(name, dist.Normal(0.0, 1.0).expand([count]))


def scale(name: str) -> jax.Array:
    return numpyro.sample(name, dist.HalfNormal(1.0))


def slopes() -> Model:
    """Intercepts and slopes of 60 groups."""
    rng = np.random.default_rng(1)
    group, x = np.repeat(np.arange(60), 15), rng.normal(size=900)
    y = 1 + rng.normal(size=60)[group] * 0.6 + x * (0.5 + 0.3 * rng.normal(size=60)[group]) + rng.normal(size=900)

    def model() -> None:
        intercept, slope = numpyro.sample("fixed", dist.Normal(0.0, 2.5).expand([2]))
        a, b = scale("sd_a") * normals("a", 60), scale("sd_b") * normals("b", 60)
        numpyro.sample("y", dist.Normal(intercept + a[group] + x * (slope + b[group]), scale("sigma")), obs=y)

    return model


def crossed() -> Model:
    """Counts with two crossed factors of 80 and 40 levels."""
    rng = np.random.default_rng(2)
    one, two = rng.integers(80, size=1600), rng.integers(40, size=1600)
    y = rng.poisson(np.exp(0.5 + 0.5 * rng.normal(size=80)[one] + 0.3 * rng.normal(size=40)[two]))

    def model() -> None:
        a, b = scale("sd_a") * normals("a", 80), scale("sd_b") * normals("b", 40)
        numpyro.sample("y", dist.Poisson(jnp.exp(numpyro.sample("mu", dist.Normal(0.0, 2.0)) + a[one] + b[two])), obs=y)

    return model


def rasch() -> Model:
    """150 persons, 30 items."""
    rng = np.random.default_rng(3)
    person, item = np.repeat(np.arange(150), 30), np.tile(np.arange(30), 150)
    eta = rng.normal(size=150)[person] - rng.normal(size=30)[item]
    y = (rng.random(4500) < 1 / (1 + np.exp(-eta))).astype(float)

    def model() -> None:
        ability, difficulty = scale("sd_ability") * normals("ability", 150), normals("difficulty", 30) * 1.5
        numpyro.sample("y", dist.Bernoulli(logits=ability[person] - difficulty[item]), obs=y)

    return model


def walk_of_counts() -> Model:
    """A random walk under counts, non-centred."""
    rng = np.random.default_rng(4)
    y = rng.poisson(np.exp(1 + np.cumsum(0.15 * rng.normal(size=200))))

    def model() -> None:
        level = numpyro.sample("start", dist.Normal(0.0, 2.0)) + jnp.cumsum(scale("sd_step") * normals("step", 200))
        numpyro.sample("y", dist.Poisson(jnp.exp(level)), obs=y)

    return model


def autoregression() -> Model:
    """A latent autoregression with noise on top."""
    rng = np.random.default_rng(5)
    state = np.zeros(250)
    for t in range(1, 250):
        state[t] = 0.8 * state[t - 1] + 0.5 * rng.normal()
    y = state + 0.5 * rng.normal(size=250)

    def model() -> None:
        phi = numpyro.sample("phi", dist.Uniform(0.0, 1.0))
        sd = scale("sd")
        noise = normals("state", 250)

        def step(last: jax.Array, z: jax.Array) -> tuple[jax.Array, jax.Array]:
            return (now := phi * last + sd * z), now

        _, states = jax.lax.scan(step, 0.0, noise)
        numpyro.sample("y", dist.Normal(states, scale("sigma")), obs=y)

    return model


def lattice() -> Model:
    """Counts on a 12 x 12 lattice with a conditional autoregression."""
    rng = np.random.default_rng(6)
    side = 12
    index = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([np.c_[index[:, :-1].ravel(), index[:, 1:].ravel()], np.c_[index[:-1].ravel(), index[1:].ravel()]])
    rows, columns = np.mgrid[:side, :side]
    y = rng.poisson(np.exp(0.8 + 0.6 * np.sin(rows / 3) * np.cos(columns / 4))).ravel()

    def model() -> None:
        phi = numpyro.sample("phi", dist.Normal(0.0, 3.0).expand([side * side]))
        numpyro.factor("neighbours", -0.5 * jnp.sum((phi[pairs[:, 0]] - phi[pairs[:, 1]]) ** 2))
        mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
        numpyro.sample("y", dist.Poisson(jnp.exp(mu + scale("sd") * phi)), obs=y)

    return model


def nested() -> Model:
    """Binary answers of 100 classes in 20 schools."""
    rng = np.random.default_rng(7)
    school_of = np.repeat(np.arange(20), 5)
    pupil = np.repeat(np.arange(100), 20)
    x = rng.normal(size=2000)
    eta = 0.7 * x + (0.5 * rng.normal(size=20)[school_of] + 0.6 * rng.normal(size=100))[pupil]
    y = (rng.random(2000) < 1 / (1 + np.exp(-eta))).astype(float)

    def model() -> None:
        fixed = numpyro.sample("fixed", dist.Normal(0.0, 2.5).expand([2]))
        level = scale("sd_school") * normals("school", 20)[school_of] + scale("sd_class") * normals("class", 100)
        numpyro.sample("y", dist.Bernoulli(logits=fixed[0] + fixed[1] * x + level[pupil]), obs=y)

    return model


def batting() -> Model:
    """Successes of 400 players."""
    rng = np.random.default_rng(8)
    tries = rng.integers(20, 200, size=400)
    y = rng.binomial(tries, 1 / (1 + np.exp(1 - 0.4 * rng.normal(size=400))))

    def model() -> None:
        skill = numpyro.sample("mu", dist.Normal(0.0, 1.5)) + scale("sd") * normals("player", 400)
        numpyro.sample("y", dist.Binomial(tries, logits=skill), obs=y)

    return model


def changing_coefficient() -> Model:
    """A regression whose two coefficients walk."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=150)
    y = np.cumsum(0.2 * rng.normal(size=150)) + x * (1 + np.cumsum(0.1 * rng.normal(size=150))) + rng.normal(size=150)

    def model() -> None:
        level = jnp.cumsum(0.5 * scale("sd_level") * normals("level", 150))
        slope = numpyro.sample("slope", dist.Normal(0.0, 2.0)) + jnp.cumsum(0.5 * scale("sd_slope") * normals("change", 150))
        numpyro.sample("y", dist.Normal(level + x * slope, scale("sigma")), obs=y)

    return model


def three_smooths() -> Model:
    """An additive model with three smooths of 30 coefficients."""
    rng = np.random.default_rng(10)
    x = rng.uniform(size=(400, 3))
    basis = np.cos(np.pi * np.arange(1, 31) * x[:, :, None]) / np.arange(1, 31)
    y = np.sin(6 * x[:, 0]) + x[:, 1] ** 2 + 0.4 * rng.normal(size=400)

    def model() -> None:
        smooth = sum(basis[:, k] @ (scale(f"sd_{k}") * normals(f"smooth_{k}", 30)) for k in range(3))
        numpyro.sample("y", dist.Normal(numpyro.sample("mu", dist.Normal(0.0, 2.0)) + smooth, scale("sigma")), obs=y)

    return model


def overdispersed() -> Model:
    """Negative binomial counts of 1,000 groups."""
    rng = np.random.default_rng(11)
    group = np.repeat(np.arange(1000), 5)
    rate = np.exp(1 + 0.5 * rng.normal(size=1000))[group]
    y = rng.poisson(rate * rng.gamma(5, 1 / 5, size=5000))

    def model() -> None:
        log_rate = numpyro.sample("mu", dist.Normal(0.0, 2.0)) + scale("sd") * normals("group", 1000)
        shape = numpyro.sample("shape", dist.Gamma(2.0, 0.2))
        numpyro.sample("y", dist.NegativeBinomial2(jnp.exp(log_rate)[group], shape), obs=y)

    return model


def volatility() -> Model:
    """Stochastic volatility of 400 returns, non-centred."""
    rng = np.random.default_rng(12)
    y = np.exp(0.5 * np.cumsum(0.15 * rng.normal(size=400))) * rng.normal(size=400)

    def model() -> None:
        log_variance = numpyro.sample("start", dist.Normal(0.0, 1.0)) + jnp.cumsum(0.5 * scale("sd") * normals("step", 400))
        numpyro.sample("y", dist.Normal(0.0, jnp.exp(0.5 * log_variance)), obs=y)

    return model


def ten_thousand_groups() -> Model:
    """Counts of 10,000 groups, centred: each group has data enough."""
    rng = np.random.default_rng(13)
    group = np.repeat(np.arange(10_000), 3)
    y = rng.poisson(np.exp(2 + 0.5 * rng.normal(size=10_000))[group])

    def model() -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
        effect = numpyro.sample("effect", dist.Normal(mu, scale("sd")).expand([10_000]))
        numpyro.sample("y", dist.Poisson(jnp.exp(effect)[group]), obs=y)

    return model


def latent_process() -> Model:
    """Counts under a Gaussian process on 120 points, whose latent values are whitened."""
    rng = np.random.default_rng(14)
    x = np.linspace(0, 10, 120)
    squares = (x[:, None] - x) ** 2
    y = rng.poisson(np.exp(1 + 0.7 * np.sin(x) + 0.3 * np.cos(2.3 * x)))

    def model() -> None:
        size, length = scale("size"), numpyro.sample("length", dist.LogNormal(0.0, 0.7))
        kernel = size**2 * jnp.exp(-0.5 * squares / length**2) + 1e-6 * jnp.eye(120)
        latent = jnp.linalg.cholesky(kernel) @ normals("latent", 120)
        numpyro.sample("y", dist.Poisson(jnp.exp(numpyro.sample("mu", dist.Normal(0.0, 2.0)) + latent)), obs=y)

    return model


def trend_and_season() -> Model:
    """A level and a slope that walk, and twelve months around zero, in 180 months."""
    rng = np.random.default_rng(15)
    month = np.arange(180) % 12
    level = np.cumsum(0.02 * np.cumsum(rng.normal(size=180)) + 0.2 * rng.normal(size=180))
    y = level + 0.8 * rng.normal(size=12)[month] + 0.5 * rng.normal(size=180)

    def model() -> None:
        slope = jnp.cumsum(0.1 * scale("sd_slope") * normals("bend", 180))
        level = numpyro.sample("start", dist.Normal(0.0, 2.0)) + jnp.cumsum(slope + scale("sd_level") * normals("step", 180))
        season = scale("sd_season") * normals("season", 12)
        numpyro.sample("y", dist.Normal(level + season[month], scale("sigma")), obs=y)

    return model


def ordered_groups() -> Model:
    """Ordered answers, in four classes, of 120 groups."""
    rng = np.random.default_rng(16)
    group, x = np.repeat(np.arange(120), 8), rng.normal(size=960)
    latent = 0.8 * x + 0.7 * rng.normal(size=120)[group] + rng.normal(size=960)
    y = np.digitize(latent, [-1.0, 0.3, 1.2])

    def model() -> None:
        cuts = numpyro.sample(
            "cuts", dist.TransformedDistribution(dist.Normal(0.0, 1.5).expand([3]).to_event(1), dist.transforms.OrderedTransform())
        )
        eta = numpyro.sample("slope", dist.Normal(0.0, 2.0)) * x + (scale("sd") * normals("group", 120))[group]
        numpyro.sample("y", dist.OrderedLogistic(eta, cuts), obs=y)

    return model


def frailty() -> Model:
    """Weibull times of 100 centres' patients, a third of them censored; the centres' effects are centred."""
    rng = np.random.default_rng(17)
    centre, treated = np.repeat(np.arange(100), 10), rng.integers(2, size=1000)
    time_to = (rng.exponential(size=1000) / np.exp(-0.5 * treated + 0.6 * rng.normal(size=100)[centre])) ** (1 / 1.4)
    seen = time_to < 1.3
    time_to = np.minimum(time_to, 1.3)

    def model() -> None:
        shape = numpyro.sample("shape", dist.LogNormal(0.0, 1.0))
        fixed = numpyro.sample("fixed", dist.Normal(0.0, 2.0).expand([2]))
        effect = numpyro.sample("effect", dist.Normal(0.0, scale("sd")).expand([100]))
        eta = fixed[0] + fixed[1] * treated + effect[centre]
        hazard = jnp.log(shape) + (shape - 1) * np.log(time_to) + eta
        numpyro.factor("y", jnp.sum(seen * hazard - jnp.exp(eta) * time_to**shape))

    return model


MODELS = {
    make.__name__: make
    for make in (slopes, crossed, rasch, walk_of_counts, autoregression, lattice, nested, batting, changing_coefficient,
                 three_smooths, overdispersed, volatility, ten_thousand_groups, latent_process, trend_and_season, ordered_groups,
                 frailty)
}  # fmt: skip

Moments = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass
class Reference:
    moments: Moments
    seconds: float


def run_nuts(model: Model) -> Reference:
    begin = time.process_time()
    sampler = MCMC(NUTS(model), num_warmup=WARM_UP, num_samples=KEPT, num_chains=CHAINS, chain_method="sequential", progress_bar=False)
    sampler.run(jax.random.PRNGKey(1))
    draws = {name: np.asarray(array) for name, array in sampler.get_samples().items()}
    return Reference({n: (a.mean(axis=0), a.std(axis=0)) for n, a in draws.items()}, time.process_time() - begin)


def reference_of(name: str, model: Model, cache: Path | None) -> Reference:
    kept = cache / f"{name}.pickle" if cache else None
    if kept and kept.exists():
        return Reference(*pickle.loads(kept.read_bytes()))
    found = run_nuts(model)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps((found.moments, found.seconds)))
    return found


def worst_errors(fit: magva.Fit, reference: Moments) -> tuple[float, float]:
    means, sds = [], []
    for variable in fit._structure.variables:
        if variable.name not in reference:
            continue
        mean, sd, found_mean, found_sd = (
            np.ravel(values)
            for values in (*reference[variable.name], *(np.asarray(values)[variable.rows] for values in (fit.mean, fit.sd)))
        )
        varies = sd > 1e-9  # a Cholesky factor has entries that do not
        mean, sd, found_mean, found_sd = (values[varies] for values in (mean, sd, found_mean, found_sd))
        means.append(np.max(np.abs(found_mean - mean) / sd))
        sds.append(np.max(np.abs(found_sd / sd - 1)))
    return float(max(means)), float(max(sds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODELS)}; all if none is given")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cache", type=Path, help="folder for the results of NUTS")
    options = parser.parse_args()
    numpyro.enable_x64()
    print(f"{'model':22} seed parameters  mean    sd  seconds   NUTS      ELBO  verdict")
    ratios, within, wrong = [], 0, 0
    for name in options.names or MODELS:
        model = MODELS[name]()
        reference = reference_of(name, model, options.cache)
        for seed in options.seeds:
            begin = time.process_time()
            fit = magva.fit_numpyro(model, seed=seed, threads=1, progress=False)
            seconds = time.process_time() - begin
            mean, sd = worst_errors(fit, reference.moments)
            misleading = max(mean, sd) > MISLEADING
            plain = fit.trusted and not fit.warnings
            right = not (misleading and plain) and (misleading or fit.trusted)
            ratios.append(reference.seconds / seconds)
            within += max(mean, sd) <= BOUND
            wrong += not right
            verdict = "trusted" if plain else "trusted with a warning" if fit.trusted else "not trusted"
            print(f"{name:22} {seed:4} {len(fit.mean):10} {mean:5.3f} {sd:5.3f} {seconds:8.2f} {reference.seconds:6.1f} "
                  f"{fit.elbo:9.2f}  {verdict}{'' if right else ', WRONG'}", flush=True)  # fmt: skip
    print(
        f"{within} of {len(ratios)} within {BOUND}; {wrong} verdicts wrong; NUTS takes {np.median(ratios):.1f} times as long at the median"
    )


if __name__ == "__main__":
    main()
