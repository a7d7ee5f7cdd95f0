"""Fits beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._options import one_of

if TYPE_CHECKING:
    import pandas as pd

    from ._fit import Fit

__all__ = ["compare"]


def compare(fits: Mapping[str, Fit], *, by: str = "elbo") -> pd.DataFrame:
    """Fits of different models to the same data, or of one model in different ways: the best first.

    ``elbo_difference`` or ``elpd_difference`` is to the best. The standard error of an ELBO's leaves out what the two fits' draws have in
    common; that of an elpd's is by rows.

    Parameters
    ----------
    fits
        By name.
    by
        ``"elbo"``: by the evidence lower bound. ``"loo"``: regressions of the same rows by what they would predict of new ones,
        as ``Fit.loo`` estimates it.
    """
    one_of("by", by, ("elbo", "loo"))
    if not isinstance(fits, Mapping):
        raise TypeError(f"fits is a {type(fits).__name__} and must be a mapping of names to fits")
    if not fits:
        raise ValueError("there are no fits to compare")
    return _compare_by_loo(fits) if by == "loo" else _compare_by_elbo(fits)


def _compare_by_elbo(fits: Mapping[str, Fit]) -> pd.DataFrame:
    import pandas as pd

    sizes = {name: fit._handle.rows for name, fit in fits.items() if fit._handle.rows > 0}
    if len(set(sizes.values())) > 1:
        raise _core.DataError(f"the fits are of different data, and their ELBOs cannot be compared: their numbers of rows are {sizes}")
    rows = {
        name: {
            "elbo": fit.elbo,
            "elbo_se": fit.elbo_se,
            "khat": fit.khat,
            "trusted": fit.trusted,
            "rank": fit.rank,
            "parameters": len(fit.theta_names),
            "seconds": fit.seconds,
        }
        for name, fit in fits.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index").sort_values("elbo", ascending=False)
    table.insert(1, "elbo_difference", table["elbo"] - table["elbo"].iloc[0])
    table.insert(2, "difference_se", np.hypot(table["elbo_se"], table["elbo_se"].iloc[0]))
    table.loc[table.index[0], "difference_se"] = 0.0
    return table


def _compare_by_loo(fits: Mapping[str, Fit]) -> pd.DataFrame:
    import pandas as pd

    ranked = _core.compare_by_loo([(name, fit._handle) for name, fit in fits.items()], 4000, 1)
    columns = ["elpd", "elpd_se", "p_loo", "high_k", "elpd_difference", "difference_se"]
    return pd.DataFrame([row[1:] for row in ranked], index=[row[0] for row in ranked], columns=columns)
