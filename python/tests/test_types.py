"""The package is clean for ruff, mypy and pyright."""

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
