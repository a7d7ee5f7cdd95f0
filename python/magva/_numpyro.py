"""NumPyro models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._fit import Fit
from ._jax import JaxFunction, double_precision, fit_flat
from ._options import FittingOptions, Unpack, check_options
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
    :meth:`Fit.to_arviz` adds the observed data, the log likelihood and the posterior predictive distribution.

    Parameters
    ----------
    model, *args, model_kwargs
        The model, and what it is called with.
    progress, callback, **options
        As for :func:`magva.fit`.
    """
    import jax
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import initialize_model

    checked = check_options("fit_numpyro", options)
    kwargs = dict(model_kwargs or {})
    key = jax.random.PRNGKey(options.get("seed", 1))
    with double_precision():
        # Gradients at the start are the engine's to look at: here they would be computed operation by operation.
        info = initialize_model(key, model, model_args=args, model_kwargs=kwargs, validate_grad=False)
        sites = {name: np.asarray(value, dtype=np.float64) for name, value in sorted(info.param_info.z.items())}
        start, restore = ravel_pytree(sites)
    if not sites:
        raise ValueError("the model has no latent sites: there is nothing to fit")

    def log_density(theta: Any) -> Any:
        return -info.potential_fn(restore(theta))

    def constrained(theta: Any) -> Any:
        return info.postprocess_fn(restore(theta))

    observed = {
        name: np.asarray(site["value"])
        for name, site in info.model_trace.items()
        if site["type"] == "sample" and site["is_observed"] and site["value"] is not None
    }
    return fit_flat(
        Run(checked, progress, callback, np.array(start)),
        log_density,
        {name: value.shape for name, value in sites.items()},
        constrained,
        f"NumPyro model '{getattr(model, '__name__', 'model')}' with {start.size} unconstrained parameters",
        observed=observed,
        groups=_groups(model, args, kwargs, JaxFunction(constrained)) if observed else {},
    )


def _groups(model: Any, args: Any, kwargs: Any, constrained: JaxFunction) -> dict[str, Callable[[Array], dict[str, Array]]]:
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
        return {name: np.asarray(values) for name, values in found.items() if name in log_likelihood_names}

    log_likelihood_names = _observed_names(model, args, kwargs)
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


def _observed_names(model: Any, args: Any, kwargs: Any) -> set[str]:
    import jax
    from numpyro.handlers import seed, trace

    with double_precision():
        sites = trace(seed(model, jax.random.PRNGKey(0))).get_trace(*args, **kwargs)
    return {name for name, site in sites.items() if site["type"] == "sample" and site["is_observed"]}
