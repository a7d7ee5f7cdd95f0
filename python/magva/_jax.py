"""Log densities that are written with JAX."""

from __future__ import annotations

import importlib
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

_FIRST, _LARGEST = 16, 256  # draws in a batch: the size that is compiled first, and the largest one
_CACHE = 1 << 22  # bytes, roughly: a batch that needs more waits for memory, and gains nothing by being larger
# Seconds, roughly, on one core: to compile another size, to make a call, and for an operation. Only their ratios matter.
_COMPILING, _CALLING, _OPERATION = 0.5, 1e-4, 2.5e-10
_SHARE_OF_GRADIENTS = 2 / 3  # of the time of values and gradients


def double_precision() -> Any:
    """A context in which JAX computes in double precision, whatever the user's own setting."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


class JaxFunction:
    """A function of one theta, mapped over draws by compiled calls of few sizes, which are powers of two.

    Compiling takes longer than many calls. One size is compiled at first, and another one when going without it has cost as much as
    compiling it does. Costs are counted in XLA's operations, not by a clock: the same fit makes the same calls, and has the same bits.
    """

    def __init__(self, function: Callable[[Any], Any], larger: JaxFunction | None = None) -> None:
        """``larger``: a function that takes more memory for each theta; what is too large a batch for it is not tried here."""
        import jax

        self._function = jax.jit(function)  # by itself, so that it is traced once for all sizes
        self._larger = larger
        self._compiled: dict[int, Any] = {}
        self._lost: dict[int, float] = {}  # by sizes that are not compiled
        self._point = 0.0  # seconds for one theta
        self._largest = _LARGEST

    def shapes(self, dim: int) -> Any:
        """What the function returns for a theta of this dimension: shapes and types, without a compiled call."""
        import jax

        with double_precision():
            return jax.eval_shape(self._function, jax.ShapeDtypeStruct((dim,), np.float64))

    def _compile(self, size: int, dim: int) -> None:
        import jax

        with double_precision():
            mapped = jax.jit(jax.vmap(self._function))
            self._compiled[size] = mapped.lower(jax.ShapeDtypeStruct((size, dim), np.float64)).compile()
        if not self._point:
            self._point = _OPERATION * _operations(self._compiled[size]) / size
            while self._largest > _FIRST and self._largest * _memory(self._compiled[size]) > _CACHE * size:
                self._largest //= 2

    @property
    def largest(self) -> int:
        """The largest batch that fits into a cache, as far as that is known."""
        return self._largest if self._larger is None else min(self._largest, self._larger.largest)

    def seconds(self, count: int) -> float:
        """What so many draws cost by the size that suits them best."""
        return min((self._seconds(size, count) for size in self._compiled), default=0.0)

    def _seconds(self, size: int, count: int) -> float:
        return -(-count // size) * (_CALLING + size * self._point)

    def _size(self, count: int, dim: int) -> int:
        """Of the batches for so many draws."""
        best = min(self.largest, 1 << (count - 1).bit_length())
        if not self._compiled:
            self._compile(max(best, _FIRST), dim)
        size = min(self._compiled, key=lambda size: self._seconds(size, count))
        if best in self._compiled:
            return size
        self._lost[best] = self._lost.get(best, 0.0) + self._seconds(size, count) - self._seconds(best, count)
        if self._lost[best] < _COMPILING:
            return size
        self._compile(best, dim)
        return best

    def _batch(self, theta: Array, size: int) -> Any:
        import jax

        count = len(theta)
        if size > count:
            theta = np.concatenate([theta, np.broadcast_to(theta[-1], (size - count, theta.shape[1]))])
        with double_precision():
            return jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[:count], self._compiled[size](theta))

    def __call__(self, theta: Array) -> Any:
        """Of draws (S, m): the results with a leading axis of S, as NumPy arrays."""
        import jax

        size = self._size(*theta.shape)
        parts = [self._batch(theta[first : first + size], size) for first in range(0, len(theta), size)]
        return parts[0] if len(parts) == 1 else jax.tree_util.tree_map(lambda *leaves: np.concatenate(leaves), *parts)


def _operations(compiled: Any) -> float:
    costs = compiled.cost_analysis() or {}
    costs = costs[0] if isinstance(costs, list) else costs  # as JAX had it before 0.5
    return float(costs.get("flops", 0.0)) + 10 * float(costs.get("transcendentals", 0.0))


def _memory(compiled: Any) -> float:
    """Bytes of arguments, results and what is between them."""
    used = compiled.memory_analysis()
    if used is None:
        return 0.0
    return float(used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes)


class JaxDensity:
    """Value and gradient, as the engine asks for them.

    Values alone are a function of their own, which is compiled when gradients that nobody asked for have cost as much as that.
    """

    def __init__(self, log_density: Callable[[Any], Any]) -> None:
        import jax

        self._function = JaxFunction(jax.value_and_grad(log_density))
        self._value_function = JaxFunction(log_density, larger=self._function)
        self._wasted = 0.0

    def values(self, columns: Array) -> Array:
        if self._wasted < _COMPILING:
            self._wasted += _SHARE_OF_GRADIENTS * self._function.seconds(columns.shape[1])
            return self(columns)[0]
        return np.ascontiguousarray(self._value_function(columns.T), dtype=np.float64)

    def __call__(self, columns: Array) -> tuple[Array, Array]:
        values, gradients = self._function(columns.T)
        return np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(gradients, dtype=np.float64)


class JaxReport:
    """Quantities that a function makes of one theta: a mapping of names to arrays."""

    def __init__(self, function: Callable[[Any], Mapping[str, Any]]) -> None:
        self._function = JaxFunction(function)

    def draws(self, theta: Array) -> dict[str, Array]:
        return {name: np.asarray(array, dtype=np.float64) for name, array in self._function(theta).items()}

    def shapes(self, dim: int) -> dict[str, tuple[int, ...]]:
        found = self._function.shapes(dim)
        if not isinstance(found, Mapping) or not all(hasattr(array, "shape") for array in found.values()):
            raise TypeError("report must return a dict of names to arrays, such as {'sigma': jnp.exp(p['log_sigma'])}")
        return {name: array.shape for name, array in found.items()}

    def __call__(self, columns: Array) -> Array:
        found = self.draws(columns.T)
        return np.ascontiguousarray(np.concatenate([array.reshape(columns.shape[1], -1) for array in found.values()], axis=1))


def fit_flat(
    run: Run,
    density: JaxDensity,
    shapes: Mapping[str, tuple[int, ...]],
    report: Callable[[Any], Mapping[str, Any]] | None,
    description: str,
    **structure: Any,
) -> Fit:
    """A fit of a density of a flat theta, whose parts have these shapes; ``report`` makes quantities of it."""
    source = _core.Source.density(density, element_names(shapes), description, density.values)
    if report is not None:
        reporter = JaxReport(report)
        shapes = reporter.shapes(len(run.init))
        source.report_by(reporter, element_names(shapes))
    return run.fit(source, Structure.from_shapes(shapes, **structure))


def _leaf_name(path: Any) -> str:
    """('layer', 0, 'w') is layer.0.w; a bare array is theta."""
    parts = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path]
    return ".".join(parts) or "theta"


def _finite(leaf: Any) -> Array:
    try:
        array = np.asarray(leaf, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"params must hold arrays of numbers: {error}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError("params must be finite: the fit starts there")
    return array


def _one_number(value: Any) -> Any:
    """What a log density returned, as a real number of JAX."""
    import jax.numpy as jnp

    if not hasattr(value, "shape") and not isinstance(value, (int, float)):
        raise TypeError(f"log_density returned a {type(value).__name__} and must return one number: its gradient is made by JAX")
    if jnp.shape(value) != ():
        raise ValueError(f"log_density returned an array of shape {jnp.shape(value)} and must return one number")
    if jnp.iscomplexobj(value):
        raise TypeError("log_density returned a complex number and must return a real one")
    return jnp.asarray(value, dtype=np.float64)


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
        As for ``magva.fit``.
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
        start, restore = ravel_pytree(jax.tree_util.tree_map(_finite, params))

    def flat(theta: Any) -> Any:
        return _one_number(log_density(restore(theta)))

    name = getattr(log_density, "__name__", type(log_density).__name__)
    about = f"JAX log density '{name}' with {start.size} parameters"
    quantities = None if report is None else lambda theta: report(restore(theta))
    return fit_flat(Run(checked, progress, callback, np.array(start)), JaxDensity(flat), shapes, quantities, about)
