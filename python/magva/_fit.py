"""The result of a fit."""

from __future__ import annotations

import html
import math
import os
import pathlib
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._approximation import Approximation
from ._assessment import Assessment
from ._options import whole
from ._structure import Array, Structure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fit", "load"]

_FOLDER_FILES = ("fit.json", "trace.csv", "posterior.magva", "model.json")


class Fit(Approximation, Assessment):
    """A Gaussian approximation of a posterior, what it says about the parameters, and how far to trust it.

    Parameters are on the user's scale: the coefficients of a regression, the constrained parameters of a Stan, PyMC or NumPyro model.
    The approximation itself, a Gaussian or another ``shape``, is on the unconstrained scale of ``theta``; the names that begin with
    ``theta`` are about that.
    """

    def __init__(self, handle: _core.Fit, structure: Structure | None = None) -> None:
        self._handle = handle
        self._given_structure = structure
        self._structure = structure or Structure.from_names(handle.quantity_names, handle.group_terms)

    # What came out.

    @property
    def names(self) -> list[str]:
        """The parameters, in the order of ``mean`` and ``sd``."""
        return [row[0] for row in self._handle.parameters]

    @property
    def mean(self) -> Array:
        """Posterior means of the parameters."""
        return np.array([row[1] for row in self._handle.parameters])

    @property
    def sd(self) -> Array:
        """Posterior standard deviations of the parameters."""
        return np.array([row[2] for row in self._handle.parameters])

    @property
    def group_levels(self) -> dict[str, list[str]]:
        """The groups of a mixed model by grouping factor, in the order of the arrays of ``draws``."""
        return {name: list(levels) for name, levels, _ in self._handle.group_terms}

    def summary(self, *, correct: bool = False) -> pd.DataFrame:
        """Mean, sd, and the 5 %, 50 % and 95 % quantiles of every parameter; in a notebook, with the verdict above it.

        With ``correct=True`` they are those of 4,000 draws that importance weights have brought nearer to the posterior; refused with a
        ``DataError`` if k-hat is above .7. Those of a fit with groups always are.
        """
        from ._summary import Summary

        rows = self._corrected_parameters() if correct and not self.group_levels else self._handle.parameters
        frame = Summary([row[1:] for row in rows], index=[row[0] for row in rows], columns=["mean", "sd", "5%", "50%", "95%"])
        frame.attrs["verdict"] = self.verdict
        return frame

    def _corrected_parameters(self, number: int = 4000) -> list[tuple[Any, ...]]:
        """Name, mean, sd and quantiles by corrected draws. A draw may come more than once: sds need no distinct ones."""
        values = np.asarray(self._handle.report(self._handle.corrected_draws(number, 1), 1))
        quantiles = np.nanquantile(values, (0.05, 0.5, 0.95), axis=1)
        columns = zip(self._handle.quantity_names, np.nanmean(values, axis=1), np.nanstd(values, axis=1, ddof=1), *quantiles, strict=True)
        return [tuple(column) for column in columns]

    def quantiles(
        self, probabilities: float | Iterable[float] = (0.05, 0.5, 0.95), *, number: int | None = None, seed: int | None = None
    ) -> pd.DataFrame:
        """Quantiles of every parameter, as in the summary: exact if it is linear in a Gaussian theta, otherwise of the same draws.

        With ``number`` (by default 4,000) or ``seed``, all are of other draws.
        """
        import pandas as pd

        wanted = [float(p) for p in ([probabilities] if isinstance(probabilities, (int, float)) else probabilities)]
        if not all(0 < p < 1 for p in wanted):
            raise ValueError(f"the probabilities are {wanted} and must be between 0 and 1")
        if number is None and seed is None:
            values = self._handle.quantiles(wanted)
        else:
            draws = self._quantity_draws(4000 if number is None else number, 1 if seed is None else seed)
            values = np.nanquantile(draws, wanted, axis=0).T
        return pd.DataFrame(values, index=self._handle.quantity_names, columns=[f"{100 * p:g}%" for p in wanted])

    def draws(self, number: int = 1000, *, seed: int = 1, correct: bool = False, resample: bool = False) -> dict[str, Array]:
        """Draws by the name of the variable, each an array (number, *shape).

        The effects of groups are arrays by the name of the group and the effect, ``"school: Intercept"`` of ``(1 | school)``, with the
        groups in the order of ``group_levels``. A fit with groups has drawn once and for all, 1,000 times if there are not very
        many groups; if more are asked for, they repeat.

        With ``correct=True`` draws are chosen out of ten times as many by their importance weights, which brings them nearer to the
        posterior; refused with a ``DataError`` if k-hat is above .7. Those of a fit with groups always are. ``resample`` is the
        older name of ``correct``.
        """
        values = self._quantity_draws(number, seed, correct or resample)
        return {variable.name: variable.take(values) for variable in self._structure.variables}

    def frame(self, number: int = 1000, *, seed: int = 1, correct: bool = False, resample: bool = False) -> pd.DataFrame:
        """The same draws as a DataFrame: one row per draw, one column per parameter."""
        import pandas as pd

        return pd.DataFrame(self._quantity_draws(number, seed, correct or resample), columns=self._handle.quantity_names)

    def _stored_draws(self, number: int, seed: int) -> Array | None:
        """Group effects depend on the data, too: a fit with groups has drawn once. So many of these draws (S, q), or all."""
        stored = self._handle.stored_draws(whole("number", number, 1), whole("seed", seed, 0))
        return None if stored is None else np.ascontiguousarray(stored.T)

    def _quantity_draws(self, number: int, seed: int, correct: bool = False) -> Array:
        stored = self._stored_draws(number, seed)
        if stored is not None:
            return stored[np.arange(number) % len(stored)]
        theta = self.theta_draws(number, seed=seed, correct=correct)
        return np.asarray(self._handle.report(theta.T, seed)).T

    # Rows of a table.

    def predict(
        self,
        data: Any,
        *,
        level: float = 0.9,
        number: int = 1000,
        seed: int = 1,
        missing: str = "refuse",
        scale: str = "response",
        correct: bool = False,
    ) -> pd.DataFrame:
        """The posterior predictive distribution for the rows of a table, encoded as the data of the fit were.

        For a response with classes the likeliest class, its probability (of two classes, that of the second) and a central interval of
        that; otherwise the mean of the response and a central interval for the response. Rows that have the response get ``observed``
        and ``log_score``. A group that the fit has not seen is drawn from the population.

        Parameters
        ----------
        level
            The mass of the intervals.
        number
            Draws from the posterior.
        missing
            What to do about rows with missing values: ``"refuse"`` or ``"drop"``.
        scale
            ``"response"``, or ``"link"`` for the linear predictor.
        correct
            Draws nearer to the posterior, by importance weights; refused with a ``DataError`` if k-hat is above .7.
        """
        from ._prediction import predict

        return predict(self._handle, data, level=level, number=number, seed=seed, missing=missing, scale=scale, correct=correct)

    def loo(self, *, number: int = 4000, seed: int = 1) -> pd.Series:
        """Leave-one-out cross-validation of a regression, by Pareto smoothed importance sampling: elpd, p_loo, and their errors.

        ``high_k`` counts the rows whose part is not to be trusted; more draws, ``number=``, leave fewer of them.
        """
        import pandas as pd

        return pd.Series(self._handle.loo(whole("number", number, 1), whole("seed", seed, 0)), name="loo")

    # Elsewhere.

    def to_arviz(self, number: int = 1000, *, seed: int = 1, groups: Iterable[str] | None = None) -> Any:
        """Draws as ArviZ's InferenceData (ArviZ 0.x) or DataTree (1.x).

        Groups: posterior; sample_stats (``lp``, the model's log density, and ``log_q``, the approximation's) unless the model has group
        effects; observed_data, log_likelihood and posterior_predictive of regressions, NumPyro and PyMC models that have their data.

        Parameters
        ----------
        number
            Draws; of a fit with groups at most as many as it has stored.
        groups
            The names of the groups that are wanted; without, all that there are. Log likelihoods and predictions have as many
            numbers as there are draws times observations.
        """
        from ._arviz import to_arviz

        return to_arviz(self, number, seed, groups)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the folder that ``magva fit`` writes: the program and ``magva.load`` read it."""
        self._handle.save(os.fspath(folder))

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "fit"
            self.save(folder)
            files = {name: (folder / name).read_bytes() for name in _FOLDER_FILES if (folder / name).exists()}
        return _from_files, (files,)

    def __copy__(self) -> Fit:
        return Fit(self._handle, self._given_structure)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Fit:
        return self.__copy__()  # a fit never changes

    def _headline(self) -> str:
        khat = f"k-hat {self.khat:.2f}, " if math.isfinite(self.khat) else ""  # equal weights have none
        elbo = f"{self.elbo:.2f}" if abs(self.elbo) < 1e12 else f"{self.elbo:.3g}"
        return (
            f"{self.stopped}: ELBO {elbo} (standard error {self.elbo_se:.2g}), {khat}{self.family}, rank {self.rank}, {self.seconds:.2f} s"
        )

    def __repr__(self) -> str:
        rows = self._handle.parameters
        width = max([20, *(len(row[0]) for row in rows[:8])])
        shown = [f"  {name:<{width}} {mean:>10.4g} {sd:>10.3g}" for name, mean, sd, *_ in rows[:8]]
        more = [f"  ... and {len(rows) - 8} more: fit.summary()"] if len(rows) > 8 else []
        head = [f"<magva.Fit: {self.model}>", self._headline(), self.verdict, f"  {'':<{width}} {'mean':>10} {'sd':>10}"]
        return "\n".join(head + shown + more)

    def _repr_html_(self) -> str:
        head = f"<p><b>{html.escape(self.model)}</b><br>{html.escape(self._headline())}</p>"
        return head + str(self.summary()._repr_html_())


def _from_files(files: dict[str, bytes]) -> Fit:
    with tempfile.TemporaryDirectory() as temporary:
        for name, content in files.items():
            (pathlib.Path(temporary) / name).write_bytes(content)
        return load(temporary)


def load(folder: str | os.PathLike[str]) -> Fit:
    """A fit from the folder that ``magva fit`` or ``Fit.save`` wrote.

    Model and data are not in the folder: what needs them, such as ``Fit.model_log_density``, raises a ValueError. Draws of a fit to
    a Stan, PyMC, JAX or NumPyro model are of its unconstrained parameters; the summary is as it was.
    """
    return Fit(_core.Fit.load(os.fspath(folder)))
