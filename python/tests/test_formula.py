"""Regressions by formula: the program's, to the bit; groups, predictions at levels, leave-one-out."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import magva

SUBJECTS = [f"s{i}" for i in range(12)]


@pytest.fixture(scope="module")
def frame():
    """Days in the study explain reaction times, with an intercept and a slope of each subject's own."""
    rng = np.random.default_rng(5)
    n = 10 * len(SUBJECTS)
    subject = np.repeat(np.arange(len(SUBJECTS)), 10)
    days = np.tile(np.arange(10.0), len(SUBJECTS))
    effect = rng.normal(size=(len(SUBJECTS), 2)) * [2.0, 0.5]
    eta = 25 + days + effect[subject, 0] + effect[subject, 1] * days
    return pd.DataFrame(
        {
            "reaction": eta + rng.normal(size=n),
            "days": days,
            "subject": np.array(SUBJECTS)[subject],
            "errors": rng.poisson(np.exp(0.1 * days + 0.3 * effect[subject, 0])),
            "passed": np.where(rng.random(n) < 1 / (1 + np.exp(-(days - 4.5))), "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def mixed(frame):
    return magva.fit_formula("reaction ~ days + (1 + days | subject)", frame)


@pytest.fixture(scope="module")
def linear(frame):
    return magva.fit_formula("reaction ~ days", frame)


CALLS = [
    ("reaction ~ days + (1 + days | subject)", {}),
    ("reaction ~ days", {"family": "student", "prior": ["days ~ normal(0, 2)", "(Intercept) ~ normal(20, 10)"]}),
    ("errors ~ days + (1 | subject)", {"family": "poisson", "seed": 3}),
    ("passed ~ days + I(days^2)", {"standardise": True}),
]


@pytest.mark.parametrize(("formula", "options"), CALLS)
def test_agreement_with_the_program_to_the_bit(frame, program, tmp_path, formula, options):
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if one is True else [f"--{name}", one]
    program("fit", tmp_path / "table.csv", "--formula", formula, "--out", tmp_path / "fit", "--quiet", *words)
    theirs = json.loads((tmp_path / "fit" / "fit.json").read_text())
    ours = magva.fit_formula(formula, frame, **options)
    assert ours.names == [p["name"] for p in theirs["parameters"]]
    assert ours.mean.tolist() == [p["mean"] for p in theirs["parameters"]]
    assert ours.elbo == theirs["elbo"]
    # Draws of group effects are stored in single precision.
    np.testing.assert_allclose(magva.load(tmp_path / "fit").frame(5), ours.frame(5), rtol=1e-6)


def test_group_effects_are_arrays(mixed):
    draws = mixed.draws(300)
    assert draws["days"].shape == (300,)
    assert draws["sd(subject: days)"].shape == (300,)
    assert draws["subject: Intercept"].shape == (300, len(SUBJECTS))
    frame = mixed.frame(300)
    assert set(mixed.group_levels["subject"]) == set(SUBJECTS)
    for j, subject in enumerate(mixed.group_levels["subject"]):
        np.testing.assert_array_equal(draws["subject: days"][:, j], frame[f"subject[{subject}]: days"])
    # The summary is made of all draws, which are in another order: equal but for rounding.
    everything = mixed.frame(1000)
    np.testing.assert_allclose(everything.mean(), mixed.summary()["mean"], rtol=1e-9, atol=1e-12)


def test_more_draws_than_a_fit_has_stored_repeat(mixed):
    thrice = mixed.frame(2500)
    assert len(thrice.drop_duplicates()) == 1000
    np.testing.assert_array_equal(thrice[:1000], thrice[1000:2000])
    with pytest.raises(ValueError, match="at least 1"):
        mixed.draws(0)


def test_a_pickled_fit_has_its_groups(mixed, frame):
    again = pickle.loads(pickle.dumps(mixed))
    np.testing.assert_allclose(again.frame(10), mixed.frame(10), rtol=1e-6)  # stored in single precision
    assert again.group_levels == mixed.group_levels
    assert again.draws(3)["subject: days"].shape == (3, len(SUBJECTS))
    pd.testing.assert_frame_equal(again.predict(frame[:5]), mixed.predict(frame[:5]), rtol=1e-5)


def test_predictions_are_those_of_the_draws(mixed, frame):
    rows = frame.iloc[[0, 17, 119]]
    draws = mixed.draws(1000)
    index = [mixed.group_levels["subject"].index(name) for name in rows["subject"]]
    days = rows["days"].to_numpy()
    eta = draws["(Intercept)"][:, None] + draws["subject: Intercept"][:, index]
    eta = eta + (draws["days"][:, None] + draws["subject: days"][:, index]) * days
    link = mixed.predict(rows, scale="link", level=0.8)
    np.testing.assert_allclose(link["mean"], eta.mean(axis=0), rtol=1e-9)
    lower, upper = np.quantile(eta, [0.1, 0.9], axis=0)
    # Definitions of a quantile differ by less than the gap between two neighbours among 1000 draws.
    np.testing.assert_allclose(link["lower"], lower, atol=0.02 * eta.std())
    np.testing.assert_allclose(link["upper"], upper, atol=0.02 * eta.std())


def test_predictions_at_levels(linear, frame):
    number = 4000
    rows = frame.iloc[[0, 5]]
    x = np.column_stack([np.ones(2), rows["days"]])
    theta = linear.frame(number)
    # A normal predictive distribution, to the accuracy of quantiles of draws: at most 6 standard errors of the outer ones.
    sd = np.sqrt(np.mean(theta["sigma"] ** 2) + (x @ theta[["(Intercept)", "days"]].to_numpy().T).var(axis=1))
    for level, z, density in [(0.5, 0.6745, 0.3178), (0.9, 1.6449, 0.1031), (0.98, 2.3263, 0.0267)]:
        tail = (1 - level) / 2
        found = linear.predict(rows, level=level, number=number)
        error = np.sqrt(tail * (1 - tail) / number) / density
        np.testing.assert_allclose((found["upper"] - found["mean"]) / sd, z, atol=6 * error)
        np.testing.assert_allclose((found["mean"] - found["lower"]) / sd, z, atol=6 * error)
        assert (found["observed"] == rows["reaction"]).all()


def test_a_new_group_is_drawn_from_the_population(mixed, frame):
    known = frame.iloc[[4]]
    new = known.assign(subject="someone else")
    width = {
        name: float((found["upper"] - found["lower"]).iloc[0])
        for name, found in [("known", mixed.predict(known)), ("new", mixed.predict(new))]
    }
    assert width["new"] > 1.5 * width["known"]


def test_leave_one_out(linear, mixed, frame):
    loo = linear.loo()
    assert loo["rows"] == len(frame)
    assert loo["high_k"] < 0.05 * len(frame)  # the tail of 4000 weights is an estimate, too
    # Three parameters; the sum over rows of a normal regression's exact leave-one-out predictive densities, with a flat prior and
    # Student's t with n - 3 degrees of freedom, differs by less than the priors move the posterior.
    x = np.column_stack([np.ones(len(frame)), frame["days"]])
    y = frame["reaction"].to_numpy()
    assert loo["elpd"] == pytest.approx(exact_loo(x, y), abs=0.3)
    assert loo["p_loo"] == pytest.approx(3, abs=1)
    better = mixed.loo()
    assert better["elpd"] > loo["elpd"] + 100
    with pytest.raises(ValueError, match="needs a regression"):
        magva.fit(lambda t: (-0.5 * t @ t, -t), 2).loo()


def exact_loo(x, y):
    stats = pytest.importorskip("scipy.stats")
    total = 0.0
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        xtx = np.linalg.inv(x[rest].T @ x[rest])
        beta = xtx @ x[rest].T @ y[rest]
        free = len(rest) - x.shape[1]
        s2 = np.sum((y[rest] - x[rest] @ beta) ** 2) / free
        total += stats.t.logpdf(y[i], free, x[i] @ beta, np.sqrt(s2 * (1 + x[i] @ xtx @ x[i])))
    return total


def test_models_are_compared_by_loo(linear, mixed, frame):
    table = magva.compare({"line": linear, "subjects": mixed}, by="loo")
    assert list(table.index) == ["subjects", "line"]
    assert table.loc["subjects", "elpd_difference"] == 0
    assert table.loc["line", "elpd"] == linear.loo()["elpd"]
    assert table.loc["line", "elpd_difference"] < -4 * table.loc["line", "difference_se"]
    other = magva.fit_formula("reaction ~ days", frame[:100])
    with pytest.raises(magva.DataError, match="different responses or rows"):
        magva.compare({"line": linear, "other": other}, by="loo")
    with pytest.raises(ValueError, match="must be 'elbo' or 'loo'"):
        magva.compare({"line": linear}, by="waic")


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("reaction ~ dyas", {}, ValueError, "dyas"),
        ("reaction ~ days +", {}, ValueError, "formula"),
        ("reaction ~ days", {"family": "poison"}, ValueError, "poison"),
        ("reaction ~ days", {"prior": "dais ~ normal(0, 1)"}, ValueError, "dais"),
        ("reaction ~ days", {"familly": "poisson"}, magva.OptionError, "did you mean 'family'"),
        ("passed ~ days", {"family": "gaussian"}, ValueError, "passed"),
        (3, {}, TypeError, "must be a text"),
    ],
)
def test_formulas_that_cannot_be(frame, formula, options, error, words):
    with pytest.raises(error, match=words):
        magva.fit_formula(formula, frame, **options)
