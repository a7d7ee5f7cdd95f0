"""Whatever goes wrong is a clear exception, and the interpreter lives."""

import time
import traceback

import numpy as np
import pandas as pd
import pytest

import magva


def fine(theta):
    return -0.5 * theta @ theta, -theta


class Broken(Exception):
    pass


def test_what_the_density_raises_comes_out_with_its_traceback():
    def deep_inside():
        raise Broken("my own message")

    def density(theta):
        return deep_inside()

    with pytest.raises(Broken, match="my own message") as caught:
        magva.fit(density, 2)
    functions = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert functions[-2:] == ["density", "deep_inside"]
    assert magva.fit(fine, 2).trusted


def test_a_density_that_fails_late():
    calls = []

    def density(theta):
        calls.append(1)
        if len(calls) == 50:
            raise Broken
        return fine(theta)

    with pytest.raises(Broken):
        magva.fit(density, 3)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda t: -0.5 * t @ t, TypeError, "must return the log density and its gradient"),
        (lambda t: (0.0, -t, 1), TypeError, "must return the log density and its gradient"),
        (lambda t: (0.0, -t[:1]), ValueError, r"gradient of shape \(1,\)"),
        (lambda t: (t, -t), ValueError, r"value of shape \(2,\)"),
        (lambda t: ("x", -t), TypeError, "no array of real numbers"),
        (lambda t: (1j, -t), TypeError, "no array of real numbers"),
        (lambda t: (0.0, [object(), object()]), TypeError, "no array of real numbers"),
        (lambda t: (0.0, [[1], [2, 3]]), TypeError, "no array of numbers"),
        (lambda t: None, TypeError, "NoneType"),
    ],
)
def test_answers_of_the_wrong_kind(answer, error, words):
    with pytest.raises(error, match=words):
        magva.fit(answer, 2)


def test_batched_answers_of_the_wrong_shape():
    with pytest.raises(ValueError, match="with batched=True"):
        magva.fit(lambda t: (0.0, -t), 2, batched=True)


def test_a_density_that_is_never_finite():
    with pytest.raises(magva.DataError, match="finite"):
        magva.fit(lambda t: (np.nan, t), 2)


def test_a_density_that_changes_its_mind():
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="differs between two evaluations"):
        magva.fit(lambda t: (-0.5 * t @ t + rng.normal(), -t), 2)


def test_a_slow_density_keeps_to_the_time_limit():
    def slow(theta):
        time.sleep(0.01)
        return fine(theta)

    fit = magva.fit(slow, 20, time_limit=0.3)
    assert fit.stopped == "time limit"
    assert not fit.trusted


def test_gradients_are_asked_for():
    with pytest.raises(ValueError, match="let magva"):
        magva.fit(lambda t: -0.5 * t @ t, 2, jac=None)


def test_a_wrong_gradient_is_not_trusted():
    fit = magva.fit(lambda t: (-0.5 * t @ t, t), 2, evaluations=2000)
    assert not fit.trusted


@pytest.mark.parametrize("dim", [0, -1, 2.5, "3", None, True])
def test_dimensions_that_are_none(dim):
    with pytest.raises(ValueError, match="positive integer"):
        magva.fit(fine, dim)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rnak": 3}, r"no option 'rnak' \(did you mean 'rank'\?\)"),
        ({"rank": "many"}, "rank is 'many' and must be auto or an integer"),
        ({"seed": -1}, "seed is '-1' and must be an integer"),
        ({"time_limit": 0}, "time_limit is '0' and must be a positive number"),
        ({"time_limit": float("nan")}, "finite numbers"),
        ({"approximation": "ful-rank"}, "must be one of"),
        ({"draws": 3}, "the default optimiser has no draws"),
        ({"init": np.zeros(3)}, r"init has shape \(3,\) and must be \(2,\)"),
        ({"init": [np.nan, 0]}, "init must be finite"),
        ({"init": "zeros"}, "init is a str and must be an array of numbers"),
        ({"names": ["a"]}, "names must be 2 different texts"),
        ({"threads": object()}, "must be texts, finite numbers"),
    ],
)
def test_options_that_cannot_be(options, words):
    with pytest.raises(ValueError, match=words):
        magva.fit(fine, 2, **options)


def test_a_misspelt_option_is_a_type_error_too():
    with pytest.raises(TypeError):
        magva.fit(fine, 2, sed=1)


def test_no_function():
    with pytest.raises(TypeError, match="must be a function"):
        magva.fit(3, 2)


