"""Stan programs, by BridgeStan."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._density import PointwiseDensity
from ._fit import Fit
from ._options import StanOptions, Unpack, check_options
from ._run import Run
from ._structure import Array
from ._watch import Callback

__all__ = ["fit_stan"]


def fit_stan(
    model: Any,
    data: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    init: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[StanOptions],
) -> Fit:
    """Fits a Gaussian to the posterior of a Stan program, on Stan's unconstrained scale.

    Parameters
    ----------
    model
        A ``.stan`` file (the environment variable BRIDGESTAN names a BridgeStan folder), a library that BridgeStan made of one, or a
        ``bridgestan.StanModel``, which has its data.
    data
        A mapping of names to values, or a JSON file.
    init
        Where to start: an array of unconstrained parameters.
    progress, callback
        As for ``magva.fit``.
    **options
        See ``magva.options("fit_stan")``.
    """
    run = Run(check_options("fit_stan", options), progress, callback, init)
    if hasattr(model, "log_density_gradient"):
        if data is not None:
            raise ValueError("a bridgestan.StanModel has its data already: leave data out")
        return run.fit(_object_source(model, bool(options.get("generated_quantities"))))
    if isinstance(model, str) and "{" in model:
        raise ValueError("model is the text of a Stan program and must be the name of a file: write it to a .stan file")
    with tempfile.TemporaryDirectory() as folder:
        file = _data_file(data, folder)
        source = _core.Source.stan(
            os.fspath(model), file, bool(options.get("generated_quantities")), int(options.get("seed", 1)), lambda line: None
        )
    return run.fit(source)


def _data_file(data: Any, folder: str) -> str:
    if data is None:
        return ""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    path = os.path.join(folder, "data.json")
    with open(path, "w") as file:
        json.dump({name: _json(value) for name, value in data.items()}, file)
    return path


def _json(value: Any) -> Any:
    """As Stan's JSON has it: arrays are lists of rows."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"Stan's data are numbers: {array.dtype} is not")
    return (array.astype(int) if array.dtype.kind == "b" else array).tolist()


def _object_source(model: Any, generated_quantities: bool) -> _core.Source:
    dim = model.param_unc_num()

    def density(theta: Array) -> tuple[float, Array]:
        try:
            value, gradient = model.log_density_gradient(theta, propto=False, jacobian=True)
        except RuntimeError:  # the program rejects the point
            return -np.inf, np.zeros(dim)
        return value, gradient

    def constrained(columns: Array) -> Array:
        rows = [_constrain(model, theta, generated_quantities, rng) for theta in columns.T]
        return np.ascontiguousarray(rows)

    rng = model.new_rng(1) if generated_quantities else None
    source = _core.Source.density(
        PointwiseDensity(density, dim), [_indexed(name) for name in model.param_unc_names()], f"Stan program {model.name()}"
    )
    names = model.param_names(include_tp=True, include_gq=generated_quantities)
    source.report_by(constrained, [_indexed(name) for name in names])
    return source


def _constrain(model: Any, theta: Array, generated_quantities: bool, rng: Any) -> Array:
    try:
        return np.asarray(model.param_constrain(theta, include_tp=True, include_gq=generated_quantities, rng=rng))
    except RuntimeError:
        return np.full(model.param_num(include_tp=True, include_gq=generated_quantities), np.nan)


def _indexed(name: str) -> str:
    """theta.3 is theta[3], Sigma.1.2 is Sigma[1,2]."""
    head, *indices = name.split(".")
    return f"{head}[{','.join(indices)}]" if indices and all(part.isdigit() for part in indices) else name
