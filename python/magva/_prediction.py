"""Predictions for the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._options import one_of, whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["predict"]


def predict(handle: _core.Fit, data: Any, *, level: float, number: int, seed: int, missing: str, scale: str, correct: bool) -> pd.DataFrame:
    """As ``magva.Fit.predict`` describes it; rows keep the index of a pandas table."""
    import pandas as pd

    from ._tables import make_table

    one_of("missing", missing, ("refuse", "drop"))
    one_of("scale", scale, ("response", "link"))
    number, seed = whole("number", number, 2), whole("seed", seed, 0)
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r} and must be between 0 and 1")
    found = handle.predict(make_table(data), missing == "drop", number, seed, level, scale == "link", correct)
    columns = _columns(found, _class_values(handle.classes), scale)
    index = data.index[found["row"]] if isinstance(data, pd.DataFrame) and len(found["row"]) else None
    return pd.DataFrame(columns, index=index)


def _class_values(classes: list[str]) -> Any:
    """Classes as values that can be compared with the data: the engine has their texts."""
    if set(classes) <= {"True", "False"}:
        return np.array([name == "True" for name in classes])
    for number in (int, float):
        try:
            return np.array([number(name) for name in classes])
        except ValueError:
            continue
    return np.asarray(classes, dtype=object)


def _columns(found: dict[str, Any], classes: Any, scale: str) -> dict[str, Any]:
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
