"""The result of a fit."""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._options import one_of
from ._structure import Array, Structure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fit", "load"]

_FOLDER_FILES = ("fit.json", "trace.csv", "posterior.magva", "model.json")


class Fit:
    """A Gaussian approximation of a posterior, what it says about the parameters, and how far to trust it.

    Parameters are on the user's scale: the coefficients of a regression, the constrained parameters of a Stan, PyMC or NumPyro model.
    The approximation itself, a Gaussian or another :attr:`shape`, is on the unconstrained scale of ``theta``; the names that begin with
    ``theta`` are about that.
    """

    def __init__(self, handle: _core.Fit, structure: Structure | None = None) -> None:
        self._handle = handle
        self._given_structure = structure
        self._structure = structure or Structure.from_names(handle.quantity_names, handle.group_terms)

    # What came out.

    @property
    def names(self) -> list[str]:
        """The parameters, in the order of :attr:`mean` and :attr:`sd`."""
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
        """The groups of a mixed model by grouping factor, in the order of the arrays of :meth:`draws`."""
        return {name: list(levels) for name, levels, _ in self._handle.group_terms}

    def summary(self, *, correct: bool = False) -> pd.DataFrame:
        """Mean, sd, and the 5 %, 50 % and 95 % quantiles of every parameter; in a notebook, with the verdict above it.

        With ``correct=True`` they are those of 4,000 draws that importance weights have brought nearer to the posterior; refused with a
        :class:`DataError` if k-hat is above .7. Those of a fit with groups always are.
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

    def quantiles(self, probabilities: Iterable[float] = (0.05, 0.5, 0.95), *, number: int = 4000, seed: int = 1) -> pd.DataFrame:
        """Quantiles of every parameter: exact if it is linear in a Gaussian theta, otherwise from ``number`` draws."""
        import pandas as pd

        wanted = [float(p) for p in probabilities]
        if not all(0 < p < 1 for p in wanted):
            raise ValueError(f"the probabilities are {wanted} and must be between 0 and 1")
        z = np.array([_normal_quantile(p) for p in wanted])
        values = self.mean[:, None] + self.sd[:, None] * z
        gaussian = self.shape == "gaussian"
        from_draws = [i for i, linear in enumerate(self._handle.quantity_is_linear) if not (linear and gaussian)]
        if from_draws:
            values[from_draws] = np.nanquantile(self._quantity_draws(number, seed)[:, from_draws], wanted, axis=0).T
        return pd.DataFrame(values, index=self._handle.quantity_names, columns=[f"{100 * p:g}%" for p in wanted])

    def draws(self, number: int = 1000, *, seed: int = 1, correct: bool = False, resample: bool = False) -> dict[str, Array]:
        """Draws by the name of the variable, each an array (number, *shape).

        The effects of groups are arrays by the name of the group and the effect, ``"school: Intercept"`` of ``(1 | school)``, with the
        groups in the order of :attr:`group_levels`. A fit with groups has drawn once and for all, 1,000 times if there are not very
        many groups; if more are asked for, they repeat.

        With ``correct=True`` draws are chosen out of ten times as many by their importance weights, which brings them nearer to the
        posterior; refused with a :class:`DataError` if k-hat is above .7. Those of a fit with groups always are. ``resample`` is the
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
        if number < 1:
            raise ValueError(f"number is {number} and must be at least 1")
        stored = self._handle.stored_draws(number, seed)
        return None if stored is None else np.ascontiguousarray(stored.T)

    def _quantity_draws(self, number: int, seed: int, correct: bool = False) -> Array:
        stored = self._stored_draws(number, seed)
        if stored is not None:
            return stored[np.arange(number) % len(stored)]
        theta = self.theta_draws(number, seed=seed, correct=correct)
        return np.asarray(self._handle.report(theta.T, seed)).T

    # The approximation.

    @property
    def shape(self) -> str:
        """The shape of the approximation: ``"gaussian"``, ``"skewed"`` or ``"flow"``."""
        return self._handle.posterior.best.shape

    @property
    def theta_names(self) -> list[str]:
        """The coordinates of theta."""
        return self._handle.names

    @property
    def theta_mean(self) -> Array:
        """The mean of theta."""
        return self._handle.posterior.best.mean()

    @property
    def theta_sd(self) -> Array:
        """The standard deviations of theta: of the shape if it is no Gaussian, else by linear response, else the Gaussian's."""
        return self._handle.posterior.best.sd()

    def theta_draws(self, number: int = 1000, *, seed: int = 1, correct: bool = False, resample: bool = False) -> Array:
        """Draws of theta, one row each; ``correct`` as for :meth:`draws`."""
        if number < 1:
            raise ValueError(f"number is {number} and must be at least 1")
        if correct or resample:
            return self._handle.resample(number, seed).T
        return self._handle.posterior.best.draws(number, seed, 0).T

    def _coordinate(self, name: int | str) -> int:
        names = self.theta_names
        if isinstance(name, str):
            if name not in names:
                near = _core.nearest_name(name, names)
                raise KeyError(f"theta has no coordinate {name!r}" + (f" (did you mean {near!r}?)" if near else ""))
            return names.index(name)
        if not -len(names) <= name < len(names):
            raise IndexError(f"theta has {len(names)} coordinates: there is none with index {name}")
        return name % len(names)

    def covariance_row(self, name: int | str) -> Array:
        """The covariances of one coordinate of theta, by name or index, with all."""
        return self._handle.posterior.best.covariance_row(self._coordinate(name))

    def covariance(self, names: Iterable[int | str] | None = None) -> Array:
        """The covariance matrix of these coordinates of theta, or of all."""
        index = range(len(self.theta_names)) if names is None else [self._coordinate(name) for name in names]
        return np.array([self._handle.posterior.best.covariance_row(i)[list(index)] for i in index])

    def correlation(self, names: Iterable[int | str] | None = None) -> Array:
        """The correlation matrix of these coordinates of theta, or of all."""
        covariance = self.covariance(names)
        sd = np.sqrt(np.diag(covariance))
        return np.asarray(covariance / np.outer(sd, sd))

    @property
    def rank(self) -> int:
        """The number of factors of the covariance; the dimension if it is full rank."""
        return self._handle.posterior.rank

    @property
    def factors(self) -> Array:
        """The factor loadings W of the covariance W W' + diag(residual_sd)^2, by decreasing length.

        Its Cholesky factor if it is full rank; nothing if its precision is sparse.
        """
        return self._handle.posterior.factors()

    @property
    def factor_shares(self) -> Array:
        """The share of each factor in the total variance of theta."""
        return self._handle.posterior.factor_shares()

    @property
    def residual_sd(self) -> Array:
        """The residual standard deviations; empty if the covariance is full rank or its precision is sparse."""
        return self._handle.posterior.residual_sd()

    def log_density(self, theta: Any) -> Array:
        """The normalised log density of the distribution of the draws at points theta (S, m), or at one."""
        return self._at_points(theta, self._handle.posterior.best.log_density)

    def model_log_density(self, theta: Any) -> Array:
        """The model's log density, unnormalised, at points theta (S, m), or at one."""
        return self._at_points(theta, self._handle.model_log_density)

    @property
    def has_model(self) -> bool:
        """Whether the model and its data are here; not so for a fit that was loaded or unpickled."""
        return self._handle.has_model

    def _at_points(self, theta: Any, function: Any) -> Array:
        points = np.asarray(theta, dtype=np.float64)
        dim = len(self.theta_names)
        if points.ndim not in (1, 2) or points.shape[-1] != dim:
            raise ValueError(f"theta has shape {points.shape} and must be ({dim},) or (S, {dim})")
        values = np.asarray(function(np.atleast_2d(points).T))
        return values[0] if points.ndim == 1 else values

    # How far to trust it.

    @property
    def elbo(self) -> float:
        """The evidence lower bound; NaN if it is not finite."""
        return _number(self._handle.elbo)

    @property
    def elbo_se(self) -> float:
        """Its standard error; 0 if it is exact."""
        return _number(self._handle.elbo_se)

    @property
    def khat(self) -> float:
        """Pareto k-hat of the importance weights."""
        return _number(self._handle.khat)

    @property
    def trusted(self) -> bool:
        """Whether nothing was found that speaks against the result."""
        return bool(self._handle.trusted)

    @property
    def warnings(self) -> list[str]:
        """What speaks against it, in sentences."""
        return self._handle.warnings

    @property
    def notes(self) -> list[str]:
        """What was chosen, encoded or dropped, and why."""
        return self._handle.notes

    @property
    def verdict(self) -> str:
        """The result's quality in a sentence or two."""
        if self.trusted and not self.warnings:
            return "To be trusted."
        return ("To be trusted, but: " if self.trusted else "Not to be trusted: ") + "; ".join(self.warnings) + "."

    @property
    def stopped(self) -> str:
        """'converged', 'iteration limit', 'time limit', 'interrupted' or 'diverged'."""
        return self._handle.stopped

    @property
    def stop_detail(self) -> str:
        """Why, in a sentence."""
        return self._handle.stop_detail

    @property
    def model(self) -> str:
        """What was fitted, in a phrase."""
        return self._handle.model

    @property
    def family(self) -> str:
        """The approximating family."""
        return self._handle.family

    @property
    def iterations(self) -> int:
        """Iterations of the optimiser."""
        return self._handle.iterations

    @property
    def gradient_evaluations(self) -> int:
        """Gradients that the fit evaluated, without those of its assessment."""
        return self._handle.gradient_evaluations

    @property
    def seconds(self) -> float:
        """What the fit took, assessment included."""
        return self._handle.seconds

    @property
    def options(self) -> dict[str, Any]:
        """The options of the fit, defaults included."""
        return dict(json.loads(self._handle.options))

    @property
    def details(self) -> dict[str, Any]:
        """The way to the result: ranks that were considered, starts."""
        return dict(json.loads(self._handle.details))

    @property
    def trace(self) -> pd.DataFrame:
        """How the ELBO rose."""
        import pandas as pd

        return pd.DataFrame(self._handle.trace, columns=["iteration", "gradient_evaluations", "seconds", "elbo"])

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
            Draws nearer to the posterior, by importance weights; refused with a :class:`DataError` if k-hat is above .7.
        """
        import pandas as pd

        from ._tables import make_table

        one_of("missing", missing, ("refuse", "drop"))
        one_of("scale", scale, ("response", "link"))
        if number < 2:
            raise ValueError(f"number is {number} and must be at least 2")
        found = self._handle.predict(make_table(data), missing == "drop", number, seed, level, scale == "link", correct)
        classes = np.asarray(self._handle.classes, dtype=object)
        columns = _prediction_columns(found, classes, scale)
        index = data.index[found["row"]] if isinstance(data, pd.DataFrame) and len(found["row"]) else None
        return pd.DataFrame(columns, index=index)

    def loo(self, *, number: int = 4000, seed: int = 1) -> pd.Series:
        """Leave-one-out cross-validation of a regression, by Pareto smoothed importance sampling: elpd, p_loo, and their errors.

        ``high_k`` counts the rows whose part is not to be trusted; more draws, ``number=``, leave fewer of them.
        """
        import pandas as pd

        return pd.Series(self._handle.loo(number, seed), name="loo")

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
        """Writes the folder that ``magva fit`` writes: the program and :func:`magva.load` read it."""
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
        return (
            f"{self.stopped}: ELBO {self.elbo:.2f} (standard error {self.elbo_se:.2g}), {khat}"
            f"{self.family}, rank {self.rank}, {self.seconds:.2f} s"
        )

    def __repr__(self) -> str:
        rows = self._handle.parameters
        shown = [f"  {name:<20} {mean:>10.4g} {sd:>10.3g}" for name, mean, sd, *_ in rows[:8]]
        more = [f"  ... and {len(rows) - 8} more: fit.summary()"] if len(rows) > 8 else []
        head = [f"<magva.Fit: {self.model}>", self._headline(), self.verdict, f"  {'':<20} {'mean':>10} {'sd':>10}"]
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
    """A fit from the folder that ``magva fit`` or :meth:`Fit.save` wrote.

    Model and data are not in the folder: what needs them, such as :meth:`Fit.model_log_density`, raises a ValueError. Draws of a fit to
    a Stan, PyMC, JAX or NumPyro model are of its unconstrained parameters; the summary is as it was.
    """
    return Fit(_core.Fit.load(os.fspath(folder)))


def _prediction_columns(found: dict[str, Any], classes: Any, scale: str) -> dict[str, Any]:
    mean, probabilities = found["mean"], found["probabilities"]
    columns: dict[str, Any] = {}
    if probabilities.size:
        likeliest = mean.astype(int)
        columns["class"] = classes[likeliest]
        columns["probability"] = probabilities[np.arange(len(mean)), likeliest]
    elif len(classes) == 2 and scale == "response":
        columns["class"] = classes[(mean >= 0.5).astype(int)]
        columns["probability"] = mean
    else:
        columns["mean"] = mean
    columns["lower"], columns["upper"] = found["lower"], found["upper"]
    if probabilities.size:
        columns.update({f"P({name})": probabilities[:, k] for k, name in enumerate(classes)})
    if len(found["observed"]):
        seen = found["observed"]
        columns["observed"] = classes[seen.astype(int)] if len(classes) else seen
        columns["log_score"] = found["log_score"]
    return columns


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)
