"""Draws for ArviZ: InferenceData of 0.x, DataTree of 1.x."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._structure import Array

if TYPE_CHECKING:
    from ._fit import Fit

Groups = dict[str, dict[str, Any]]

_OPTIONAL = ("sample_stats", "log_likelihood", "posterior_predictive", "observed_data")
_ROW = "row"  # the dimension of a table's observations


def to_arviz(fit: Fit, number: int, seed: int, wanted: Iterable[str] | None) -> Any:
    names = _checked(wanted)
    structure = fit._structure
    stored = fit._stored_draws(number, seed)
    values = fit._quantity_draws(number, seed) if stored is None else stored
    groups: Groups = {"posterior": {variable.name: variable.take(values)[None] for variable in structure.variables}}
    if stored is None:  # otherwise the draws are no draws of theta
        groups.update(_groups_of_theta(fit, fit.theta_draws(number, seed=seed), names))
    if structure.observed and "observed_data" in names:
        groups["observed_data"] = {name: np.asarray(array) for name, array in structure.observed.items()}
    dims = {variable.name: list(variable.dims) for variable in structure.variables if variable.dims is not None}
    dims.update({name: list(own) for name, own in structure.observed_dims.items()})
    coords = dict(structure.coords)
    rows = None if names <= {"sample_stats"} else fit._handle.observations(len(values), seed)
    if rows is not None:
        groups.update(_groups_of_rows(rows, names))
        dims[rows["name"]] = [_ROW]
        coords[_ROW] = np.arange(len(rows["observed"]))
    return _from_dict(groups, coords, dims, {"inference_library": "magva", "model": fit.model})


def _checked(wanted: Iterable[str] | None) -> set[str]:
    names = set(_OPTIONAL if wanted is None else [wanted] if isinstance(wanted, str) else wanted)
    unknown = sorted(names - {"posterior", *_OPTIONAL})
    if unknown:
        raise ValueError(f"groups has {unknown[0]!r}, and the groups are posterior, {', '.join(_OPTIONAL)}")
    return names - {"posterior"}


def _groups_of_theta(fit: Fit, theta: Array, names: set[str]) -> Groups:
    """What follows from draws of theta: log densities, and what an adapter knows."""
    groups: Groups = {}
    if "sample_stats" in names:
        groups["sample_stats"] = {"log_q": fit.log_density(theta)[None]}
        if fit.has_model:
            groups["sample_stats"]["lp"] = fit.model_log_density(theta)[None]
    for name, function in fit._structure.groups.items():
        if name in names:
            groups[name] = {variable: np.asarray(array)[None] for variable, array in function(theta).items()}
    return groups


def _groups_of_rows(rows: dict[str, Any], names: set[str]) -> Groups:
    """What a regression says about the rows of its table, draw by draw."""
    groups: Groups = {"observed_data": {rows["name"]: rows["observed"]}}
    if "log_likelihood" in rows:
        groups["log_likelihood"] = {rows["name"]: rows["log_likelihood"][None]}
        groups["posterior_predictive"] = {rows["name"]: rows["simulated"][None]}
    return {name: group for name, group in groups.items() if name in names}


def _arviz() -> Any:
    for name in ("arviz", "arviz_base"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("to_arviz() needs ArviZ: pip install arviz")


def _from_dict(groups: Groups, coords: dict[str, Any], dims: dict[str, list[str]], attributes: dict[str, str]) -> Any:
    arviz = _arviz()
    if "posterior" in inspect.signature(arviz.from_dict).parameters:  # ArviZ 0.x
        data = arviz.from_dict(**groups, coords=coords, dims=dims)
    else:
        data = arviz.from_dict(groups, coords=coords, dims=dims)
    data["posterior"].attrs.update(attributes)
    return data
