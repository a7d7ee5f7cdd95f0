"""The functions that fit."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._density import BatchedDensity, LogDensity, PointwiseDensity
from ._fit import Fit
from ._options import GROUPS, ArrayOptions, FittingOptions, FormulaOptions, TableOptions, Unpack, check_options
from ._structure import Structure
from ._watch import Callback, Watch

__all__ = ["InterruptedWarning", "fit", "fit_arrays", "fit_formula", "fit_table"]


class InterruptedWarning(UserWarning):
    """A fit was interrupted: the result is the best so far."""


def run(
    source: _core.Source, options: str, init: Any, progress: bool | None, callback: Callback | None, structure: Structure | None = None
) -> Fit:
    """Runs a fit; Ctrl-C ends it with what there is, and a warning."""
    watch = Watch(progress, callback)
    start = _start(source, init)
    with watch.running():
        handle = _core.Fit.run(source, options, start, watch, watch.every_view)
    if handle.stopped == "interrupted":
        warnings.warn(f"the fit was {handle.stop_detail}: this is the best result so far", InterruptedWarning, stacklevel=3)
    return Fit(handle, structure)


def _run_table(table: _core.Table, model: str, options: str, init: Any, comm: Any, progress: bool | None, callback: Callback | None) -> Fit:
    """Fits a regression to a table, alone or with the other ranks of a communicator."""
    if comm is None:
        return run(_core.Source.table(table, model), options, init, progress, callback)
    if not hasattr(comm, "py2f"):
        raise TypeError(f"comm is a {type(comm).__name__} and must be a communicator of mpi4py, such as MPI.COMM_WORLD")
    if init is not None:
        raise ValueError("init cannot be combined with comm: the fit starts where the model says")
    watch = Watch(progress if comm.rank == 0 else False, callback)
    result, failure = None, None
    try:
        with watch.running():
            handle = _core.Fit.run_on_ranks(table, model, options, comm.py2f(), None, watch, watch.every_view)
        result = Fit(handle) if handle is not None else None
    except Exception as error:  # the others wait for the result
        failure = error
    shared = comm.bcast(result, root=0)
    if failure is not None:
        raise failure
    if shared is None:
        raise RuntimeError("the fit failed on rank 0, which says why")
    return result if result is not None else shared


def _start(source: _core.Source, init: Any) -> Any:
    """An array of all coordinates, or a mapping of some names to values, in place of the model's own start."""
    if init is None:
        return None
    if not isinstance(init, Mapping):
        start = np.asarray(init, dtype=np.float64)
        if start.shape != (source.dimension,):
            raise ValueError(f"init has shape {start.shape} and must be ({source.dimension},)")
    else:
        start = source.start
        names = source.names
        for name, value in init.items():
            if name not in names:
                near = _core.nearest_name(name, names)
                raise ValueError(f"init names {name!r}, which is no parameter" + (f" (did you mean {near!r}?)" if near else ""))
            start[names.index(name)] = value
    if not np.all(np.isfinite(start)):
        raise ValueError("init must be finite")
    return start


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
        Called with a :class:`FitView` after every iteration; ``False`` ends the fit with the best result so far.
    **options
        How the fit is run: see :func:`magva.options`.

    Ctrl-C ends the fit with the best result so far and an :class:`InterruptedWarning`; a second one raises ``KeyboardInterrupt``.
    """
    m = _dimension(dim)
    labels = [f"theta[{i + 1}]" for i in range(m)] if names is None else [str(name) for name in names]
    if len(labels) != m or len(set(labels)) != m:
        raise ValueError(f"names must be {m} different texts, one per parameter")
    checked = check_options("fit", options, GROUPS["fit"])
    function = with_gradient(log_density, jac)
    density = BatchedDensity(function, m) if batched else PointwiseDensity(function, m)
    source = _core.Source.density(density, labels, f"log density {_name(log_density)} with {m} parameters")
    return run(source, checked, init, progress, callback)


def with_gradient(log_density: LogDensity, jac: Any) -> LogDensity:
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
        As for :func:`fit`.
    **options
        The model, its prior, columns, and how the fit is run: see ``magva.options("fit_table")``.
    """
    from ._tables import make_table

    if not isinstance(response, str):
        raise TypeError(f"response is a {type(response).__name__} and must be the name of a column")
    checked = check_options("fit_table", options, GROUPS["fit_table"])
    model = _with(checked, "response", response)
    return _run_table(make_table(data, text=text), model, checked, init, comm, progress, callback)


def _with(options: str, name: str, value: str) -> str:
    return json.dumps({**json.loads(options), name: value})


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
        As for :func:`fit_table`.
    **options
        The family of the response, priors, and how the fit is run: see ``magva.options("fit_formula")``. ``prior`` takes statements such
        as ``"x1 ~ normal(0, 1)"``, one or a list.
    """
    from ._tables import make_table

    if not isinstance(formula, str):
        raise TypeError(f"formula is a {type(formula).__name__} and must be a text such as 'y ~ x1 + x2'")
    checked = check_options("fit_formula", options, GROUPS["fit_formula"])
    model = _with(checked, "formula", formula)
    return _run_table(make_table(data, text=text), model, checked, init, comm, progress, callback)


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
        Of the columns of x; x1, x2, ... without, and always for a sparse matrix.
    weights
        Of the observations.
    init, comm, progress, callback, **options
        As for :func:`fit_table`.
    """
    from ._tables import make_array_table

    matrix = _predictors(x)
    sparse = hasattr(matrix, "tocsr")
    labels = [f"x{j + 1}" for j in range(matrix.shape[1])] if names is None else [str(name) for name in names]
    if len(labels) != matrix.shape[1] or (sparse and names is not None):
        raise ValueError(f"names must be {matrix.shape[1]} texts, and a sparse matrix has none")
    column = np.asanyarray(y)
    if column.shape != (matrix.shape[0],):
        raise ValueError(f"y has shape {column.shape} and must be ({matrix.shape[0]},), one value per row of x")
    given: dict[str, Any] = dict(options)
    response = "label" if sparse else "y"
    observations = None
    if weights is not None:
        observations = ("(weights)", np.asarray(weights, dtype=np.float64))
        if observations[1].shape != column.shape:
            raise ValueError(f"weights have shape {observations[1].shape} and must be {column.shape}")
        given["weights"] = "(weights)"
    checked = check_options("fit_arrays", given, GROUPS["fit_table"])
    table = make_array_table(matrix, labels, (response, column), observations)
    return _run_table(table, _with(checked, "response", response), checked, init, comm, progress, callback)


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
