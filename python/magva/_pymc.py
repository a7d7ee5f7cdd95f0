"""PyMC models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._density import PointwiseDensity
from ._fit import Fit
from ._options import FittingOptions, Unpack, check_options
from ._run import Run
from ._structure import Array, Structure, element_names
from ._watch import Callback

__all__ = ["fit_pymc"]


class _Outputs:
    """Variables of the model as functions of a flat theta."""

    def __init__(self, model: Any, outputs: list[Any], shape_info: Any) -> None:
        self._function = model.compile_fn(outputs, inputs=model.value_vars, on_unused_input="ignore", point_fn=True)
        self._info = shape_info

    def at(self, theta: Array) -> list[Array]:
        from pymc.blocking import DictToArrayBijection, RaveledVars

        point = DictToArrayBijection.rmap(RaveledVars(theta, self._info))
        return [np.asarray(value, dtype=np.float64) for value in self._function(point)]

    def __call__(self, columns: Array) -> Array:
        return np.ascontiguousarray([np.concatenate([value.ravel() for value in self.at(theta)]) for theta in columns.T])


def fit_pymc(
    model: Any = None, *, progress: bool | None = None, callback: Callback | None = None, **options: Unpack[FittingOptions]
) -> Fit:
    """Fits a Gaussian to the posterior of a PyMC model, on the scale of its own transforms.

    The result has the model's variables and deterministics, with their dims and coords; ``Fit.to_arviz`` adds the observed data,
    the log likelihood and the posterior predictive distribution.

    Parameters
    ----------
    model
        The model; in a ``with`` block, the one of the block.
    progress, callback, **options
        As for ``magva.fit``.
    """
    import pymc as pm
    from pymc.blocking import DictToArrayBijection
    from pymc.util import get_default_varnames

    checked = check_options("fit_pymc", options)
    if model is None:
        model = pm.Model.get_context(error_if_none=False)
    if model is None:
        raise TypeError("there is no model: give it, magva.fit_pymc(model), or call within its 'with' block")
    if not isinstance(model, pm.Model):
        raise TypeError(f"model is a {type(model).__name__} and must be a pymc.Model")
    if not model.value_vars:
        raise ValueError("the model has no free variables: there is nothing to fit")
    if model.discrete_value_vars:
        names = ", ".join(variable.name for variable in model.discrete_value_vars)
        raise ValueError(f"the model has discrete variables ({names}): sum or integrate them out, as pm.Mixture does")
    initial = model.initial_point()
    start = DictToArrayBijection.map({variable.name: initial[variable.name] for variable in model.value_vars})
    shapes = {variable.name: np.shape(initial[variable.name]) for variable in model.value_vars}
    compiled = model.logp_dlogp_function(ravel_inputs=True)
    compiled.set_extra_values({})
    density = PointwiseDensity(compiled, len(start.data))
    about = f"PyMC model with {len(start.data)} unconstrained parameters"
    source = _core.Source.density(density, element_names(shapes), about)

    wanted = get_default_varnames(model.unobserved_value_vars, include_transformed=False)
    outputs = _Outputs(model, wanted, start.point_map_info)
    reported = {variable.name: value.shape for variable, value in zip(wanted, outputs.at(start.data), strict=True)}
    source.report_by(outputs, element_names(reported))
    run = Run(checked, progress, callback, start.data)
    return run.fit(source, _structure(model, reported, outputs, start.point_map_info))


def _structure(model: Any, shapes: dict[str, tuple[int, ...]], outputs: _Outputs, shape_info: Any) -> Structure:
    dims = {name: tuple(own) for name, own in model.named_vars_to_dims.items()}
    observed = {rv.name: np.asarray(model.rvs_to_values[rv].data) for rv in model.observed_RVs if hasattr(model.rvs_to_values[rv], "data")}
    coords = {name: np.asarray(values) for name, values in model.coords.items() if values is not None}
    return Structure.from_shapes(
        shapes,
        {name: dims[name] for name in shapes if name in dims},
        coords=coords,
        observed=observed,
        observed_dims={name: dims[name] for name in observed if name in dims},
        groups=_groups(model, list(shapes), dims, coords, outputs, shape_info) if model.observed_RVs else {},
    )


def _groups(
    model: Any, names: list[str], dims: dict[str, tuple[str, ...]], coords: dict[str, Any], outputs: _Outputs, shape_info: Any
) -> dict[str, Callable[[Array], dict[str, Array]]]:
    """What ArviZ is told besides the draws, made when it asks. ``outputs`` are the variables of these names."""

    def log_likelihood(theta: Array) -> dict[str, Array]:
        parts = _Outputs(model, model.logp(model.observed_RVs, sum=False), shape_info)
        rows = [parts.at(point) for point in theta]
        return {rv.name: np.array([row[i] for row in rows]) for i, rv in enumerate(model.observed_RVs)}

    def posterior_predictive(theta: Array) -> dict[str, Array]:
        import pymc as pm

        rows = [outputs.at(point) for point in theta]
        draws = {name: np.array([row[i] for row in rows])[None] for i, name in enumerate(names)}
        # PyMC draws variables afresh, from the prior, if it does not see that their coordinates are still those of the draws.
        posterior = _dataset(draws, dims, coords)
        found = pm.sample_posterior_predictive(posterior, model=model, random_seed=1, progressbar=False, return_inferencedata=False)
        return {name: np.asarray(array).reshape(len(theta), *np.shape(array)[2:]) for name, array in found.items()}

    return {"log_likelihood": log_likelihood, "posterior_predictive": posterior_predictive}


def _dataset(draws: dict[str, Array], dims: dict[str, tuple[str, ...]], coords: dict[str, Any]) -> Any:
    """Draws (chain, draw, ...) as a Dataset of xarray, which comes with PyMC."""
    import xarray

    variables = {}
    for name, array in draws.items():
        own = dims.get(name) or tuple(f"{name}_dim_{k}" for k in range(array.ndim - 2))
        variables[name] = (("chain", "draw", *own), array)
    used = {dim for own, _ in variables.values() for dim in own}
    return xarray.Dataset(variables, coords={name: values for name, values in coords.items() if name in used})
