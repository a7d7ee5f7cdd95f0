"""Regressions on tables and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._fit import Fit
from ._options import ArrayOptions, FormulaOptions, TableOptions, Unpack, check_options
from ._run import Run
from ._watch import Callback

__all__ = ["fit_arrays", "fit_formula", "fit_table"]


def fit_table(
    data: Any,
    response: str,
    *,
    init: Mapping[str, float] | Any = None,
    text: Sequence[str] = (),
    comm: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[TableOptions],
) -> Fit:
    """Fits a regression of one column of a table on the others, as ``magva fit`` does.

    Parameters
    ----------
    data
        A pandas, polars or Arrow table, or a mapping of names to columns. Texts, categories and booleans become indicators.
    response
        The column that is to be explained. The model follows from it unless ``model=`` names one: two classes, counts, or numbers.
    init
        Where to start: an array, or a mapping of names to values.
    text
        Columns of numbers that are names of categories.
    comm
        A communicator of mpi4py, such as ``MPI.COMM_WORLD``: all of its ranks call this with the same table, each takes a share of the
        rows, and all get the fit. Needs magva's MPI plug-in.
    progress, callback
        As for ``fit``.
    **options
        The model, its prior, columns, and how the fit is run: see ``magva.options("fit_table")``.
    """
    from ._tables import make_table

    if not isinstance(response, str):
        raise TypeError(f"response is a {type(response).__name__} and must be the name of a column")
    run = Run(check_options("fit_table", options), progress, callback, init, comm)
    return run.fit_regression(make_table(data, text=text), response=response)


def fit_formula(
    formula: str,
    data: Any,
    *,
    init: Mapping[str, float] | Any = None,
    text: Sequence[str] = (),
    comm: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[FormulaOptions],
) -> Fit:
    """Fits a regression that a formula in R's grammar describes, as ``magva fit --formula`` does.

    Parameters
    ----------
    formula
        Such as ``"y ~ x1*x2 + log(dose) + C(site) + s(age) + offset(log(days)) + (1 + x1 | school)"``. The response may be
        ``cbind(successes, failures)``, ``successes | trials(n)`` or ``Surv(time, status)``.
    data
        A pandas, polars or Arrow table, or a mapping of names to columns.
    init, text, comm, progress, callback
        As for ``fit_table``.
    **options
        The family of the response, priors, and how the fit is run: see ``magva.options("fit_formula")``. ``prior`` takes statements such
        as ``"x1 ~ normal(0, 1)"``, one or a list.
    """
    from ._tables import make_table

    if not isinstance(formula, str):
        raise TypeError(f"formula is a {type(formula).__name__} and must be a text such as 'y ~ x1 + x2'")
    run = Run(check_options("fit_formula", options), progress, callback, init, comm)
    return run.fit_regression(make_table(data, text=text), formula=formula)


def fit_arrays(
    x: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    weights: Any = None,
    init: Any = None,
    comm: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[ArrayOptions],
) -> Fit:
    """Fits a regression of y on the columns of x, a matrix (n, k) of NumPy or a sparse one of SciPy; an intercept is added.

    Parameters
    ----------
    x, y
        Predictors and response.
    names
        Of the columns of x; without, those of a DataFrame, and x1, x2, ... for other matrices. A sparse one has no others.
    weights
        Of the observations.
    init, comm, progress, callback, **options
        As for ``fit_table``.
    """
    from ._tables import make_array_table

    matrix = _predictors(x)
    sparse = hasattr(matrix, "tocsr")
    labels = _labels(x, matrix.shape[1]) if names is None else [str(name) for name in names]
    if len(labels) != matrix.shape[1] or (sparse and names is not None):
        raise ValueError(f"names must be {matrix.shape[1]} texts, and a sparse matrix has none")
    column = np.asanyarray(y)
    if column.shape != (matrix.shape[0],):
        raise ValueError(f"y has shape {column.shape} and must be ({matrix.shape[0]},), one value per row of x")
    given: dict[str, Any] = dict(options)
    response = "label" if sparse else next(name for name in ("y", "response", "(response)") if name not in labels)
    observations = None
    if weights is not None:
        observations = ("(weights)", np.asarray(weights, dtype=np.float64))
        if observations[1].shape != column.shape:
            raise ValueError(f"weights have shape {observations[1].shape} and must be {column.shape}")
        given["weights"] = "(weights)"
    run = Run(check_options("fit_arrays", given), progress, callback, init, comm)
    return run.fit_regression(make_array_table(matrix, labels, (response, column), observations), response=response)


def _labels(x: Any, columns: int) -> list[str]:
    """Of a DataFrame of pandas or polars, if they are different texts; x1, x2, ... otherwise."""
    own = list(getattr(x, "columns", []))
    if len(own) == columns and all(isinstance(name, str) for name in own) and len(set(own)) == columns:
        return own
    return [f"x{j + 1}" for j in range(columns)]


def _predictors(x: Any) -> Any:
    """A matrix of numbers in double precision, or a sparse one."""
    from ._tables import unmasked

    matrix = x if hasattr(x, "tocsr") else np.asanyarray(x)
    if matrix.ndim != 2:
        raise ValueError(f"x has shape {matrix.shape} and must be two-dimensional")
    if matrix.shape[0] == 0:
        raise _core.DataError("x has no rows")
    if matrix.dtype.kind not in "fiubO":
        raise TypeError(f"x holds values of type {matrix.dtype} and must hold real numbers")
    if hasattr(matrix, "tocsr"):
        return matrix
    try:
        return unmasked(matrix)
    except (TypeError, ValueError) as error:
        raise TypeError(f"x must hold real numbers: {error}") from None
