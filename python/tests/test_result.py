"""What a fit says, and that it can be kept."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import magva


@pytest.fixture(scope="module")
def fit(gaussian):
    return magva.fit(gaussian, gaussian.dim)


@pytest.fixture(scope="module")
def regression(ionosphere):
    return magva.fit_table(ionosphere, "Class", prior="horseshoe", seed=5)


def test_summary_is_a_table(fit):
    summary = fit.summary()
    assert isinstance(summary, pd.DataFrame)
    assert list(summary.columns) == ["mean", "sd", "5%", "50%", "95%"]
    np.testing.assert_array_equal(summary["mean"], fit.mean)
    assert fit.verdict in summary._repr_html_()
    assert type(summary.loc[:, ["mean"]]) is pd.DataFrame


def test_quantiles_are_exact_for_coordinates(fit):
    quantiles = fit.quantiles([0.05, 0.5, 0.975])
    np.testing.assert_allclose(quantiles["5%"], fit.summary()["5%"], rtol=1e-12)
    np.testing.assert_allclose(quantiles["97.5%"], fit.mean + 1.959963984540054 * fit.sd, rtol=1e-12)
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit.quantiles([1.0])


def test_quantiles_of_transformed_parameters(regression):
    quantiles = regression.quantiles([0.05, 0.95], seed=5)
    # Of 4,000 draws, and of 20,000 in the summary: five standard errors of a 5 % quantile, each .033 sd or less.
    np.testing.assert_allclose((quantiles["5%"] - regression.summary()["5%"]) / regression.sd, 0, atol=0.17)


def in_the_summary(fit):
    quantiles = fit.quantiles()
    assert list(quantiles.index) == fit.names
    np.testing.assert_allclose(quantiles, fit.summary()[quantiles.columns], rtol=1e-12)


def test_quantiles_are_those_of_the_summary(fit, regression):
    in_the_summary(fit)
    in_the_summary(regression)
    in_the_summary(pickle.loads(pickle.dumps(regression)))
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 10), "x": rng.normal(size=80)})
    table["y"] = table["x"] + np.repeat(rng.normal(size=8), 10) + rng.normal(size=80)
    in_the_summary(magva.fit_formula("y ~ x + (1 | g)", table))


def test_draws(fit, gaussian):
    draws = fit.theta_draws(20000, seed=2)
    standard_error = fit.sd / np.sqrt(20000)
    assert np.all(np.abs(draws.mean(axis=0) - gaussian.mean) < 5 * standard_error)
    assert fit.draws(4)["theta"].shape == (4, 5)
    frame = fit.frame(4)
    assert list(frame.columns) == fit.names
    np.testing.assert_array_equal(frame.to_numpy(), fit.draws(4)["theta"])
    np.testing.assert_array_equal(fit.theta_draws(3), fit.theta_draws(10)[:3])
    with pytest.raises(ValueError, match="at least 1"):
        fit.draws(0)


def test_one_quantile(fit):
    assert list(fit.quantiles(0.5).columns) == list(fit.quantiles(p for p in [0.5]).columns) == ["50%"]


def test_warnings_name_keywords():
    fit = magva.fit(lambda t: (-0.5 * t[0] ** 2 if t[0] < 1 else -np.inf, -t), 1)
    assert any("correct=True" in warning for warning in fit.warnings)
    assert "--" not in fit.verdict


def test_corrected_draws(regression, fit):
    corrected = fit.draws(10, correct=True)["theta"]
    assert corrected.shape == (10, 5)
    np.testing.assert_array_equal(corrected, fit.draws(10, resample=True)["theta"])


def test_corrected_summary(fit, gaussian):
    summary = fit.summary(correct=True)
    assert list(summary.columns) == list(fit.summary().columns)
    # Of 4,000 draws: five standard errors of a mean, and of an sd.
    assert np.all(np.abs(summary["mean"] - gaussian.mean) < 5 * fit.sd / np.sqrt(4000))
    assert np.all(np.abs(summary["sd"] / fit.sd - 1) < 5 / np.sqrt(8000))


def test_covariance_and_correlation(fit):
    covariance = fit.covariance()
    np.testing.assert_allclose(np.diag(covariance), fit.sd**2)
    np.testing.assert_allclose(fit.covariance_row("theta[2]"), covariance[1])
    np.testing.assert_allclose(fit.covariance(["theta[3]", 0]), covariance[np.ix_([2, 0], [2, 0])])
    np.testing.assert_allclose(np.diag(fit.correlation()), 1)
    with pytest.raises(KeyError, match="did you mean"):
        fit.covariance_row("thta[2]")
    with pytest.raises(IndexError, match="none with index 9"):
        fit.covariance_row(9)


def test_log_densities(fit, gaussian):
    theta = fit.theta_draws(3)
    values = fit.model_log_density(theta)
    np.testing.assert_allclose(values, [gaussian(point)[0] for point in theta])
    np.testing.assert_allclose(fit.log_density(theta), values - fit.elbo, atol=1e-6)
    assert fit.log_density(theta[0]) == fit.log_density(theta)[0]
    with pytest.raises(ValueError, match="must be"):
        fit.log_density(np.zeros(4))


def test_factors(ionosphere):
    fit = magva.fit_table(ionosphere, "Class", rank=2)
    # Of the fitted Gaussian; covariance() is that of the one with sds by linear response.
    covariance = fit.factors @ fit.factors.T + np.diag(fit.residual_sd**2)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), fit._handle.posterior.sd())
    assert fit.factor_shares.shape == (2,)


def test_texts(fit):
    assert "converged" in repr(fit)
    assert "theta[1]" in repr(fit)
    assert "<table" in fit._repr_html_()
    assert fit.verdict.startswith("To be trusted")
    assert fit.options["seed"] == 1
    assert list(fit.trace.columns) == ["iteration", "gradient_evaluations", "seconds", "elbo"]


def test_long_names_have_room():
    fit = magva.fit(lambda t: (-0.5 * t @ t, -t), 2, names=["a" * 30, "b"])
    *_, head, first, second = repr(fit).splitlines()
    assert len(head) == len(first) == len(second)


def same(a, b):
    assert a.mean.tobytes() == b.mean.tobytes()
    assert a.elbo == b.elbo
    assert a.warnings == b.warnings
    assert a.theta_draws(3).tobytes() == b.theta_draws(3).tobytes()
    pd.testing.assert_frame_equal(pd.DataFrame(a.summary()), pd.DataFrame(b.summary()))


def test_pickle_and_copy(fit, regression, ionosphere):
    same(pickle.loads(pickle.dumps(fit)), fit)
    same(copy.copy(fit), fit)
    same(copy.deepcopy(fit), fit)
    loaded = pickle.loads(pickle.dumps(regression))
    same(loaded, regression)
    pd.testing.assert_frame_equal(loaded.predict(ionosphere[:5]), regression.predict(ionosphere[:5]))


def test_a_loaded_fit_has_no_model(fit, tmp_path):
    fit.save(tmp_path / "fit")
    loaded = magva.load(tmp_path / "fit")
    same(loaded, fit)
    assert fit.has_model
    assert not loaded.has_model
    with pytest.raises(ValueError, match="without its model"):
        loaded.model_log_density(np.zeros(5))


def test_compare(ionosphere):
    fits = {name: magva.fit_table(ionosphere, "Class", approximation=name) for name in ("mean-field", "full-rank")}
    table = magva.compare(fits)
    assert list(table.index) == ["full-rank", "mean-field"]
    assert table["elbo_difference"].iloc[1] < 0
    with pytest.raises(ValueError, match="no fits"):
        magva.compare({})
