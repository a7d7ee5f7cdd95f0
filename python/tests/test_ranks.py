"""Fits whose rows are spread over the ranks of an MPI communicator."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import magva

PLUGIN = pathlib.Path(os.environ.get("MAGVA_PROGRAM", "magva")).resolve().parent / "libmagva_mpi.so"

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not PLUGIN.exists() or shutil.which("mpirun") is None, reason="built without MPI")


def on_ranks(folder, count, program):
    script = folder / "program.py"
    script.write_text(textwrap.dedent(DATA) + textwrap.dedent(program))
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(count)]
    environment = {**os.environ, "MAGVA_MPI_PLUGIN": str(PLUGIN), "OMPI_MCA_mpi_yield_when_idle": "1"}
    return subprocess.run([*launcher, sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


DATA = """
    import numpy as np
    import magva
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(1)
    x = generator.normal(size=300)
    data = {"x": x, "y": 1 + x + generator.normal(size=300), "g": list("abc") * 100}
"""


@pytest.mark.parametrize("count", [2, 3])
def test_every_rank_gets_the_fit_of_one(tmp_path, count):
    done = on_ranks(
        tmp_path,
        count,
        """
        for k in range(2):
            fit = magva.fit_formula("y ~ x + g", data, comm=comm)
        alone = magva.fit_formula("y ~ x + g", data)
        assert abs(fit.elbo / alone.elbo - 1) < 1e-10, (fit.elbo, alone.elbo)
        means = comm.allgather(tuple(fit.theta_mean) + tuple(fit.sd))
        assert all(mean == means[0] for mean in means)
        print("as it should be" + chr(10), end="")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("as it should be") == count


def test_an_error_is_raised_on_every_rank(tmp_path):
    done = on_ranks(
        tmp_path,
        2,
        """
        try:
            magva.fit_table(data, "nothing", comm=comm)
        except (ValueError, RuntimeError) as error:
            print(f"said: {error}" + chr(10), end="")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("said: ") == 2
    assert done.stdout.count("'nothing'") == 1


def test_takes_communicators_alone():
    with pytest.raises(TypeError, match="mpi4py"):
        magva.fit_table({"x": [1.0, 2.0], "y": [1.0, 2.0]}, "y", comm=3)
