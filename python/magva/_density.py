"""A user's log density as the engine calls it, with every answer checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
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
    return f"{type(value).__name__} with dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__


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
