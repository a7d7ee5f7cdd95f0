"""The package is clean for ruff, mypy and pyright, and its users' programs are checked by its types."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "python"],
        ["ruff", "format", "--check", "python"],
        ["mypy", "--cache-dir=/dev/null", "python/magva"],
        ["pyright", "--pythonpath", sys.executable, "python/magva"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_complaints(command):
    pytest.importorskip(command[0])
    done = subprocess.run([sys.executable, "-m", *command], cwd=SOURCE, capture_output=True, text=True)
    if command[0] == "pyright" and "urlopen error" in done.stderr + done.stdout:
        pytest.skip("pyright cannot fetch its own program here")
    assert done.returncode == 0, done.stdout + done.stderr


USE = """
import numpy as np
import magva
import magva.sklearn

fit = magva.fit(lambda theta: (-0.5 * theta @ theta, -theta), dim=2, seed=3)
reveal_type(fit)
reveal_type(magva.fit_jax)
fit.mean @ np.ones(2)
magva.fit_fromula
magva.fit(lambda theta: (0.0, theta), dim=2, sed=3)
"""


def test_types_of_what_is_imported_when_it_is_used(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "use.py"
    program.write_text(USE)
    command = [sys.executable, "-m", "mypy", "--cache-dir=/dev/null", "--config-file", str(SOURCE / "pyproject.toml"), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(SOURCE / "python")})
    assert 'Revealed type is "magva._fit.Fit"' in done.stdout
    assert "magva._watch.FitView" in done.stdout
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 2, done.stdout
    assert "fit_fromula" in errors[0]
    assert "sed" in errors[1]
