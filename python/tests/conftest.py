"""What the tests share: the program, a posterior with a known answer, the data of the paper."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

SOURCE = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("MAGVA_PROGRAM", str(SOURCE / "build" / "magva"))


class KnownGaussian:
    """N(mean, covariance): every fit of it has these moments, to rounding."""

    def __init__(self, dim: int) -> None:
        rng = np.random.default_rng(7)
        factor = rng.normal(size=(dim, dim))
        self.dim = dim
        self.mean = rng.normal(size=dim)
        self.covariance = factor @ factor.T / dim + np.eye(dim)
        self.precision = np.linalg.inv(self.covariance)

    def __call__(self, theta):
        centred = theta - self.mean
        return -0.5 * centred @ self.precision @ centred, -self.precision @ centred

    def batched(self, theta):
        centred = theta - self.mean
        gradient = -centred @ self.precision
        return 0.5 * np.sum(centred * gradient, axis=1), gradient


@pytest.fixture(scope="session")
def gaussian():
    return KnownGaussian(5)


@pytest.fixture(scope="session")
def ionosphere():
    import pandas as pd

    return pd.read_csv(SOURCE / "data" / "ionosphere.csv")


@pytest.fixture(scope="session")
def program():
    """Runs the program; its exit code may say that a fit is not to be trusted."""
    if not pathlib.Path(PROGRAM).exists():
        pytest.skip("the program has not been built")

    def run(*words, codes=(0, 3)):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        assert done.returncode in codes, done.stderr
        return done.stdout

    return run