def frame(**columns):
    return pd.DataFrame({"y": [0.0, 1.5, 2.5, 1.0], "x": [1.0, 2.0, 3.0, 5.0], **columns})


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (frame(), {"response": "z"}, "no column 'z'"),
        (frame(x=[1, np.inf, 2, 3]), {"response": "y"}, "row 2, column 'x': inf is not a finite number"),
        (frame(x=[1, np.nan, 2, 3]), {"response": "y"}, "missing"),
        (frame(x=pd.date_range("2020", periods=4)), {"response": "y"}, "'x' holds values of type datetime64"),
        (frame(x=[(1,), (2,), (3,), (4,)]), {"response": "y"}, "'x' holds values of type tuple"),
        (frame(x=[1j, 2, 3, 4]), {"response": "y"}, "'x' holds values of type complex"),
        (frame(y=["a", "b", "c", "a"]), {"response": "y"}, "class"),
        (frame()[:0], {"response": "y"}, "no rows"),
        (pd.DataFrame([[1.0, 2.0]] * 3, columns=["y", "y"]), {"response": "y"}, "two columns 'y'"),
    ],
)
def test_tables_that_cannot_be_used(data, options, words):
    with pytest.raises(magva.DataError, match=words):
        magva.fit_table(data, **options)


def test_no_table():
    with pytest.raises(TypeError, match="pandas, polars or Arrow"):
        magva.fit_table(np.zeros((3, 2)), "y")
    with pytest.raises(TypeError, match="the data are a Series"):
        magva.fit_table(frame()["y"], "y")
    with pytest.raises(TypeError, match="name of a column"):
        magva.fit_table(frame(), np.zeros(4))


def test_arrays_of_the_wrong_shape():
    x = np.zeros((4, 2))
    with pytest.raises(ValueError, match="two-dimensional"):
        magva.fit_arrays(x[:, 0], np.zeros(4))
    with pytest.raises(ValueError, match="one value per row"):
        magva.fit_arrays(x, np.zeros(3))
    with pytest.raises(ValueError, match="weights have shape"):
        magva.fit_arrays(x, np.zeros(4), weights=np.ones(2))


ROWS = np.random.default_rng(3).normal(size=(40, 2))


def changed(array, value):
    out = array.copy()
    out[3] = value
    return out


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        (changed(ROWS, np.nan), ROWS[:, 0], magva.DataError, r"row 4, column 'x1'.*missing='drop'"),
        (changed(ROWS, np.inf), ROWS[:, 0], magva.DataError, "the data, row 4, column 'x1': inf"),
        (ROWS, changed(ROWS[:, 0], np.nan), magva.DataError, "row 4, column 'y'"),
        (np.ma.masked_greater(ROWS, 1), ROWS[:, 0], magva.DataError, "missing value"),
        (ROWS, np.ma.masked_greater(ROWS[:, 0], 1), magva.DataError, "column 'y'"),
        (ROWS + 1j, ROWS[:, 0], TypeError, "complex128 and must hold real numbers"),
        (ROWS, ROWS[:, 0] + 1j, magva.DataError, "'y' holds values of type complex"),
        (changed(ROWS.astype(object), "text"), ROWS[:, 0], TypeError, "must hold real numbers: could not convert"),
        (ROWS, changed(ROWS[:, 0].astype(object), {}), magva.DataError, "'y' holds values of type dict"),
        (ROWS.astype("M8[D]"), ROWS[:, 0], TypeError, "datetime64"),
        (ROWS[:0], ROWS[:0, 0], magva.DataError, "x has no rows"),
        (ROWS, np.ones(40), magva.DataError, "single"),
    ],
)
def test_arrays_that_cannot_be_used(x, y, error, words):
    with pytest.raises(error, match=words):
        magva.fit_arrays(x, y)


def test_numbers_in_arrays_of_objects_are_numbers():
    plain = magva.fit_arrays(ROWS, ROWS[:, 0] + ROWS[::-1, 1])
    objects = magva.fit_arrays(ROWS.astype(object), (ROWS[:, 0] + ROWS[::-1, 1]).astype(object))
    assert objects.mean.tobytes() == plain.mean.tobytes()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"y": [1.0, 2.0], "x": 3}, r"'x' has shape \(\) and must be one-dimensional"),
        ({"y": [1.0, 2.0], "x": [object(), object()]}, "'x' holds values of type object"),
        ({"y": [1.0, 2.0], "x": [1.0]}, "not of one length"),
        ({"y": [1.0, 2.0], "x": [[1, 2], [3, 4]]}, r"'x' has shape \(2, 2\)"),
    ],
)
def test_mappings_that_are_no_tables(data, words):
    with pytest.raises(magva.DataError, match=words):
        magva.fit_table(data, "y")


