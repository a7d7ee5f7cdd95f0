"""Gaussian variational inference: posteriors of regressions, of Stan, PyMC, NumPyro and JAX models, and of any log density."""

from ._core import DataError, __version__
from ._fit import Fit, compare, load
from ._options import OptionError, options
from ._run import InterruptedWarning, fit, fit_arrays, fit_table
from ._watch import FitView

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
    "fit_table",
    "load",
    "options",
]
