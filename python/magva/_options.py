"""Keyword arguments of the fitting functions: the options of ``magva fit``, from the program's own table."""

from __future__ import annotations

import functools
import json
import operator
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from . import _core

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = [
    "ArrayOptions",
    "FittingOptions",
    "FormulaOptions",
    "OptionError",
    "StanOptions",
    "TableOptions",
    "Unpack",
    "check_options",
    "one_of",
    "options",
    "whole",
]


class OptionError(ValueError, TypeError):
    """A keyword argument that is no option."""

    __module__ = "magva"  # where users find it


class FittingOptions(TypedDict, total=False):
    """How a fit is run; ``magva.options`` explains each."""

    approximation: str
    rank: int | str
    shape: str
    layers: int
    sd_for: list[str] | str
    rule: str
    iterations: int
    draws: int
    antithetic: bool
    estimator: str
    starts: int
    evaluations: int
    seed: int
    threads: int
    time_limit: float


class ArrayOptions(FittingOptions, total=False):
    """What is fitted to a matrix of predictors."""

    model: str
    family: str
    link: str
    prior: list[str] | str
    prior_variance: float
    horseshoe: str
    covariate: str
    basis: int
    positive: str
    standardise: bool
    discretise: str
    missing: str
    float32: bool
    device: str
    batch: int


class TableOptions(ArrayOptions, total=False):
    """The same for a table, and which columns are used."""

    weights: str
    column: list[str] | str
    exclude: list[str] | str


class FormulaOptions(FittingOptions, total=False):
    """What else is said about a regression by a formula."""

    family: str
    link: str
    prior: list[str] | str
    prior_variance: float
    weights: str
    exclude: list[str] | str
    positive: str
    standardise: bool
    missing: str
    float32: bool
    device: str
    batch: int


class StanOptions(FittingOptions, total=False):
    """What is reported of a Stan program."""

    generated_quantities: bool


# Options of the program that say where files are, which a call has no use for; `init`, `response` and `data` are arguments.
_OF_THE_PROGRAM = {"out", "resume", "checkpoint", "config", "quiet", "save_design", "format", "separator", "text"}
_ARGUMENTS = {"init", "response", "data", "formula"}


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _core.option_table() if row["name"] not in _OF_THE_PROGRAM | _ARGUMENTS}


def _names(groups: Iterable[str]) -> list[str]:
    wanted = set(groups)
    by_formula = "Formula" in wanted
    if by_formula:
        wanted.add("Model")
    names = [name for name, row in _table().items() if row["group"] in wanted]
    if by_formula:
        return [name for name in names if name not in _NOT_WITH_A_FORMULA]
    return names if "Model" in wanted else [name for name in names if name != "batch"]


GROUPS = {
    "fit": ("Fitting",),
    "fit_jax": ("Fitting",),
    "fit_numpyro": ("Fitting",),
    "fit_pymc": ("Fitting",),
    "fit_table": ("Model", "Data", "Fitting"),
    "fit_arrays": ("Model", "Data", "Fitting"),
    "fit_formula": ("Formula", "Data", "Fitting"),
    "fit_stan": ("Stan models", "Fitting"),
}
# Options of models that a formula has no use for: it says itself what they say.
_NOT_WITH_A_FORMULA = {"model", "horseshoe", "covariate", "basis", "column", "discretise"}


def options(function: str = "fit") -> dict[str, str]:
    """The options of a fitting function, each with a sentence that says what it does.

    Parameters
    ----------
    function
        ``"fit"``, ``"fit_table"``, or the name of any other fitting function.
    """
    if function not in GROUPS:
        raise ValueError(f"function is {function!r} and must be one of {', '.join(GROUPS)}")
    out = {}
    for name in _names(GROUPS[function]):
        row = _table()[name]
        default = f" (default: {row['default']})" if row["default"] else ""
        choices = f": {', '.join(row['choices'])}" if row["choices"] else ""
        out[name] = row["help"] + choices + default
    return out


def _plain(value: Any) -> Any:
    """The value as JSON has it: NumPy's scalars and paths included."""
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.item() if hasattr(value, "item") else value


def check_options(function: str, given: Mapping[str, Any]) -> str:
    """The options of a fitting function as JSON; OptionError for a name that is none."""
    names = _names(GROUPS[function])
    for name in given:
        if name not in names:
            near = _core.nearest_name(name, names)
            hint = f" (did you mean {near!r}?)" if near else ""
            raise OptionError(f"magva.{function}() has no option {name!r}{hint}; its options are {', '.join(names)}")
    plain = {name: _plain(value) for name, value in given.items() if value is not None}
    try:
        return json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the options of magva.{function}() must be texts, finite numbers, booleans or lists of these: {error}") from None


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """A ValueError unless the argument ``name`` is one of the values that it may have."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r} and must be {' or '.join(map(repr, allowed))}")


def whole(name: str, value: Any, least: int) -> int:
    """The argument ``name`` as an integer; a ValueError if it is none, or less than this."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r} and must be an integer, at least {least}") from None
    if number < least:
        raise ValueError(f"{name} is {number} and must be at least {least}")
    return number
