"""Estimators for scikit-learn: Bayesian regressions with ``fit``, ``predict`` and the uncertainty of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._fit import Fit
from ._regression import fit_arrays
from ._structure import Array

__all__ = ["BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression"]


_SCALED_VARIANCE = 2.5**2  # of coefficients of standardised columns, as rstanarm has it


class _Scaling:
    """Columns brought to weighted mean 0 and sd 1, so that the default prior knows their scale; sparse ones keep their zeros."""

    def __init__(self, x: Any, y: Array, weight: Array, scale_y: bool) -> None:
        total = weight.sum()
        sparse = hasattr(x, "tocsr")
        mean = np.asarray(weight @ x).ravel() / total
        centred = x if sparse else x - mean
        squares = np.asarray(weight @ (centred.multiply(centred) if sparse else centred**2)).ravel() / total
        self.sd = np.where(squares > 0, np.sqrt(squares), 1.0)
        self.mean = np.zeros_like(mean) if sparse else mean
        self.y_mean = float(weight @ y / total) if scale_y else 0.0
        self.y_sd = float(np.sqrt(weight @ (y - self.y_mean) ** 2 / total)) if scale_y else 1.0
        self.y_sd = self.y_sd or 1.0

    def columns(self, x: Any) -> Any:
        return x.multiply(1 / self.sd).tocsr() if hasattr(x, "tocsr") else (x - self.mean) / self.sd

    def response(self, y: Array) -> Array:
        return (y - self.y_mean) / self.y_sd

    def on_the_data_scale(self, coefficients: Array, intercepts: Array) -> tuple[Array, Array]:
        slopes = coefficients * self.y_sd / self.sd
        return slopes, self.y_mean + self.y_sd * intercepts - slopes @ self.mean


class _Regression(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: parameters, the fit, and draws of the linear predictor."""

    _model: str

    def __init__(
        self,
        *,
        prior: str = "normal",
        prior_variance: float | None = None,
        rank: int | str = "auto",
        draws: int = 1000,
        random_state: int | None = None,
    ) -> None:
        self.prior = prior
        self.prior_variance = prior_variance
        self.rank = rank
        self.draws = draws
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _seed(self) -> int:
        from sklearn.utils import check_random_state

        if self.random_state is None:
            return 1
        return int(check_random_state(self.random_state).randint(2**31))

    def _fit_arrays(self, x: Any, y: Array, weights: Array | None) -> None:
        used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        rows, response = x[used], y[used]
        weight = np.ones(len(response)) if weights is None else weights[used]
        scaling = _Scaling(rows, response, weight, scale_y=self._model == "linear") if self.prior_variance is None else None
        varies = _varies(rows)
        self.fit_: Fit = fit_arrays(
            (rows if scaling is None else scaling.columns(rows))[:, varies],
            response if scaling is None else scaling.response(response),
            weights=None if weights is None else weight,
            model=self._model,
            prior=self.prior,
            prior_variance=_SCALED_VARIANCE if self.prior_variance is None else self.prior_variance,
            rank=self.rank,
            seed=self._seed(),
            progress=False,
        )
        self._set_coefficients(varies, scaling)
        self.n_iter_ = max(1, self.fit_.iterations)

    def _set_coefficients(self, varies: Any, scaling: _Scaling | None) -> None:
        """Means and draws of all coefficients; a column that is constant, or equals another, has 0."""
        places = {f"x{k + 1}": column for k, column in enumerate(np.flatnonzero(varies))}
        frame = self.fit_.frame(self.draws, seed=self._seed())
        # The first row is the mean, which is transformed as the draws are.
        values = np.vstack([self.fit_.mean, frame.to_numpy()])
        coefficients = np.zeros((len(values), len(varies)))
        intercepts = values[:, self.fit_.names.index("(Intercept)")]
        sigma = None
        for j, name in enumerate(self.fit_.names):
            if name in places:
                coefficients[:, places[name]] = values[:, j]
            elif name == "sigma":
                sigma = values[1:, j]
        if scaling is not None:
            coefficients, intercepts = scaling.on_the_data_scale(coefficients, intercepts)
            sigma = None if sigma is None else sigma * scaling.y_sd
        self._coefficient_means, self._intercept_mean = coefficients[0], float(intercepts[0])
        self._coefficients, self._intercepts, self._sigma = coefficients[1:], intercepts[1:], sigma

    def _validated(self, x: Any, y: Any, weights: Any, **checks: Any) -> tuple[Any, Array, Array | None]:
        x, y = validate_data(self, x, y, accept_sparse="csr", dtype=np.float64, **checks)
        return x, y, None if weights is None else _check_sample_weight(weights, x, dtype=np.float64)

    def _rows(self, x: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, x, accept_sparse="csr", dtype=np.float64, reset=False)

    def _mean_predictor(self, x: Any) -> Array:
        """The posterior mean of the linear predictor."""
        return np.asarray(self._rows(x) @ self._coefficient_means + self._intercept_mean)

    def _linear_predictors(self, x: Any) -> Array:
        """Draws (n, draws) for the rows of x."""
        return np.asarray(self._rows(x) @ self._coefficients.T + self._intercepts)


