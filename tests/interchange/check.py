"""Draws written by magva, read by ArviZ and by CmdStan's own reader for Python.

usage: check.py WRITE_DRAWS FOLDER   (the program that writes the files; a folder for them)
Exits with 77, for "skipped", if this Python has no such readers.
"""

import importlib.util
import pathlib
import subprocess
import sys

SKIPPED = 77
DRAWS = 50
NAMES = ["mu", "theta[1]", "theta[2]", "theta[3]"] + [f"Sigma[{i},{j}]" for j in (1, 2, 3) for i in (1, 2)]


def expected(name: str, draw: int) -> float:
    return 100.0 * draw + NAMES.index(name)


def check_arrays(posterior) -> None:
    assert posterior["mu"].dims == ("chain", "draw"), posterior["mu"].dims
    assert posterior["theta"].shape == (1, DRAWS, 3), posterior["theta"].shape
    assert posterior["Sigma"].shape == (1, DRAWS, 2, 3), posterior["Sigma"].shape
    for s in (0, 7, DRAWS - 1):
        assert posterior["mu"].values[0, s] == expected("mu", s)
        for i in range(3):
            assert posterior["theta"].values[0, s, i] == expected(f"theta[{i + 1}]", s)
        for i in range(2):
            for j in range(3):
                assert posterior["Sigma"].values[0, s, i, j] == expected(f"Sigma[{i + 1},{j + 1}]", s)


def check_netcdf(file: pathlib.Path) -> None:
    import arviz

    data = arviz.from_netcdf(str(file))
    assert set(data.groups()) == {"posterior", "sample_stats"}, data.groups()
    check_arrays(data.posterior)
    assert data.posterior.attrs["inference_library"] == "magva"
    assert data.posterior.attrs["model_name"] == "known_model"
    assert data.sample_stats["lp"].values[0, -1] == -50
    assert data.sample_stats["log_q"].values[0, 0] == -2
    summary = arviz.summary(data, kind="stats")
    assert "Sigma[1, 2]" in summary.index, list(summary.index)


def check_csv_with_arviz(file: pathlib.Path) -> None:
    import arviz

    data = arviz.from_cmdstan(str(file))
    check_arrays(data.posterior)
    assert data.sample_stats["lp"].values[0, -1] == -50
    assert "log_g" in data.sample_stats


def check_csv_with_cmdstanpy(file: pathlib.Path) -> None:
    import cmdstanpy

    fit = cmdstanpy.from_csv(str(file))
    assert fit.draws().shape == (DRAWS, 3 + len(NAMES)), fit.draws().shape
    assert fit.column_names == tuple(["lp__", "log_p__", "log_g__"] + NAMES), fit.column_names
    assert fit.stan_variable("Sigma")[7, 1, 2] == expected("Sigma[2,3]", 7)
    assert fit.stan_variable("theta").shape == (DRAWS, 3)


def main() -> None:
    write_draws, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    missing = [name for name in ("arviz", "cmdstanpy") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: this Python has no {' and no '.join(missing)} (python/tests/requirements.txt)")
        sys.exit(SKIPPED)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([write_draws, folder], check=True)
    check_netcdf(folder / "draws.nc")
    check_csv_with_arviz(folder / "draws.csv")
    check_csv_with_cmdstanpy(folder / "draws.csv")


main()
