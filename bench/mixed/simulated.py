"""Simulated data sets of run.py: the same for the same seed, another set of them for another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Rng = np.random.Generator


def yes(rng: Rng, eta: np.ndarray) -> np.ndarray:
    return (rng.random(eta.size) < 1 / (1 + np.exp(-eta))).astype(int)


def binary(rng: Rng) -> pd.DataFrame:
    """500 subjects, 7 binary observations each."""
    subject = np.repeat(np.arange(500), 7)
    x, z = rng.normal(size=3500), rng.normal(size=500)[subject]
    eta = -0.5 + 0.7 * x - 0.4 * z + rng.normal(size=500)[subject]
    return pd.DataFrame({"y": yes(rng, eta), "x": x, "z": z, "subject": subject})


def slopes(rng: Rng) -> pd.DataFrame:
    """200 subjects, 12 observations each."""
    subject, x = np.repeat(np.arange(200), 12), rng.normal(size=2400)
    eta = -0.5 + 0.7 * x + rng.normal(size=200)[subject] + 0.7 * rng.normal(size=200)[subject] * x
    return pd.DataFrame({"y": yes(rng, eta), "x": x, "subject": subject})


def nested(rng: Rng) -> pd.DataFrame:
    """30 schools of 6 classes of 8 pupils."""
    school, within, x = np.repeat(np.arange(30), 48), np.tile(np.repeat(np.arange(6), 8), 30), rng.normal(size=1440)
    eta = 0.3 + 0.5 * x + 0.8 * rng.normal(size=30)[school] + 0.6 * rng.normal(size=180)[school * 6 + within]
    return pd.DataFrame({"y": yes(rng, eta), "x": x, "school": school, "class": within})


def rows(rng: Rng) -> pd.DataFrame:
    """60 sites, 10 overdispersed counts each."""
    site, x = np.repeat(np.arange(60), 10), rng.normal(size=600)
    eta = 1 + 0.4 * x + 0.5 * rng.normal(size=60)[site] + 0.5 * rng.normal(size=600)
    return pd.DataFrame({"y": rng.poisson(np.exp(eta)), "x": x, "site": site, "row": np.arange(600)})


def crossed(rng: Rng) -> pd.DataFrame:
    """60 subjects answer 20 items."""
    subject, item = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
    x = rng.normal(size=1200)
    eta = 0.3 + 0.5 * x + rng.normal(size=60)[subject] + 0.8 * rng.normal(size=20)[item]
    return pd.DataFrame({"y": yes(rng, eta), "x": x, "subject": subject, "item": item})


def counts(rng: Rng) -> pd.DataFrame:
    site, x = np.repeat(np.arange(40), 5), rng.normal(size=200)
    days = rng.integers(1, 30, 200)
    rate = days * np.exp(-2 + 0.4 * x + 0.6 * rng.normal(size=40)[site])
    return pd.DataFrame({"y": rng.poisson(rate), "x": x, "days": days, "site": site})


def few(rng: Rng) -> pd.DataFrame:
    """300 subjects with 1 to 6 rare events each; a level of the factor has no complete row."""
    subject = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    n = subject.size
    x, arm = rng.gamma(2.0, 1.0, n), rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    x[arm == "d"] = np.nan
    eta = -2.5 + 0.5 * np.nan_to_num(x) + 0.6 * (arm == "b") - 0.4 * (arm == "c") + 1.2 * rng.normal(size=300)[subject]
    return pd.DataFrame({"y": yes(rng, eta), "x": x, "arm": arm, "subject": subject})


def clinics(rng: Rng) -> pd.DataFrame:
    """Overdispersed counts of 45 clinics of unequal size, with person-days."""
    clinic = np.repeat(np.arange(45), rng.integers(2, 12, 45))
    n = clinic.size
    x, days = rng.normal(size=n), rng.integers(1, 60, n)
    mean = days * np.exp(-2.5 + 0.3 * x + 0.5 * rng.normal(size=45)[clinic])
    return pd.DataFrame({"y": rng.negative_binomial(1.5, 1.5 / (1.5 + mean)), "x": x, "days": days, "clinic": clinic})


def raters(rng: Rng) -> pd.DataFrame:
    """70 raters give 8 grades of four."""
    rater, x = np.repeat(np.arange(70), 8), rng.normal(2.0, 1.0, 560)
    latent = 0.8 * x + 1.3 * rng.normal(size=70)[rater] + rng.logistic(size=560)
    return pd.DataFrame({"y": 1 + np.searchsorted([0.0, 1.5, 3.5], latent), "x": x, "rater": rater})


def incomplete(rng: Rng) -> pd.DataFrame:
    """Counts in a crossed design of which three cells in ten were seen: 80 fields, 12 years."""
    field, year = np.divmod(np.arange(960), 12)
    seen = rng.random(960) < 0.3
    field, year = field[seen], year[seen]
    x, effort = rng.normal(size=field.size), rng.integers(1, 10, field.size)
    eta = -1 + 0.3 * x + np.log(effort) + 0.7 * rng.normal(size=80)[field] + 0.4 * rng.normal(size=12)[year]
    return pd.DataFrame({"y": rng.poisson(np.exp(eta)), "x": x, "effort": effort, "field": field, "year": year})


def curve(rng: Rng) -> pd.DataFrame:
    """A smooth curve beside 25 groups."""
    plot, x, z = np.repeat(np.arange(25), 12), rng.uniform(0, 10, 300), rng.normal(size=300)
    y = 4 + 1.5 * np.sin(x) + 0.2 * x + 0.5 * z + 0.8 * rng.normal(size=25)[plot] + 0.7 * rng.normal(size=300)
    return pd.DataFrame({"y": y, "x": x, "z": z, "plot": plot})


def smooths(rng: Rng) -> pd.DataFrame:
    """Two smooth curves without groups."""
    x, w, z = rng.uniform(0, 10, 250), rng.uniform(-1, 1, 250), rng.normal(size=250)
    y = 2 + np.sin(x) + 1.5 * w**2 - 0.4 * z + 0.6 * rng.normal(size=250)
    return pd.DataFrame({"y": y, "x": x, "w": w, "z": z})


def season(rng: Rng) -> pd.DataFrame:
    """Counts along a smooth curve, without groups."""
    day, z = np.arange(200.0), rng.normal(size=200)
    return pd.DataFrame({"y": rng.poisson(np.exp(1 + 0.8 * np.sin(day / 25) + 0.2 * z)), "day": day, "z": z})


SETS: dict[str, Callable[[Rng], pd.DataFrame]] = {
    f.__name__: f for f in (binary, slopes, nested, rows, crossed, counts, few, clinics, raters, incomplete, curve, smooths, season)
}


def simulated(name: str, seed: int) -> pd.DataFrame | None:
    return SETS[name](np.random.default_rng(seed)) if name in SETS else None
