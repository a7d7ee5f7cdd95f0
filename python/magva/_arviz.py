"""Draws for ArviZ: InferenceData of 0.x, DataTree of 1.x."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._fit import Fit


def to_arviz(fit: Fit, number: int, seed: int) -> Any:
    structure = fit._structure
    theta = fit.theta_draws(number, seed=seed)
    values = fit._quantity_draws(number, seed)
    groups: dict[str, dict[str, Any]] = {
        "posterior": {variable.name: variable.take(values)[None] for variable in structure.variables},
        "sample_stats": {"log_q": fit.log_density(theta)[None]},
    }
    if fit.has_model:
        groups["sample_stats"]["lp"] = fit.model_log_density(theta)[None]
    for name, function in structure.groups.items():
        groups[name] = {variable: np.asarray(array)[None] for variable, array in function(theta).items()}
    if structure.observed:
        groups["observed_data"] = {name: np.asarray(array) for name, array in structure.observed.items()}
    dims = {variable.name: list(variable.dims) for variable in structure.variables if variable.dims is not None}
    dims.update({name: list(own) for name, own in structure.observed_dims.items()})
    return _from_dict(groups, dict(structure.coords), dims, {"inference_library": "magva", "model": fit.model})


def _arviz() -> Any:
    for name in ("arviz", "arviz_base"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("to_arviz() needs ArviZ: pip install arviz")


def _from_dict(groups: dict[str, dict[str, Any]], coords: dict[str, Any], dims: dict[str, list[str]], attributes: dict[str, str]) -> Any:
    arviz = _arviz()
    if int(arviz.__version__.split(".")[0]) >= 1:
        tree = arviz.from_dict(groups, coords=coords, dims=dims)
        tree["posterior"].attrs.update(attributes)
        return tree
    data = arviz.from_dict(**groups, coords=coords, dims=dims)
    data.posterior.attrs.update(attributes)
    return data
