"""NumPyro models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._fit import Fit
from ._jax import JaxDensity, JaxFunction, double_precision, fit_flat
from ._options import FittingOptions, OptionError, Unpack, check_options
from ._run import Run
from ._structure import Array
from ._watch import Callback

__all__ = ["fit_numpyro"]


def fit_numpyro(
    model: Callable[..., Any],
    *args: Any,
    model_kwargs: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Unpack[FittingOptions],
) -> Fit:
    """Fits a Gaussian to the posterior of a NumPyro model, on its unconstrained scale.

    The result is about the model's own sites: latent and deterministic ones, constrained as the model has them.
    ``Fit.to_arviz`` adds the observed data, the log likelihood and the posterior predictive distribution.

    Parameters
    ----------
    model, *args, model_kwargs
        The model, and what it is called with.
    progress, callback, **options
        As for ``magva.fit``.
    """
    from jax.flatten_util import ravel_pytree

    if not callable(model):
        raise TypeError(f"model is a {type(model).__name__} and must be a function: a NumPyro model")
    checked = _check_options(options)
    kwargs = dict(model_kwargs or {})
    with double_precision():
        traced = _trace(model, args, kwargs)
        shapes = {name: tuple(site.shape) for name, site in sorted(traced.sites.items())}
        zeros, restore = ravel_pytree({name: np.zeros(shape) for name, shape in shapes.items()})
    if not shapes:
        raise ValueError("the model has no latent sites: there is nothing to fit")

    def constrained(theta: Any) -> Any:
        return traced.constrain(restore(theta))

    density = JaxDensity(lambda theta: -traced.potential(restore(theta)))
    start = _start(density, zeros.size, options.get("seed", 1))
    return fit_flat(
        Run(checked, progress, callback, start),
        density,
        shapes,
        constrained,
        f"NumPyro model '{getattr(model, '__name__', 'model')}' with {zeros.size} unconstrained parameters",
        observed=traced.observed,
        groups=_groups(model, args, kwargs, traced.observed, JaxFunction(constrained)) if traced.observed else {},
    )


def _check_options(options: Mapping[str, Any]) -> str:
    try:
        return check_options("fit_numpyro", options)
    except OptionError as error:
        raise OptionError(f"{error}; what the model itself takes by name goes into model_kwargs=dict(...)") from None


@dataclass(frozen=True)
class _Traced:
    """A model's unconstrained sites, with shapes; its potential and its constrained sites as functions of them; its data."""

    sites: Mapping[str, Any]
    potential: Callable[[Any], Any]
    constrain: Callable[[Any], Any]
    observed: dict[str, Array]


def _trace(model: Any, args: Any, kwargs: Any) -> _Traced:
    """The model is run with abstract values: run with values, each of its operations would be compiled on its own."""
    import jax
    from jax.core import Tracer
    from numpyro.infer.util import initialize_model

    def initialize(key: Any) -> Any:
        # Gradients at the start are the engine's to look at.
        found.append(initialize_model(key, model, model_args=args, model_kwargs=kwargs, validate_grad=False))
        return found[-1].param_info.z, _observed(found[-1].model_trace)

    found: list[Any] = []
    try:
        sites, _ = jax.eval_shape(initialize, jax.ShapeDtypeStruct((2,), np.uint32))
    except ImportError as error:
        if "funsor" not in str(error):
            raise
        raise ImportError(
            "the model has discrete latent sites, which NumPyro sums out if the package funsor is installed; "
            "or sum them out in the model, as dist.MixtureSameFamily does"
        ) from None
    if _outlives_the_trace(found[-1].model_trace):
        sites, observed = initialize(jax.random.PRNGKey(1))
    else:
        observed = _observed(found[-1].model_trace)
    if any(isinstance(value, Tracer) for value in observed.values()):  # computed by the model
        observed = jax.jit(lambda: initialize(jax.random.PRNGKey(1))[1])()
    info = found[-1]
    return _Traced(sites, info.potential_fn, info.postprocess_fn, {name: np.asarray(value) for name, value in observed.items()})


def _observed(trace: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: site["value"]
        for name, site in trace.items()
        if site["type"] == "sample" and site["is_observed"] and site["value"] is not None
    }


def _outlives_the_trace(trace: Mapping[str, Any]) -> bool:
    """Whether the model's functions hold values of this run: of parameters, or bounds that are computed."""
    import jax
    from jax.core import Tracer

    if any(site["type"] in ("param", "mutable") for site in trace.values()):
        return True
    supports = [site["fn"].support for site in trace.values() if site["type"] == "sample"]
    return any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(supports))


def _start(density: JaxDensity, dim: int, seed: int) -> Array:
    """A point with a finite density: near the origin, where effects are small and scales moderate, else between -2 and 2, as NumPyro
    starts. Far out, where each effect has a value of its own, a search for the mode ends where noise has vanished."""
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.uniform(-0.1, 0.1, size=(1, dim)), rng.uniform(-2, 2, size=(15, dim))])
    values, _ = density(points.T)
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        raise ValueError("the model's log density is not finite at any of 16 random points: look at its priors, supports and data")
    return np.array(points[finite[0]])


def _groups(
    model: Any, args: Any, kwargs: Any, observed: Mapping[str, Array], constrained: JaxFunction
) -> dict[str, Callable[[Array], dict[str, Array]]]:
    """What ArviZ is told besides the draws, made when it asks."""

    def log_likelihood(theta: Array) -> dict[str, Array]:
        import numpyro.infer

        with double_precision():
            found = numpyro.infer.log_likelihood(model, constrained(theta), *args, **kwargs)
        return {name: np.asarray(values) for name, values in found.items()}

    def posterior_predictive(theta: Array) -> dict[str, Array]:
        import jax
        from numpyro.infer import Predictive

        with double_precision():
            sites = constrained(theta)
            found = Predictive(_without_observations(model), sites)(jax.random.PRNGKey(1), *args, **kwargs)
        return {name: np.asarray(values) for name, values in found.items() if name in observed}

    return {"log_likelihood": log_likelihood, "posterior_predictive": posterior_predictive}


def _without_observations(model: Any) -> Any:
    from numpyro.primitives import Messenger

    class Unobserve(Messenger):  # type: ignore[misc]
        def process_message(self, msg: dict[str, Any]) -> None:
            if msg["type"] == "sample" and msg.get("is_observed"):
                # A distribution of one element may stand for all observations.
                batch = msg["value"].shape[: msg["value"].ndim - msg["fn"].event_dim]
                msg["fn"] = msg["fn"].expand(np.broadcast_shapes(batch, msg["fn"].batch_shape))
                msg["is_observed"] = False
                msg["value"] = None

    return Unobserve(model)
