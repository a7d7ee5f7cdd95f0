"""Gaussian variational inference: posteriors of regressions, of Stan, PyMC, NumPyro and JAX models, and of any log density."""

from typing import TYPE_CHECKING

from ._core import DataError, __version__

if TYPE_CHECKING:
    from . import sklearn as sklearn
    from ._compare import compare
    from ._density import fit
    from ._fit import Fit, load
    from ._jax import fit_jax
    from ._numpyro import fit_numpyro
    from ._options import OptionError, options
    from ._pymc import fit_pymc
    from ._regression import fit_arrays, fit_formula, fit_table
    from ._run import InterruptedWarning
    from ._stan import fit_stan
    from ._watch import FitView
else:
    # A name is imported when it is used: NumPy takes longer than all else here, and each adapter needs a package of its own.
    _MODULES = {
        "Fit": "_fit",
        "FitView": "_watch",
        "InterruptedWarning": "_run",
        "OptionError": "_options",
        "compare": "_compare",
        "fit": "_density",
        "fit_arrays": "_regression",
        "fit_formula": "_regression",
        "fit_jax": "_jax",
        "fit_numpyro": "_numpyro",
        "fit_pymc": "_pymc",
        "fit_stan": "_stan",
        "fit_table": "_regression",
        "load": "_fit",
        "options": "_options",
    }

    def __getattr__(name):
        from importlib import import_module

        if name == "sklearn":
            return import_module(".sklearn", __name__)
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        return value

    def __dir__():
        return [*__all__, "sklearn"]


__all__ = [
    "DataError",
    "Fit",
    "FitView",
    "InterruptedWarning",
    "OptionError",
    "__version__",
    "compare",
    "fit",
    "fit_arrays",
    "fit_formula",
    "fit_jax",
    "fit_numpyro",
    "fit_pymc",
    "fit_stan",
    "fit_table",
    "load",
    "options",
]
