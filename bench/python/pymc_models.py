"""The same ten models written with PyMC, for its ADVI."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from models import Data


def logistic_regression():
    beta = pm.Normal("beta", 0, 2.5, shape=Data.ionosphere_x.shape[1])
    intercept = pm.Normal("intercept", 0, 5)
    pm.Bernoulli("y", logit_p=Data.ionosphere_x @ beta + intercept, observed=Data.ionosphere_y)


def linear_regression():
    beta = pm.Normal("beta", 0, 2.5, shape=10)
    intercept = pm.Normal("intercept", 0, 5)
    sigma = pm.Exponential("sigma", 1)
    pm.Normal("y", Data.linear_x @ beta + intercept, sigma, observed=Data.linear_y)


def eight_schools():
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", shape=8)
    pm.Normal("y", mu + tau * z, Data.schools_se, observed=Data.schools_y)


def radon():
    a = pm.Normal("a", 0, 5)
    b_floor = pm.Normal("b_floor", 0, 2)
    b_uranium = pm.Normal("b_uranium", 0, 2)
    tau = pm.HalfNormal("tau", 1)
    sigma = pm.HalfNormal("sigma", 1)
    z = pm.Normal("z", shape=85)
    county = a + b_uranium * Data.uranium + tau * z
    pm.Normal("y", county[Data.county] + b_floor * Data.floor, sigma, observed=Data.radon)


def mixture():
    weight = pm.Beta("weight", 2, 2)
    first = pm.Normal("first", 0, 3)
    gap = pm.LogNormal("gap", 0.5, 1)
    sigma = pm.LogNormal("sigma", 0, 0.5, shape=2)
    pm.NormalMixture("y", w=pt.stack([weight, 1 - weight]), mu=pt.stack([first, first + gap]), sigma=sigma, observed=Data.mixture_y)


def horseshoe():
    tau = pm.HalfCauchy("tau", 0.1)
    local = pm.HalfCauchy("local", 1, shape=50)
    z = pm.Normal("z", shape=50)
    sigma = pm.HalfNormal("sigma", 2)
    pm.Normal("y", Data.horseshoe_x @ (z * local * tau), sigma, observed=Data.horseshoe_y)


def gaussian_process():
    scale = pm.LogNormal("scale", 0, 0.5)
    length = pm.LogNormal("length", 0.5, 0.5)
    level = pm.Normal("level", 0, 2)
    z = pm.Normal("z", shape=50)
    distance = Data.gp_x[:, None] - Data.gp_x
    covariance = scale**2 * pt.exp(-0.5 * (distance / length) ** 2) + 1e-6 * np.eye(50)
    pm.Poisson("y", pt.exp(level + pt.linalg.cholesky(covariance) @ z), observed=Data.gp_y)


def item_response():
    ability = pm.Normal("ability", shape=100)
    difficulty = pm.Normal("difficulty", 0, 2, shape=20)
    slope = pm.LogNormal("slope", 0, 0.5, shape=20)
    pm.Bernoulli("y", logit_p=slope[Data.item] * (ability[Data.student] - difficulty[Data.item]), observed=Data.answer)


def local_level():
    step_sd = pm.HalfNormal("step_sd", 1)
    noise_sd = pm.HalfNormal("noise_sd", 1)
    z = pm.Normal("z", shape=150)
    pm.Normal("y", pt.cumsum(step_sd * z), noise_sd, observed=Data.series_y)


def ten_thousand_groups():
    mu = pm.Normal("mu", 0, 2)
    tau = pm.HalfNormal("tau", 1)
    z = pm.Normal("z", shape=10_000)
    pm.Poisson("y", pt.exp(mu + tau * z), observed=Data.group_y)
