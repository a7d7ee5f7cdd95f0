"""The approximation itself, on the unconstrained scale of theta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._options import whole
from ._structure import Array

__all__ = ["Approximation"]


class Approximation:
    """What a fit says about theta: its Gaussian, or another shape."""

    _handle: _core.Fit

    @property
    def shape(self) -> str:
        """The shape of the approximation: ``"gaussian"``, ``"skewed"``, ``"flow"`` or ``"mixture"``."""
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
        """The standard deviations of theta: of the shape if it is no Gaussian, else corrected where that was done, else the Gaussian's."""
        return self._handle.posterior.best.sd()

    def theta_draws(self, number: int = 1000, *, seed: int = 1, correct: bool = False, resample: bool = False) -> Array:
        """Draws of theta, one row each; ``correct`` as for ``draws``."""
        number, seed = whole("number", number, 1), whole("seed", seed, 0)
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
        """The factor loadings W of the covariance W W' + diag(residual_sd)^2, by decreasing length; its Cholesky factor if full rank."""
        return self._handle.posterior.factors()

    @property
    def factor_shares(self) -> Array:
        """The share of each factor in the total variance of theta."""
        return self._handle.posterior.factor_shares()

    @property
    def residual_sd(self) -> Array:
        """The residual standard deviations; empty if the covariance is full rank."""
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
