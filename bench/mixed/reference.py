"""Long NUTS runs of the models of run.py by NumPyro, with the priors that magva reports."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline


@dataclass
class Group:
    """Effects of the levels of a column: an intercept, and the slopes of these columns."""

    column: str  # or two, a:b, whose levels together are the groups
    slopes: list[str] = field(default_factory=list)


@dataclass
class Case:
    name: str
    formula: str
    family: str
    groups: list[Group] = field(default_factory=list)
    response: str = "y"
    trials: str = ""
    offset: str = ""  # a column, whose logarithm is added
    status: str = ""  # a column: 2 where the event was seen
    text: list[str] = field(default_factory=list)  # columns of numbers that are levels
    without_nuts: str = ""  # why there is no reference


def smooth_columns(smooth: dict, x: np.ndarray) -> np.ndarray:
    """The columns of s(x), as the fit has stored them: B-splines, turned into a line and what bends it."""
    degree, functions = 3, smooth["functions"]
    width = (smooth["upper"] - smooth["lower"]) / (functions - degree)
    knots = smooth["lower"] + width * (np.arange(functions + degree + 1) - degree)
    basis = BSpline.design_matrix(x, knots, degree).toarray()
    means = np.array(smooth["means"])
    return basis @ np.array(smooth["transform"]).reshape(means.size, functions).T - means


def design(data: pd.DataFrame, names: list[str], smooths: dict[str, np.ndarray]) -> np.ndarray:
    """The columns of the fit's own coefficients, without the intercept's."""
    columns = []
    for name in names:
        match = re.fullmatch(r"(.+)\[(.+)\]", name)
        if match and match[1] in smooths:
            columns.append(smooths[match[1]][:, int(match[2]) - 1])
        elif match and match[1] in data:
            columns.append((data[match[1]].astype(str) == match[2]).to_numpy(float))
        else:
            columns.append(data[name].to_numpy(float))
    return np.column_stack(columns) if columns else np.zeros((len(data), 0))


def numbers_in(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text.split("(", 1)[1])]


def codes_of(column: str, data: pd.DataFrame) -> np.ndarray:
    labels = data[column.split(":")].astype(str).agg(":".join, axis=1)
    return labels.astype("category").cat.codes.to_numpy()


def sample(
    case: Case, data: pd.DataFrame, record: dict, model: dict, draws: int = 4000, seed: int = 0
) -> tuple[float, pd.DataFrame]:
    """Processor seconds, and draws of the population's parameters under the fit's names.

    `record` and `model` are what the fit wrote to fit.json and model.json; `data` has no missing values.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    priors = {p["parameter"]: p["prior"] for p in record["details"]["priors"]}
    own = [p for p in ("sigma", "shape", "nu") if p in priors]
    cuts = [n for n in priors if n.startswith("cut[")]
    coefficients = [n for n in priors if n not in own and not n.startswith(("sd(", "cor(", "cut[", "(Intercept)"))]
    stored = {s["name"]: s for s in model["formula_model"]["formula"]["smooths"]}
    x = design(data, coefficients, {n: smooth_columns(s, data[s["expression"]].to_numpy(float)) for n, s in stored.items()})
    means = x.mean(axis=0)
    y = jnp.asarray(data[case.response].to_numpy(float))
    classes = np.unique(data[case.response], return_inverse=True)[1]  # of an ordered response
    offset = np.log(data[case.offset].to_numpy(float)) if case.offset else 0.0
    levels = [codes_of(g.column, data) for g in case.groups]

    def positive(name: str):
        text, values = priors[name], numbers_in(priors[name])
        if text.startswith("exponential"):
            return numpyro.sample(name, dist.Exponential(values[0]))
        if text.startswith("half_student_t"):
            return numpyro.sample(name, dist.FoldedDistribution(dist.StudentT(values[0], 0, values[-1])))
        if text.startswith(("inv_gamma", "inverse_gamma")):
            return numpyro.sample(name, dist.InverseGamma(values[0], values[1]))
        return numpyro.sample(name, dist.Gamma(values[0], values[1]))

    def effects(group: Group, codes: np.ndarray):
        names = ["Intercept", *group.slopes]
        sds = jnp.stack([positive(f"sd({group.column}: {n})") for n in names])
        count = int(codes.max()) + 1
        raw = numpyro.sample(f"raw_{group.column}", dist.Normal(0, 1).expand([count, len(names)]).to_event(2))
        if len(names) > 1:
            factor = numpyro.sample(f"factor_{group.column}", dist.LKJCholesky(len(names), 1.0))
            numpyro.deterministic(f"cor({group.column}: {names[0]}, {names[1]})", factor[1, 0])
            raw = raw @ factor.T
        u = raw * sds
        z = np.column_stack([np.ones(len(data))] + [data[s].to_numpy(float) for s in group.slopes])
        return (u[codes] * z).sum(axis=1)

    def coefficient(name: str, sds: dict):
        bend = re.fullmatch(r"normal\(0, (sd\(.+\))\)", priors[name])
        if bend:  # of a smooth term
            return numpyro.deterministic(name, sds[bend[1]] * numpyro.sample(f"raw_{name}", dist.Normal(0, 1)))
        location, scale = numbers_in(priors[name])[:2]
        return numpyro.sample(name, dist.Normal(location, scale))

    def intercept():
        if cuts:
            return 0.0
        location, scale = numbers_in(priors["(Intercept)"])[:2]
        return numpyro.sample("centre", dist.Normal(location, scale))

    def cut_points(shift):
        support = dist.constraints.ordered_vector
        at = numpyro.sample("cuts", dist.ImproperUniform(support, (), (len(cuts),)))
        values = numbers_in(priors[cuts[0]])
        numpyro.factor("prior of cuts", dist.StudentT(*values).log_prob(at).sum())
        for k, name in enumerate(cuts):
            numpyro.deterministic(name, at[k] + shift)
        return at

    def posterior():
        sds = {f"sd({name})": positive(f"sd({name})") for name in stored}
        centre = intercept()
        beta = jnp.stack([coefficient(name, sds) for name in coefficients]) if coefficients else jnp.zeros(0)
        eta = centre + offset + (x - means) @ beta
        if not cuts:
            numpyro.deterministic("(Intercept)", centre - means @ beta)
        for group, codes in zip(case.groups, levels, strict=True):
            eta = eta + effects(group, codes)
        if case.family == "gaussian":
            numpyro.sample("y", dist.Normal(eta, positive("sigma")), obs=y)
        elif case.family == "binomial":
            numpyro.sample("y", dist.Binomial(jnp.asarray(data[case.trials].to_numpy(float)), logits=eta), obs=y)
        elif case.family == "bernoulli":
            numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)
        elif case.family == "poisson":
            numpyro.sample("y", dist.Poisson(jnp.exp(eta)), obs=y)
        elif case.family == "negbinomial":
            numpyro.sample("y", dist.NegativeBinomial2(jnp.exp(eta), positive("shape")), obs=y)
        elif case.family == "ordered":
            at = cut_points(means @ beta)
            numpyro.sample("y", dist.OrderedLogistic(eta, at), obs=classes)
        elif case.family == "weibull":
            shape = positive("shape")
            seen = jnp.asarray((data[case.status].to_numpy(float) == 2).astype(float))
            t = shape * (jnp.log(y) - eta)
            numpyro.factor("y", jnp.sum(seen * (jnp.log(shape) + t - jnp.log(y)) - jnp.exp(t)))

    mcmc = MCMC(NUTS(posterior, target_accept_prob=0.9), num_warmup=1000, num_samples=draws, num_chains=1, progress_bar=False)
    begin = time.process_time()
    mcmc.run(jax.random.PRNGKey(seed))
    out = {k: np.asarray(v) for k, v in mcmc.get_samples().items() if np.ndim(v) == 1 and not k.startswith(("centre", "raw_"))}
    return time.process_time() - begin, pd.DataFrame(out)
