"""Log densities that are Python functions: every answer is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._fit import Fit
from ._options import FittingOptions, Unpack, check_options
from ._run import Run
from ._structure import Array
from ._watch import Callback

__all__ = ["BatchedDensity", "PointwiseDensity", "fit"]

LogDensity = Callable[..., Any]

_RETURNS = "must return the log density and its gradient"


def _numbers(value: Any, what: str) -> Array:
    try:
        array = np.asarray(value)
    except Exception as error:
        raise TypeError(f"log_density returned a {what} that is no array of numbers: {error}") from None
    if array.dtype == object or array.dtype.kind not in "fiub":
        raise TypeError(f"log_density returned a {what} of type {_type(value)}, which is no array of real numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _type(value: Any) -> str:
    return f"{type(value).__name__} with dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise TypeError(
            f"log_density returned a {_type(answer)} and {_RETURNS}, as a tuple; magva.fit_jax makes gradients of a JAX function, "
            "and jax.value_and_grad, autograd or a hand-written gradient make such a tuple"
        )
    return answer[0], answer[1]


class BatchedDensity:
    """``function`` maps an array of draws (S, m) to values (S,) and gradients (S, m)."""

    def __init__(self, function: LogDensity, dim: int) -> None:
        self.function = function
        self.dim = dim

    def __call__(self, columns: Array) -> tuple[Array, Array]:
        theta = columns.T
        value, gradient = _pair(self.function(theta))
        values, gradients = _numbers(value, "value"), _numbers(gradient, "gradient")
        count = len(theta)
        if values.shape != (count,) or gradients.shape != (count, self.dim):
            raise ValueError(
                f"log_density returned values of shape {values.shape} and gradients of shape {gradients.shape} for {count} draws; "
                f"with batched=True they must be ({count},) and ({count}, {self.dim})"
            )
        return values, gradients


class PointwiseDensity:
    """``function`` maps one theta (m,) to a number and a gradient (m,)."""

    def __init__(self, function: LogDensity, dim: int) -> None:
        self.function = function
        self.dim = dim

    def __call__(self, columns: Array) -> tuple[Array, Array]:
        theta = columns.T
        values = np.empty(len(theta))
        gradients = np.empty((len(theta), self.dim))
        for s, point in enumerate(theta):
            value, gradient = _pair(self.function(point))
            one, row = _numbers(value, "value"), _numbers(gradient, "gradient")
            if one.size != 1 or row.shape != (self.dim,):
                raise ValueError(
                    f"log_density returned a value of shape {one.shape} and a gradient of shape {row.shape}; "
                    f"for one theta they must be a number and ({self.dim},)"
                )
            values[s] = one.reshape(())
            gradients[s] = row
        return values, gradients


def _dimension(dim: Any) -> int:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        raise ValueError(f"dim is {dim!r} and must be a positive integer: the number of parameters")
    return int(dim)


def fit(
    log_density: LogDensity,
    dim: int,
    *,
    batched: bool = False,
    jac: Any = True,
    names: Sequence[str] | None = None,
    init: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[FittingOptions],
) -> Fit:
    """Fits a Gaussian to a posterior that is given by its log density.

    Ctrl-C ends the fit with the best result so far and an ``InterruptedWarning``; a second one raises ``KeyboardInterrupt``.

    Parameters
    ----------
    log_density
        Maps theta, an array of ``dim`` unconstrained numbers, to the log density (up to a constant) and its gradient. A point outside
        of the support, or that cannot be evaluated, gets ``-inf`` or ``nan``.
    dim
        The number of parameters.
    batched
        Whether ``log_density`` maps an array (S, dim) of S points to values (S,) and gradients (S, dim): the fewer calls, the faster.
    jac
        ``True``: ``log_density`` returns its gradient, too; or a function that returns the gradient.
    names
        Of the parameters; ``theta[1]``, ``theta[2]``, ... without.
    init
        Where to start: an array, or a mapping of names to values. Zeros without.
    progress
        Whether to show a bar; by default in notebooks and on terminals.
    callback
        Called with a ``FitView`` after every iteration; ``False`` ends the fit with the best result so far.
    **options
        How the fit is run: see ``magva.options``.
    """
    m = _dimension(dim)
    labels = [f"theta[{i + 1}]" for i in range(m)] if names is None else [str(name) for name in names]
    if len(labels) != m or len(set(labels)) != m:
        raise ValueError(f"names must be {m} different texts, one per parameter")
    run = Run(check_options("fit", options), progress, callback, init)
    function = _with_gradient(log_density, jac)
    density = BatchedDensity(function, m) if batched else PointwiseDensity(function, m)
    source = _core.Source.density(density, labels, f"log density {_name(log_density)} with {m} parameters")
    return run.fit(source)


def _with_gradient(log_density: LogDensity, jac: Any) -> LogDensity:
    """A function that returns value and gradient."""
    if not callable(log_density):
        raise TypeError(f"log_density is a {type(log_density).__name__} and must be a function")
    if jac is None or jac is False:
        raise ValueError(
            "the engine needs the gradient of the log density: return it with the value, give it as jac=, "
            "or let magva.fit_jax differentiate a function that is written with jax.numpy"
        )
    if jac is True:
        return log_density
    if not callable(jac):
        raise TypeError(f"jac is a {type(jac).__name__} and must be True or a function that returns the gradient")
    return lambda theta: (log_density(theta), jac(theta))


def _name(function: Any) -> str:
    return f"'{getattr(function, '__name__', type(function).__name__)}'"
