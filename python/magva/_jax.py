"""Log densities that are written with JAX."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._fit import Fit
from ._options import FittingOptions, Unpack, check_options
from ._run import Run
from ._structure import Array, Structure, element_names
from ._watch import Callback

__all__ = ["JaxFunction", "double_precision", "fit_flat", "fit_jax"]

_SIZES = (1, 16, 64, 256)  # of batches that are compiled for functions that cost little
_COSTLY = 2e-3  # seconds in a call of a function that costs more than what fills up its batch may add


def double_precision() -> Any:
    """A context in which JAX computes in double precision, whatever the user's own setting."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


class JaxFunction:
    """A function of one theta, mapped over draws in one compiled call a batch.

    Compiling takes longer than many calls: batches are filled up to one of few sizes, or to a power of two if the function is costly.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        import jax

        self._compiled = jax.jit(jax.vmap(function))
        self._seconds: dict[int, list[float]] = {}  # of calls, by size; the first one compiles
        self._costly = False

    def _size(self, count: int) -> int:
        if self._costly:
            return 1 << (count - 1).bit_length()
        return next(size for size in _SIZES if size >= count)

    def _batch(self, theta: Array) -> Any:
        import jax

        count = len(theta)
        size = self._size(count)
        if size > count:
            theta = np.concatenate([theta, np.broadcast_to(theta[-1], (size - count, theta.shape[1]))])
        begin = time.perf_counter()
        with double_precision():
            answer = jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[:count], self._compiled(theta))
        self._look_at_time(size, time.perf_counter() - begin)
        return answer

    def _look_at_time(self, size: int, seconds: float) -> None:
        """On a busy machine any call may take long: the shortest of a few tells."""
        times = self._seconds.setdefault(size, [])
        if len(times) < 5:
            times.append(seconds)
            self._costly = self._costly or (len(times) == 5 and min(times[1:]) > _COSTLY)

    def __call__(self, theta: Array) -> Any:
        """Of draws (S, m): the results with a leading axis of S, as NumPy arrays."""
        import jax

        most = _SIZES[-1]
        parts = [self._batch(theta[first : first + most]) for first in range(0, len(theta), most)]
        return parts[0] if len(parts) == 1 else jax.tree_util.tree_map(lambda *leaves: np.concatenate(leaves), *parts)


class JaxDensity:
    """Value and gradient, as the engine asks for them."""

    def __init__(self, log_density: Callable[[Any], Any]) -> None:
        import jax

        self._function = JaxFunction(jax.value_and_grad(log_density))

    def __call__(self, columns: Array) -> tuple[Array, Array]:
        values, gradients = self._function(columns.T)
        return np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(gradients, dtype=np.float64)


class JaxReport:
    """Quantities that a function makes of one theta: a mapping of names to arrays."""

    def __init__(self, function: Callable[[Any], Mapping[str, Any]]) -> None:
        self._function = JaxFunction(function)

    def draws(self, theta: Array) -> dict[str, Array]:
        return {name: np.asarray(array, dtype=np.float64) for name, array in self._function(theta).items()}

    def shapes(self, start: Array) -> dict[str, tuple[int, ...]]:
        return {name: array.shape[1:] for name, array in self.draws(start[None]).items()}

    def __call__(self, columns: Array) -> Array:
        found = self.draws(columns.T)
        return np.ascontiguousarray(np.concatenate([array.reshape(columns.shape[1], -1) for array in found.values()], axis=1))


def fit_flat(
    run: Run,
    log_density: Callable[[Any], Any],
    shapes: Mapping[str, tuple[int, ...]],
    report: Callable[[Any], Mapping[str, Any]] | None,
    description: str,
    **structure: Any,
) -> Fit:
    """A fit of a JAX function of a flat theta, whose parts have these shapes; ``report`` makes quantities of it."""
    source = _core.Source.density(JaxDensity(log_density), element_names(shapes), description)
    if report is not None:
        reporter = JaxReport(report)
        shapes = reporter.shapes(run.init)
        source.report_by(reporter, element_names(shapes))
    return run.fit(source, Structure.from_shapes(shapes, **structure))


def _leaf_name(path: Any) -> str:
    """('layer', 0, 'w') is layer.0.w; a bare array is theta."""
    parts = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path]
    return ".".join(parts) or "theta"


def fit_jax(
    log_density: Callable[[Any], Any],
    params: Any,
    *,
    report: Callable[[Any], Mapping[str, Any]] | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[FittingOptions],
) -> Fit:
    """Fits a Gaussian to a posterior whose log density is written with ``jax.numpy``.

    Gradients, compilation and batches are taken care of; all is computed in double precision.

    Parameters
    ----------
    log_density
        Maps parameters, a pytree like ``params``, to the log density, up to a constant. Parameters are unconstrained.
    params
        A pytree of arrays: the parameters' shapes, and where the fit starts.
    report
        Maps parameters to a dict of what the result is to be about, such as ``{"sigma": jnp.exp(p["log_sigma"])}``; without it, the
        parameters themselves.
    progress, callback, **options
        As for :func:`magva.fit`.
    """
    import jax
    from jax.flatten_util import ravel_pytree

    checked = check_options("fit_jax", options)
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    if not leaves:
        raise ValueError("params holds no arrays: it must have the shapes of the parameters")
    shapes: dict[str, tuple[int, ...]] = {_leaf_name(path): np.shape(leaf) for path, leaf in leaves}
    if len(shapes) != len(leaves):
        raise ValueError("two arrays of params have the same name")
    with double_precision():
        start, restore = ravel_pytree(jax.tree_util.tree_map(lambda leaf: np.asarray(leaf, dtype=np.float64), params))

    def flat(theta: Any) -> Any:
        value = log_density(restore(theta))
        if np.shape(value) != ():
            raise ValueError(f"log_density returned an array of shape {np.shape(value)} and must return one number")
        return value

    name = getattr(log_density, "__name__", type(log_density).__name__)
    about = f"JAX log density '{name}' with {start.size} parameters"
    quantities = None if report is None else lambda theta: report(restore(theta))
    return fit_flat(Run(checked, progress, callback, np.array(start)), flat, shapes, quantities, about)