def test_columns_of_lists():
    pd = pytest.importorskip("pandas")
    table = {"y": np.arange(4.0), "x": changed(np.zeros(4, dtype=object), [1])}
    for data in (table, pd.DataFrame(table)):
        with pytest.raises(magva.DataError, match="'x' holds values of type list"):
            magva.fit_table(data, "y")


def test_missing_values_of_pandas_in_arrays_of_objects():
    pd = pytest.importorskip("pandas")
    text = changed(np.array(["a", "b"] * 20, dtype=object), pd.NA)
    with pytest.raises(magva.DataError, match="1 missing value"):
        magva.fit_table({"y": ROWS[:, 0], "x": text}, "y")


def test_a_callback_that_is_no_function():
    with pytest.raises(TypeError, match="callback is a int"):
        magva.fit(fine, 2, callback=3)


def test_what_a_callback_raises_comes_out():
    def callback(view):
        raise Broken(view.phase)

    with pytest.raises(Broken):
        magva.fit(fine, 2, callback=callback)


def test_a_density_may_fit_itself():
    inner = []

    def density(theta):
        if len(inner) < 3:
            inner.append(magva.fit(fine, 1, starts=1).mean)
        return fine(theta)

    assert magva.fit(density, 2).trusted
    assert len(inner) == 3


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, MemoryError, RecursionError])
def test_exceptions_that_are_no_errors_come_out(end):
    def density(theta):
        raise end

    with pytest.raises(end):
        magva.fit(density, 2)


def test_a_density_that_returns_the_wrong_shape_late():
    calls = []

    def density(theta):
        calls.append(1)
        return fine(theta) if len(calls) < 40 else (0.0, -theta[:1])

    with pytest.raises(ValueError, match=r"gradient of shape \(1,\)"):
        magva.fit(density, 3)


def test_a_density_that_writes_into_its_argument():
    def density(theta):
        theta *= 2
        return -0.5 * theta @ theta, -2 * theta

    fit = magva.fit(density, 2)
    np.testing.assert_allclose(fit.sd, 0.5, rtol=1e-3)


@pytest.mark.parametrize("number", [2.5, "many", 0, -1, None])
def test_numbers_of_draws_that_are_none(number):
    fit = magva.fit_table(frame(), "y")
    for draws in (
        fit.draws,
        fit.frame,
        fit.theta_draws,
        fit.to_arviz,
        lambda n: fit.loo(number=n),
        lambda n: fit.predict(frame(), number=n),
    ):
        with pytest.raises(ValueError, match=r"number is .* and must be .*at least"):
            draws(number)


def test_seeds_and_levels_that_are_none():
    fit = magva.fit_table(frame(), "y")
    for seed in (-1, 0.5):
        with pytest.raises(ValueError, match=r"seed is .* and must be"):
            fit.draws(3, seed=seed)
    with pytest.raises(ValueError, match="level is 90 and must be between 0 and 1"):
        fit.predict(frame(), level=90)


def test_fits_that_cannot_be_compared():
    fit, other = magva.fit_table(frame(), "y"), magva.fit_table(frame()[:3], "y")
    with pytest.raises(ValueError, match=r"different data.*\{'all': 4, 'some': 3\}"):
        magva.compare({"all": fit, "some": other})
    with pytest.raises(TypeError, match="mapping of names to fits"):
        magva.compare([fit, fit])


def test_the_text_of_a_stan_program_is_no_file():
    with pytest.raises(ValueError, match=r"write it to a \.stan file"):
        magva.fit_stan("parameters { real x; } model { x ~ normal(0, 1); }")


def test_an_elbo_without_bound_has_a_short_headline():
    fit = magva.fit(lambda theta: (1e100 * theta.sum(), np.full(2, 1e100)), 2, evaluations=500)
    assert len(repr(fit).splitlines()[1]) < 200


def test_folders_that_hold_no_fit(tmp_path):
    with pytest.raises(OSError, match="there is no fit"):
        magva.load(tmp_path / "nowhere")
    (tmp_path / "other.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        magva.fit(fine, 2).save(tmp_path)
    assert (tmp_path / "other.txt").read_text() == "mine"
