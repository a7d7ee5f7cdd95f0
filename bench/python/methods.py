"""Ways to a posterior: each takes the name of a model and a stopwatch, and returns moments by site.

All are as their packages have them by default, but for the number of steps, which is the same for all that take steps.
"""

import jax
import numpy as np
import numpyro.infer
from models import MODELS
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide
from numpyro.infer.util import initialize_model

import magva

STEPS = 10_000
DRAWS = 4_000
CHAINS, WARM_UP, KEPT = 4, 1_000, 2_000
FULL_RANK_LIMIT = 1_000  # parameters: a full covariance of 10,000 has 50 million entries


class NotForThisModelError(Exception):
    """With a sentence that says why."""


def moments(draws):
    return {name: (np.asarray(array).mean(axis=0), np.asarray(array).std(axis=0)) for name, array in draws.items()}


def nuts(name, _watch):
    sampler = MCMC(
        NUTS(MODELS[name]), num_warmup=WARM_UP, num_samples=KEPT, num_chains=CHAINS, chain_method="sequential", progress_bar=False
    )
    sampler.run(jax.random.PRNGKey(1))
    return moments(sampler.get_samples())


def fitted_by_magva(name, _watch):
    fit = magva.fit_numpyro(MODELS[name], threads=1, progress=False)
    found = {}
    for variable in fit._structure.variables:
        found[variable.name] = tuple(np.asarray(values)[variable.rows].reshape(variable.shape) for values in (fit.mean, fit.sd))
    return found


def numpyro_guide(name, guide_type):
    model = MODELS[name]
    guide = guide_type(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO())
    result = svi.run(jax.random.PRNGKey(1), STEPS, progress_bar=False)
    draws = Predictive(guide, params=result.params, num_samples=DRAWS)(jax.random.PRNGKey(2))
    return moments({site: array for site, array in draws.items() if not site.startswith("_auto")})


def numpyro_low_rank(name, _watch):
    return numpyro_guide(name, autoguide.AutoLowRankMultivariateNormal)


def numpyro_full_rank(name, _watch):
    check_size(name)
    return numpyro_guide(name, autoguide.AutoMultivariateNormal)


def check_size(name):
    if name == "ten_thousand_groups":
        raise NotForThisModelError(f"a full covariance of more than {FULL_RANK_LIMIT} parameters does not fit")


def pathfinder(name, _watch):
    import blackjax

    info = initialize_model(jax.random.PRNGKey(1), MODELS[name])

    def log_density(position):
        return -info.potential_fn(position)

    state, _ = jax.jit(lambda key, start: blackjax.vi.pathfinder.approximate(key, log_density, start))(
        jax.random.PRNGKey(2), info.param_info.z
    )
    draws, _ = blackjax.vi.pathfinder.sample(jax.random.PRNGKey(3), state, DRAWS)
    return moments(jax.vmap(info.postprocess_fn)(draws))


def pymc_advi(name, watch, method="advi"):
    import pymc as pm
    import pymc_models

    with pm.Model() as model:
        getattr(pymc_models, name)()
    with model:
        # The first step and the first draw compile what the others use.
        with watch.compiling():
            inference = {"advi": pm.ADVI, "fullrank_advi": pm.FullRankADVI}[method](random_seed=1)
            inference.fit(1, progressbar=False)
        approximation = inference.fit(STEPS - 1, progressbar=False)
        with watch.compiling():
            approximation.sample(1, random_seed=2, return_inferencedata=False)
        draws = approximation.sample(DRAWS, random_seed=2, return_inferencedata=False)
    return moments({variable.name: draws[variable.name] for variable in model.free_RVs})


def pymc_full_rank(name, watch):
    check_size(name)
    return pymc_advi(name, watch, "fullrank_advi")


REFERENCE = "NUTS"
OURS = "magva"
METHODS = {
    REFERENCE: nuts,
    OURS: fitted_by_magva,
    "NumPyro low rank": numpyro_low_rank,
    "NumPyro full rank": numpyro_full_rank,
    "PyMC ADVI": pymc_advi,
    "PyMC full-rank ADVI": pymc_full_rank,
    "Pathfinder": pathfinder,
}
