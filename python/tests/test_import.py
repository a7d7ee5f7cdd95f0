"""`import magva` is light: nothing heavy is imported before it is used."""

import subprocess
import sys

import pytest

import magva

HEAVY = ["numpy", "pandas", "scipy", "sklearn", "jax", "pymc", "arviz", "tqdm", "pyarrow"]


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_heavy_is_imported():
    assert run(f"import sys, magva; print([name for name in {HEAVY} if name in sys.modules])") == "[]\n"


def test_a_fit_of_arrays_imports_numpy_alone():
    program = f"""
import sys, magva
magva.fit(lambda t: (-.5 * t @ t, -t), 2, progress=False).mean
print([name for name in {HEAVY} if name in sys.modules])
"""
    assert run(program) == "['numpy']\n"


def test_every_name_is_there():
    assert set(magva.__all__) < set(dir(magva))
    assert all(getattr(magva, name) is not None for name in magva.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit_fromula'"):
        _ = magva.fit_fromula


def test_all_of_it_by_a_star():
    assert run("from magva import *; print(fit_formula.__name__)") == "fit_formula\n"
