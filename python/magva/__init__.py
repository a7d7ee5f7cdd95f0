"""Gaussian variational inference: posteriors of regressions, of Stan, PyMC, NumPyro and JAX models, and of any log density."""

import importlib
from typing import TYPE_CHECKING

from ._core import DataError, __version__
from ._fit import Fit, compare, load
from ._options import OptionError, options
from ._run import InterruptedWarning, fit, fit_arrays, fit_formula, fit_table
from ._stan import fit_stan
from ._watch import FitView

# Adapters are imported when they are used: each needs a package of its own.
_ADAPTERS = {"fit_jax": "_jax", "fit_numpyro": "_numpyro", "fit_pymc": "_pymc"}

if TYPE_CHECKING:
    from ._jax import fit_jax
    from ._numpyro import fit_numpyro
    from ._pymc import fit_pymc


def __getattr__(name: str) -> object:
    if name in _ADAPTERS:
        return getattr(importlib.import_module(f".{_ADAPTERS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
