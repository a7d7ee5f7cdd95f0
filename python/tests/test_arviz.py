"""Draws for ArviZ, 0.x and 1.x: whichever is installed, and arviz_base, which 1.x is built on."""

import importlib

import numpy as np
import pandas as pd
import pytest

import magva
import magva._arviz


@pytest.fixture(params=["arviz", "arviz_base"])
def arviz(request, monkeypatch):
    module = pytest.importorskip(request.param)
    monkeypatch.setattr(magva._arviz, "_arviz", lambda: module)
    return module


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    group = np.repeat(np.arange(6), 10)
    x = rng.normal(size=60)
    effect = rng.normal(size=6)[group]
    return pd.DataFrame(
        {
            "x": x,
            "g": np.array(list("abcdef"))[group],
            "y": 1 + x + effect + rng.normal(scale=0.5, size=60),
            "count": rng.poisson(np.exp(0.5 * x)),
            "hit": np.where(rng.random(60) < 1 / (1 + np.exp(-x)), "yes", "no"),
            "size": rng.choice(["small", "middle", "large"], 60),
        }
    )


def values(data, group, name):
    return np.asarray(data[group][name].values)


def log_normal(y, mean, sd):
    return -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def test_a_density(arviz, gaussian):
    fit = magva.fit(gaussian, gaussian.dim)
    data = fit.to_arviz(200)
    np.testing.assert_array_equal(values(data, "posterior", "theta")[0], fit.draws(200)["theta"])
    np.testing.assert_array_equal(values(data, "sample_stats", "log_q")[0], fit.log_density(fit.theta_draws(200)))
    np.testing.assert_array_equal(values(data, "sample_stats", "lp")[0], fit.model_log_density(fit.theta_draws(200)))
    assert data["posterior"].attrs["inference_library"] == "magva"
    assert not hasattr(data, "observed_data")


@pytest.mark.parametrize("by", ["table", "formula"])
def test_a_regression_has_log_likelihoods_and_predictions(arviz, frame, by):
    fit = magva.fit_table(frame, "y", column=["x"]) if by == "table" else magva.fit_formula("y ~ x", frame)
    data = fit.to_arviz(500)
    y = frame["y"].to_numpy()
    np.testing.assert_array_equal(values(data, "observed_data", "y"), y)
    posterior = {name: values(data, "posterior", name)[0][:, None] for name in ("(Intercept)", "x", "sigma")}
    mean = posterior["(Intercept)"] + posterior["x"] * frame["x"].to_numpy()
    np.testing.assert_allclose(values(data, "log_likelihood", "y")[0], log_normal(y, mean, posterior["sigma"]), rtol=1e-8)
    # Each simulated response around its own draw's mean: standard normal numbers, 500 times 60 of them.
    noise = (values(data, "posterior_predictive", "y")[0] - mean) / posterior["sigma"]
    assert abs(noise.mean()) < 5 / np.sqrt(noise.size)
    assert abs(noise.var() - 1) < 5 * np.sqrt(2 / noise.size)
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "row")


def test_counts_and_classes(arviz, frame):
    count = magva.fit_formula("count ~ x", frame, family="poisson").to_arviz(50)
    rate = np.exp(
        values(count, "posterior", "(Intercept)")[0][:, None] + values(count, "posterior", "x")[0][:, None] * frame["x"].to_numpy()
    )
    k = frame["count"].to_numpy()
    factorial = np.array([np.sum(np.log(np.arange(1, n + 1))) for n in k])
    np.testing.assert_allclose(values(count, "log_likelihood", "count")[0], k * np.log(rate) - rate - factorial, rtol=1e-8, atol=1e-10)
    hit = magva.fit_table(frame, "hit", column=["x"]).to_arviz(50)
    np.testing.assert_array_equal(values(hit, "observed_data", "hit"), frame["hit"] == "yes")
    assert set(np.unique(values(hit, "posterior_predictive", "hit"))) == {0, 1}
    size = magva.fit_formula("size ~ x", frame, family="categorical").to_arviz(20)
    baseline, *others = sorted(frame["size"].unique())
    eta = {baseline: np.zeros((20, len(frame)))}
    for name in others:
        intercept, slope = (values(size, "posterior", f"{name}: {term}")[0][:, None] for term in ("(Intercept)", "x"))
        eta[name] = intercept + slope * frame["x"].to_numpy()
    own = np.array([eta[name][:, i] for i, name in enumerate(frame["size"])]).T
    log_likelihood = own - np.log(sum(np.exp(e) for e in eta.values()))
    np.testing.assert_allclose(values(size, "log_likelihood", "size")[0], log_likelihood, rtol=1e-8, atol=1e-10)


def test_groups_have_dimensions_and_agree_with_the_likelihood(arviz, frame):
    fit = magva.fit_formula("y ~ x + (1 | g)", frame)
    data = fit.to_arviz(5000)
    assert values(data, "posterior", "g: Intercept").shape == (1, 1000, 6)  # as many draws as the fit has stored
    assert list(data["posterior"]["g: Intercept"].coords["g__level"].values) == list("abcdef")
    assert not hasattr(data, "sample_stats")
    at = {name: values(data, "posterior", name)[0][:, None] for name in ("(Intercept)", "x", "sigma")}
    mean = at["(Intercept)"] + at["x"] * frame["x"].to_numpy() + np.repeat(values(data, "posterior", "g: Intercept")[0], 10, axis=1)
    np.testing.assert_allclose(values(data, "log_likelihood", "y")[0], log_normal(frame["y"].to_numpy(), mean, at["sigma"]), rtol=1e-8)


def test_only_the_groups_that_are_wanted(arviz, frame):
    fit = magva.fit_formula("y ~ x", frame)
    data = fit.to_arviz(20, groups=["log_likelihood"])
    assert hasattr(data, "log_likelihood")
    assert not any(hasattr(data, name) for name in ("sample_stats", "posterior_predictive", "observed_data"))
    with pytest.raises(ValueError, match="'prior', and the groups are"):
        fit.to_arviz(20, groups=["prior"])


def test_a_loaded_fit_has_its_posterior(arviz, frame, tmp_path):
    fit = magva.fit_formula("y ~ x + (1 | g)", frame)
    fit.save(tmp_path / "fit")
    data = magva.load(tmp_path / "fit").to_arviz(30)
    np.testing.assert_allclose(values(data, "posterior", "x")[0], fit.draws(30)["x"], rtol=1e-6)  # stored in single precision
    assert not hasattr(data, "log_likelihood")


def test_arviz_makes_summaries_and_loo_of_it(frame):
    arviz = pytest.importorskip("arviz")
    fit = magva.fit_formula("y ~ x + (1 | g)", frame)
    data = fit.to_arviz()
    assert "g: Intercept[a]" in arviz.summary(data, kind="stats").index
    theirs = arviz.loo(data)
    elpd = getattr(theirs, "elpd_loo", None) or theirs.elpd
    # The same draws and the same method; the tails are smoothed by estimates that differ in detail.
    assert fit.loo()["elpd"] == pytest.approx(elpd, abs=0.1)


def test_without_arviz(monkeypatch, gaussian):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match="pip install arviz"):
        magva.fit(gaussian, gaussian.dim).to_arviz()
