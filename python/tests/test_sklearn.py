"""The estimators, by scikit-learn's own checks."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from magva.sklearn import BayesianLinearRegression, BayesianLogisticRegression, BayesianPoissonRegression

ESTIMATORS = [BayesianLogisticRegression(), BayesianLinearRegression(), BayesianPoissonRegression()]
CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


def check_name(value):
    return getattr(value, "func", value).__name__ if callable(value) and not hasattr(value, "fit") else type(value).__name__


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=check_name)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_pipelines_and_grids():
    x, y = make_classification(120, 6, random_state=1)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BayesianLogisticRegression()), {"bayesianlogisticregression__prior_variance": [0.1, 10.0]}, cv=3
    )
    search.fit(x, y)
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_)


def test_uncertainty():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 2))
    y = x @ [1.0, -2.0] + 0.5 + rng.normal(scale=0.3, size=300)
    model = BayesianLinearRegression(prior_variance=100.0).fit(x, y)
    design = np.column_stack([np.ones(300), x])
    expected, residual, *_ = np.linalg.lstsq(design, y, rcond=None)
    se = np.sqrt(residual[0] / 297 * np.diag(np.linalg.inv(design.T @ design)))
    # The prior moves the posterior mean from least squares by a small part of a standard error.
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected, atol=0.05 * se.max())
    _, std = model.predict(x, return_std=True)
    assert 0.25 < std.mean() < 0.35
    probabilities, sd = BayesianLogisticRegression().fit(x, y > 0).predict_proba(x, return_std=True)
    assert probabilities.shape == (300, 2)
    assert np.all(sd < 0.5)
    rate, spread = BayesianPoissonRegression().fit(x, rng.poisson(np.exp(0.3 * x[:, 0]))).predict(x, return_std=True)
    assert np.all(spread > np.sqrt(rate) * 0.99)
