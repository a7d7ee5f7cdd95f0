"""A DataFrame that a notebook shows with the verdict above it."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd


class Summary(pd.DataFrame):  # type: ignore[misc]
    """The table of ``magva.Fit.summary``."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame  # what is made out of it is a plain table

    def _repr_html_(self) -> str:
        verdict = html.escape(str(self.attrs.get("verdict", "")))
        return f"<p>{verdict}</p>{pd.DataFrame(self)._repr_html_()}"
