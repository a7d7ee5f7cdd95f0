"""Tables of any kind are the program's tables."""

import json

import numpy as np
import pandas as pd
import pytest

import magva


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "weight": rng.normal(70, 10, n),
            "race": rng.choice(["white", "black", "other"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    eta = 0.05 * (frame["age"] - 40) + np.where(frame["race"] == "black", 1.0, 0.0) + 0.8 * frame["smoker"]
    frame["low"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    frame["cost"] = eta + rng.normal(size=n)
    frame["visits"] = rng.poisson(np.exp(0.3 * eta))
    return frame


@pytest.fixture(scope="module")
def csv(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def words_of(options):
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            words += [flag] if one is True else [flag, one]
    return words


CALLS = [
    {"response": "low", "exclude": ["cost", "visits"]},
    {"response": "low", "exclude": ["cost", "visits"], "approximation": "mean-field", "seed": 4},
    {"response": "low", "exclude": ["cost", "visits"], "rank": 2, "standardise": True},
    {"response": "cost", "exclude": ["low", "visits"], "prior_variance": 2.5},
    {"response": "cost", "exclude": ["low", "visits"], "prior": "horseshoe", "standardise": True},
    {"response": "visits", "column": ["age", "smoker"], "weights": "weight"},
    {"response": "cost", "model": "pspline", "covariate": "age", "basis": 8},
    {"response": "low", "column": ["age", "race"], "rule": "adadelta", "iterations": 200, "rank": 1},
]


@pytest.mark.parametrize("options", CALLS)
def test_agreement_with_the_program_to_the_bit(frame, csv, program, tmp_path, options):
    program("fit", csv, "--out", tmp_path / "fit", "--quiet", *words_of(options))
    theirs = json.loads((tmp_path / "fit" / "fit.json").read_text())
    ours = magva.fit_table(frame, **options)
    assert ours.names == [p["name"] for p in theirs["parameters"]]
    assert ours.mean.tolist() == [p["mean"] for p in theirs["parameters"]]
    assert ours.sd.tolist() == [p["sd"] for p in theirs["parameters"]]
    assert ours.elbo == theirs["elbo"]
    # The program names its options, the package its keywords.
    assert ours.notes == [note.replace("--model linear", "model='linear'") for note in theirs["notes"]]
    assert ours.warnings == theirs["warnings"]
    loaded = magva.load(tmp_path / "fit")
    assert loaded.theta_mean.tobytes() == ours.theta_mean.tobytes()
    assert loaded.draws(5, seed=9).keys() == ours.draws(5, seed=9).keys()


def test_predictions_agree_with_the_program(frame, csv, program, tmp_path):
    fit = magva.fit_table(frame, "low", exclude=["cost", "visits"])
    fit.save(tmp_path / "fit")
    program("predict", tmp_path / "fit", csv, "--out", tmp_path / "rows.csv")
    theirs = pd.read_csv(tmp_path / "rows.csv")
    ours = fit.predict(frame)
    np.testing.assert_array_equal(ours["probability"], theirs["probability"])
    np.testing.assert_array_equal(ours["lower"], theirs["q05"])
    np.testing.assert_array_equal(ours["log_score"], theirs["log_score"])
    half = fit.predict(frame, level=0.5)
    assert (half["lower"] > ours["lower"]).all()
    with pytest.raises(ValueError, match="level"):
        fit.predict(frame, level=1.5)


def test_the_program_reads_a_saved_fit(frame, program, tmp_path):
    magva.fit_table(frame, "low", column=["age"]).save(tmp_path / "table")
    assert "age" in program("summary", tmp_path / "table")
    magva.fit(lambda t: (-0.5 * t @ t, -t), 2, names=["a", "b"]).save(tmp_path / "density")
    assert "a" in program("summary", tmp_path / "density")
    assert program("draws", tmp_path / "density", "-n", 3).splitlines()[0] == "a,b"


def test_pandas_polars_and_arrow_are_one(frame):
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    options = {"response": "low", "exclude": ["cost", "visits"]}
    expected = magva.fit_table(frame, **options)
    tables = {
        "categories": frame.assign(race=frame["race"].astype("category")),
        "nullable": frame.convert_dtypes(),
        "arrow": pa.Table.from_pandas(frame),
        "polars": pl.from_pandas(frame),
        "polars categories": pl.from_pandas(frame).with_columns(pl.col("race").cast(pl.Categorical)),
        "chunks": pa.concat_tables([pa.Table.from_pandas(frame[:70]), pa.Table.from_pandas(frame[70:])]),
        "dictionary chunks": pa.concat_tables(
            [pa.Table.from_pandas(part.assign(race=part["race"].astype("category"))) for part in (frame[:70], frame[70:])]
        ),
        "mapping": {name: frame[name].to_numpy() for name in frame},
    }
    for kind, table in tables.items():
        fit = magva.fit_table(table, **options)
        assert fit.names == expected.names, kind
        assert fit.mean.tobytes() == expected.mean.tobytes(), kind


def test_missing_values_of_any_kind(frame):
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    options = {"response": "cost", "column": ["weight", "race"]}
    holes = frame.copy()
    holes.loc[3, "weight"] = np.nan
    holes.loc[5, "race"] = None
    expected = magva.fit_table(holes.drop(index=[3, 5]), **options)
    question = holes.copy()
    question.loc[5, "race"] = "?"
    for table in (holes, question, holes.convert_dtypes(), pa.Table.from_pandas(holes), pl.from_pandas(holes)):
        with pytest.raises(magva.DataError, match="missing"):
            magva.fit_table(table, **options)
        fit = magva.fit_table(table, missing="drop", **options)
        np.testing.assert_allclose(fit.mean, expected.mean, rtol=1e-9, atol=1e-12)


def test_numbers_as_texts(frame):
    few = frame.assign(group=frame["age"] % 3)
    fit = magva.fit_table(few, "cost", column=["group"], text=["group"])
    assert sum(name.startswith("group[") for name in fit.names) == 2


def test_prediction_of_a_frame_keeps_its_index(frame):
    fit = magva.fit_table(frame, "cost", column=["age", "race"])
    new = frame[["age", "race"]].iloc[[5, 9]].set_axis(["first", "second"])
    predicted = fit.predict(new)
    assert list(predicted.index) == ["first", "second"]
    assert list(predicted.columns) == ["mean", "lower", "upper"]
    with pytest.raises(magva.DataError, match="the table, row 1, column 'race': 'green' is not among"):
        fit.predict(new.assign(race="green"))
    with pytest.raises(magva.DataError, match="age"):
        fit.predict(new[["race"]])


@pytest.mark.parametrize("classes", [("no", "yes"), (False, True), (0, 1), (1.5, 2.5)])
def test_predicted_classes_are_values_of_the_response(frame, classes, tmp_path):
    data = frame[["age", "weight"]].assign(y=np.where(frame["age"] + frame["weight"] > 110, *reversed(classes)))
    fit = magva.fit_table(data, "y", model="logistic")
    fit.save(tmp_path / "fit")
    for one in (fit, magva.load(tmp_path / "fit")):
        predicted = one.predict(data)
        assert (predicted["observed"] == data["y"]).all()
        assert (predicted["class"] == data["y"]).mean() > 0.8
        assert set(predicted["class"]) <= set(classes)


def test_arrays_dense_and_sparse(frame):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 6)) * (rng.random((100, 6)) < 0.4)
    y = (rng.random(100) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    dense = magva.fit_arrays(x, y)
    for kind in (scipy_sparse.csr_matrix, scipy_sparse.csc_array, scipy_sparse.coo_matrix):
        sparse = magva.fit_arrays(kind(x), y)
        np.testing.assert_allclose(sparse.mean, dense.mean, atol=1e-6)
    named = magva.fit_arrays(x, y, names=list("abcdef"), weights=np.ones(100))
    assert named.names[1:] == list("abcdef")
    np.testing.assert_allclose(named.mean, dense.mean, atol=1e-9)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_arrays_have_the_names_of_a_data_frame(package):
    frames = pytest.importorskip(package)
    rng = np.random.default_rng(1)
    x = frames.DataFrame({"age": rng.normal(size=50), "y": rng.normal(size=50)})
    fit = magva.fit_arrays(x, np.asarray(x["age"]) + rng.normal(size=50))
    assert fit.names == ["(Intercept)", "age", "y", "sigma"]
    assert len(fit.predict(x[:3])) == 3
    numbered = magva.fit_arrays(pd.DataFrame(np.asarray(x)), np.asarray(x["age"]) + rng.normal(size=50))
    assert numbered.names == ["(Intercept)", "x1", "x2", "sigma"]


def test_option_types_are_those_of_the_table():
    from magva._options import GROUPS, FittingOptions, StanOptions, TableOptions, _names

    fitting = set(_names(GROUPS["fit"]))
    assert set(FittingOptions.__annotations__) == fitting
    assert set(TableOptions.__annotations__) | fitting == set(_names(GROUPS["fit_table"]))
    assert set(StanOptions.__annotations__) | fitting == set(_names(GROUPS["fit_stan"]))
    assert "covariance" in magva.options()["rank"]
    assert set(magva.options("fit_jax")) == fitting
