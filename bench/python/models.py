"""Ten models with data, written with NumPyro. Data are simulated from the models, with fixed seeds, unless a name says otherwise.

Each is a function without arguments; hierarchical ones are non-centred, as NUTS and Gaussians both want them.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ionosphere():
    """The paper's data: 351 rows, 34 columns, standardised."""
    table = np.genfromtxt(ROOT / "data" / "ionosphere.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    names = table.dtype.names
    x = np.column_stack([table[name].astype(float) for name in names if name != "Class"])
    x = x[:, x.std(axis=0) > 0]
    return (x - x.mean(axis=0)) / x.std(axis=0), (table["Class"] == "g").astype(float)


class Data:
    """Simulated once, with a seed for each model."""

    ionosphere_x, ionosphere_y = ionosphere()

    _rng = np.random.default_rng(1)
    linear_x = _rng.normal(size=(300, 10))
    linear_y = linear_x @ _rng.normal(size=10) + 2 + _rng.normal(scale=1.5, size=300)

    schools_y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    schools_se = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

    _rng = np.random.default_rng(2)
    county = np.sort(_rng.choice(85, 919, p=_rng.dirichlet(np.full(85, 0.7)) * 0.9 + 0.1 / 85))
    uranium = _rng.normal(scale=0.4, size=85)
    floor = (_rng.random(919) < 0.17).astype(float)
    radon = 1.4 + 0.7 * uranium[county] - 0.65 * floor + 0.15 * _rng.normal(size=85)[county] + _rng.normal(scale=0.75, size=919)

    _rng = np.random.default_rng(3)
    mixture_y = np.where(_rng.random(400) < 0.35, _rng.normal(-1.0, 0.7, 400), _rng.normal(2.0, 1.2, 400))

    _rng = np.random.default_rng(4)
    horseshoe_x = _rng.normal(size=(100, 50))
    horseshoe_y = horseshoe_x[:, :4] @ np.array([2.0, -1.5, 1.0, 2.5]) + _rng.normal(size=100)

    _rng = np.random.default_rng(5)
    gp_x = np.sort(_rng.uniform(0, 10, 50))
    gp_y = _rng.poisson(np.exp(1 + np.sin(gp_x)))

    _rng = np.random.default_rng(6)
    student = np.repeat(np.arange(100), 20)
    item = np.tile(np.arange(20), 100)
    _ability, _difficulty, _slope = _rng.normal(size=100), _rng.normal(size=20), np.exp(0.4 * _rng.normal(size=20))
    answer = (_rng.random(2000) < 1 / (1 + np.exp(-_slope[item] * (_ability[student] - _difficulty[item])))).astype(float)

    _rng = np.random.default_rng(7)
    _level = np.cumsum(_rng.normal(scale=0.3, size=150))
    series_y = _level + _rng.normal(scale=0.8, size=150)

    _rng = np.random.default_rng(8)
    group_y = _rng.poisson(np.exp(0.5 + 0.7 * _rng.normal(size=10_000)))


def logistic_regression():
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.5).expand([Data.ionosphere_x.shape[1]]))
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 5.0))
    numpyro.sample("y", dist.Bernoulli(logits=Data.ionosphere_x @ beta + intercept), obs=Data.ionosphere_y)


def linear_regression():
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.5).expand([10]))
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 5.0))
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    numpyro.sample("y", dist.Normal(Data.linear_x @ beta + intercept, sigma), obs=Data.linear_y)


def eight_schools():
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    z = numpyro.sample("z", dist.Normal().expand([8]))
    numpyro.sample("y", dist.Normal(mu + tau * z, Data.schools_se), obs=Data.schools_y)


def radon():
    a = numpyro.sample("a", dist.Normal(0.0, 5.0))
    b_floor = numpyro.sample("b_floor", dist.Normal(0.0, 2.0))
    b_uranium = numpyro.sample("b_uranium", dist.Normal(0.0, 2.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    z = numpyro.sample("z", dist.Normal().expand([85]))
    county = a + b_uranium * Data.uranium + tau * z
    numpyro.sample("y", dist.Normal(county[Data.county] + b_floor * Data.floor, sigma), obs=Data.radon)


def mixture():
    weight = numpyro.sample("weight", dist.Beta(2.0, 2.0))
    first = numpyro.sample("first", dist.Normal(0.0, 3.0))
    gap = numpyro.sample("gap", dist.LogNormal(0.5, 1.0))
    sigma = numpyro.sample("sigma", dist.LogNormal(0.0, 0.5).expand([2]))
    parts = dist.Normal(jnp.stack([first, first + gap]), sigma)
    numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(probs=jnp.stack([weight, 1 - weight])), parts), obs=Data.mixture_y)


def horseshoe():
    tau = numpyro.sample("tau", dist.HalfCauchy(0.1))
    local = numpyro.sample("local", dist.HalfCauchy(1.0).expand([50]))
    z = numpyro.sample("z", dist.Normal().expand([50]))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    numpyro.sample("y", dist.Normal(Data.horseshoe_x @ (z * local * tau), sigma), obs=Data.horseshoe_y)


def gaussian_process():
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 0.5))
    length = numpyro.sample("length", dist.LogNormal(0.5, 0.5))
    level = numpyro.sample("level", dist.Normal(0.0, 2.0))
    z = numpyro.sample("z", dist.Normal().expand([50]))
    distance = Data.gp_x[:, None] - Data.gp_x
    covariance = scale**2 * jnp.exp(-0.5 * (distance / length) ** 2) + 1e-6 * jnp.eye(50)
    numpyro.sample("y", dist.Poisson(jnp.exp(level + jnp.linalg.cholesky(covariance) @ z)), obs=Data.gp_y)


def item_response():
    ability = numpyro.sample("ability", dist.Normal().expand([100]))
    difficulty = numpyro.sample("difficulty", dist.Normal(0.0, 2.0).expand([20]))
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 0.5).expand([20]))
    logits = slope[Data.item] * (ability[Data.student] - difficulty[Data.item])
    numpyro.sample("y", dist.Bernoulli(logits=logits), obs=Data.answer)


def local_level():
    """A random walk with observation noise, by its steps."""
    step_sd = numpyro.sample("step_sd", dist.HalfNormal(1.0))
    noise_sd = numpyro.sample("noise_sd", dist.HalfNormal(1.0))
    z = numpyro.sample("z", dist.Normal().expand([150]))
    numpyro.sample("y", dist.Normal(jnp.cumsum(step_sd * z), noise_sd), obs=Data.series_y)


def ten_thousand_groups():
    mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    z = numpyro.sample("z", dist.Normal().expand([10_000]))
    numpyro.sample("y", dist.Poisson(jnp.exp(mu + tau * z)), obs=Data.group_y)


MODELS = {
    model.__name__: model
    for model in (
        logistic_regression,
        linear_regression,
        eight_schools,
        radon,
        mixture,
        horseshoe,
        gaussian_process,
        item_response,
        local_level,
        ten_thousand_groups,
    )
}

jax.config.update("jax_enable_x64", True)