def _varies(x: Any) -> Any:
    if hasattr(x, "tocsr"):
        return np.asarray(x.max(axis=0).toarray() != x.min(axis=0).toarray()).ravel()
    return np.ptp(x, axis=0) > 0


def _as_counts(x: Any, y: Array, weights: Array | None) -> tuple[Any, Array, Array | None]:
    """A mean count y between two whole numbers is both, with weights that give the log likelihood of y."""
    if np.any(y < 0):
        raise ValueError("Negative values in y: counts are 0 or more.")
    between = np.flatnonzero(y != np.floor(y))
    if not len(between):
        return x, y, weights
    share = y[between] - np.floor(y[between])
    weight = np.ones(len(y)) if weights is None else weights.copy()
    above = weight[between] * share
    weight[between] *= 1 - share
    rows = np.concatenate([np.arange(len(y)), between])
    return x[rows], np.concatenate([np.floor(y), np.ceil(y[between])]), np.concatenate([weight, above])


class BayesianLogisticRegression(ClassifierMixin, _Regression):  # type: ignore[misc]
    """Logistic regression of two classes.

    Parameters
    ----------
    prior
        ``"normal"`` or ``"horseshoe"``.
    prior_variance
        Of the normal prior of every coefficient; ``None``: priors on the scale of the data.
    rank
        Factors of the posterior's covariance.
    draws
        From the posterior, for predictions.
    random_state
        The seed.

    Attributes
    ----------
    fit_
        The ``magva.Fit``.
    coef_, intercept_
        Posterior means.
    classes_
        The two classes.
    """

    _model = "logistic"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLogisticRegression:
        """Fits the posterior."""
        x, y, weights = self._validated(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: {len(self.classes_)} classes."
            )
        if len(self.classes_) < 2 or (weights is not None and len(np.unique(codes[weights > 0])) < 2):
            raise ValueError("Classifier can't train when only one class is present.")
        self._fit_arrays(x, codes.astype(np.float64), weights)
        self.coef_ = self._coefficient_means[None, :]
        self.intercept_ = np.array([self._intercept_mean])
        return self

    def decision_function(self, X: Any) -> Array:
        """The log odds of the second class's predictive probability."""
        first, second = self.predict_proba(X).T
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(second) - np.log(first))

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Posterior predictive probabilities of both classes; with ``return_std``, the posterior sd of the second's, too."""
        probability = 1 / (1 + np.exp(-np.clip(self._linear_predictors(X), -700, 700)))
        second = probability.mean(axis=1)
        both = np.column_stack([1 - second, second])
        return (both, probability.std(axis=1)) if return_std else both

    def predict(self, X: Any) -> Any:
        """The likelier class."""
        likelier = (self.decision_function(X) > 0).astype(int)
        return self.classes_[likelier]


class BayesianLinearRegression(RegressorMixin, _Regression):  # type: ignore[misc]
    """Linear regression with unknown noise; see ``BayesianLogisticRegression`` for its parameters."""

    _model = "linear"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLinearRegression:
        """Fits the posterior."""
        x, y, weights = self._validated(X, y, sample_weight, y_numeric=True, ensure_min_samples=2)
        self._fit_arrays(x, np.asarray(y, dtype=np.float64), weights)
        self.coef_, self.intercept_ = self._coefficient_means, self._intercept_mean
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The posterior predictive mean; with ``return_std``, its sd, noise included."""
        mean = self._mean_predictor(X)
        if not return_std:
            return mean
        noise = 0.0 if self._sigma is None else np.mean(self._sigma**2)
        return mean, np.sqrt(self._linear_predictors(X).var(axis=1) + noise)


class BayesianPoissonRegression(RegressorMixin, _Regression):  # type: ignore[misc]
    """Poisson regression of counts, or of mean counts, with a log link; see ``BayesianLogisticRegression`` for its parameters."""

    _model = "poisson"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianPoissonRegression:
        """Fits the posterior."""
        x, y, weights = self._validated(X, y, sample_weight, y_numeric=True)
        self._fit_arrays(*_as_counts(x, np.asarray(y, dtype=np.float64), weights))
        self.coef_, self.intercept_ = self._coefficient_means, self._intercept_mean
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The posterior predictive mean; with ``return_std``, its sd, noise included."""
        rate = np.exp(np.clip(self._linear_predictors(X), -700, 700))
        mean = rate.mean(axis=1)
        return (mean, np.sqrt(rate.var(axis=1) + mean)) if return_std else mean
