"""How far to trust a fit, and how it came about."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Assessment"]


class Assessment:
    """What a fit says about itself."""

    _handle: _core.Fit

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


def _number(value: float | None) -> float:
    return math.nan if value is None else value
