#!/usr/bin/env python3
"""What Python costs: `import magva`, a regression on NumPy arrays beside the engine alone, a JAX density beside its own gradient,
and ionosphere from a DataFrame to a summary. Prints one table.

usage: bench/python/overhead.py        with magva importable, and JAX, pandas and SciPy installed
"""

import contextlib
import pathlib
import subprocess
import sys
import time
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(function, repetitions):
    """The shortest of some runs: what else the machine does only adds."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def processor_seconds(function):
    """Of all threads: a busy machine disturbs them less than those of a clock."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def import_seconds():
    def one(program):
        return min(_process_seconds(program) for _ in range(7))

    return one("import magva") - one("pass"), one("import numpy") - one("pass")


def _process_seconds(program):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - begin


class CallsOfTheEngine:
    """Puts itself between the package and its extension, and adds up the time in C++."""

    def __init__(self, core):
        self.seconds = 0.0
        self._core = core
        self.Source = types.SimpleNamespace(table=self._timed(core.Source.table))
        self.Fit = types.SimpleNamespace(run=self._timed(core.Fit.run))

    def __getattr__(self, name):
        return getattr(self._core, name)

    def _timed(self, function):
        def call(*arguments):
            begin = time.perf_counter()
            answer = function(*arguments)
            self.seconds += time.perf_counter() - begin
            return answer

        return call


def regression_overhead():
    """A fit of arrays: the time outside of the two C++ calls that make the model and fit it, and inside."""
    import magva
    import magva._run as package

    rng = np.random.default_rng(1)
    x = rng.normal(size=(1000, 10))
    y = x @ rng.normal(size=10) + rng.normal(size=1000)
    original = package._core
    engine = package._core = CallsOfTheEngine(original)
    outside, inside = [], []
    for _ in range(40):
        engine.seconds = 0.0
        begin = time.perf_counter()
        magva.fit_arrays(x, y, progress=False)
        outside.append(time.perf_counter() - begin - engine.seconds)
        inside.append(engine.seconds)
    package._core = original
    return min(outside), min(inside)


class Counted:
    """A function that adds up the time in itself."""

    def __init__(self, function):
        self.function = function
        self.seconds = 0.0

    def __call__(self, *arguments):
        begin = time.perf_counter()
        answer = self.function(*arguments)
        self.seconds += time.perf_counter() - begin
        return answer


def jax_ratio(rows=2000, dim=100, batch=256):
    """The adapter's density as the engine calls it, beside the same function's vmapped gradient alone."""
    import jax
    import jax.numpy as jnp

    from magva._jax import JaxDensity, double_precision

    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, dim))
    y = (rng.random(rows) < 0.5).astype(float)

    def log_density(theta):
        eta = x @ theta
        return jnp.sum(y * eta - jnp.logaddexp(0.0, eta)) - 0.5 * jnp.sum(theta**2)

    theta = rng.normal(scale=0.1, size=(batch, dim))
    density = JaxDensity(log_density)
    columns = np.asfortranarray(theta.T)
    with double_precision():
        plain = jax.jit(jax.vmap(jax.value_and_grad(log_density)))
        points = jnp.asarray(theta)
    ours, alone = [], []
    for _ in range(60):  # in turns: what else the machine does meets both
        with double_precision():
            alone.append(processor_seconds(lambda: jax.block_until_ready(plain(points))))
        ours.append(processor_seconds(lambda: density(columns)))
    return min(ours) / min(alone), min(alone)


def jax_fit():
    """A whole fit of such a density over the time in its compiled calls, compilation included."""
    import jax.numpy as jnp

    import magva
    from magva import _jax

    rng = np.random.default_rng(2)
    x = rng.normal(size=(2000, 100))
    y = (rng.random(2000) < 0.5).astype(float)

    def log_density(theta):
        eta = x @ theta
        return jnp.sum(y * eta - jnp.logaddexp(0.0, eta)) - 0.5 * jnp.sum(theta**2)

    original = _jax.JaxFunction.__call__
    density = Counted(original)
    _jax.JaxFunction.__call__ = lambda self, theta: density(self, theta)
    try:
        begin = time.perf_counter()
        magva.fit_jax(log_density, np.zeros(100), progress=False)
        whole = time.perf_counter() - begin
    finally:
        _jax.JaxFunction.__call__ = original
    return whole / density.seconds


def ionosphere_seconds():
    import pandas as pd

    import magva

    table = pd.read_csv(ROOT / "data" / "ionosphere.csv")
    return seconds(lambda: magva.fit_table(table, "Class", progress=False).summary(), 3)


def main():
    rows = []
    ours, numpy_alone = import_seconds()
    rows.append(("import magva", f"{ours:.3f} s (NumPy: {numpy_alone:.3f} s)", "< .3 s", ours < 0.3))
    with contextlib.suppress(ImportError):
        took = ionosphere_seconds()
        rows.append(("ionosphere, from a DataFrame to a summary", f"{took:.3f} s", "< 1 s", took < 1))
    overhead, engine = regression_overhead()
    rows.append(
        (
            "regression on NumPy arrays, 1,000 x 10: beyond the calls of C++",
            f"{1e3 * overhead:.2f} of {1e3 * engine:.2f} ms",
            "<= 5 ms",
            overhead < 5e-3,
        )
    )
    with contextlib.suppress(ImportError):
        ratio, alone = jax_ratio()
        rows.append(
            ("JAX density of dimension 100, 256 draws, over its own gradient", f"{ratio:.2f} ({1e3 * alone:.1f} ms)", "<= 1.3", ratio < 1.3)
        )
        rows.append(("a fit of it over the time in the density", f"{jax_fit():.2f}", "", None))
    print("| | measured | wanted | |\n|---|---|---|---|")
    for what, measured, wanted, kept in rows:
        print(f"| {what} | {measured} | {wanted} | {'' if kept is None else 'yes' if kept else 'no'} |")


if __name__ == "__main__":
    main()
