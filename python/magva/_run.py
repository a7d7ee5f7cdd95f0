"""How a fitting function runs the engine."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._fit import Fit
from ._structure import Structure
from ._watch import Callback, Watch

__all__ = ["InterruptedWarning", "Run"]


class InterruptedWarning(UserWarning):
    """A fit was interrupted: the result is the best so far."""


@dataclass(frozen=True)
class Run:
    """What a call says about the way to its result: checked options as JSON, the start, who watches, and with whom."""

    options: str
    progress: bool | None
    callback: Callback | None
    init: Any = None
    comm: Any = None

    def fit(self, source: _core.Source, structure: Structure | None = None) -> Fit:
        """Fits; Ctrl-C ends it with what there is, and a warning."""
        watch = Watch(self.progress, self.callback)
        start = _start(source, self.init)
        with watch.running():
            handle = _core.Fit.run(source, self.options, start, watch, watch.every_view)
        if handle.stopped == "interrupted":
            warnings.warn(f"the fit was {handle.stop_detail}: this is the best result so far", InterruptedWarning, stacklevel=_callers())
        return Fit(handle, structure)

    def fit_regression(self, table: _core.Table, **what: str) -> Fit:
        """Fits the regression of a table that ``response=`` or ``formula=`` says, alone or with the other ranks of a communicator."""
        model = json.dumps({**json.loads(self.options), **what})
        if self.comm is None:
            return self.fit(_core.Source.table(table, model))
        return self._fit_on_ranks(table, model)

    def _fit_on_ranks(self, table: _core.Table, model: str) -> Fit:
        comm = self.comm
        if not hasattr(comm, "py2f"):
            raise TypeError(f"comm is a {type(comm).__name__} and must be a communicator of mpi4py, such as MPI.COMM_WORLD")
        if self.init is not None:
            raise ValueError("init cannot be combined with comm: the fit starts where the model says")
        watch = Watch(self.progress if comm.rank == 0 else False, self.callback)
        result, failure = None, None
        try:
            with watch.running():
                handle = _core.Fit.run_on_ranks(table, model, self.options, comm.py2f(), None, watch, watch.every_view)
            result = Fit(handle) if handle is not None else None
        except Exception as error:  # the others wait for the result
            failure = error
        shared = comm.bcast(result, root=0)
        if failure is not None:
            raise failure
        if shared is None:
            raise RuntimeError("the fit failed on rank 0, which says why")
        return result if result is not None else shared


def _callers() -> int:
    """How many calls up the user's code is, for a warning that the caller of this gives."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").startswith(f"{__package__}."):
        level += 1
    return level


def _start(source: _core.Source, init: Any) -> Any:
    """An array of all coordinates, or a mapping of some names to values, in place of the model's own start."""
    if init is None:
        return None
    if not isinstance(init, Mapping):
        try:
            start = np.asarray(init, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"init is a {type(init).__name__} and must be an array of numbers or a mapping of names to numbers") from None
        if start.shape != (source.dimension,):
            raise ValueError(f"init has shape {start.shape} and must be ({source.dimension},)")
    else:
        start = source.start
        names = source.names
        for name, value in init.items():
            if name not in names:
                near = _core.nearest_name(name, names)
                raise ValueError(f"init names {name!r}, which is no parameter" + (f" (did you mean {near!r}?)" if near else ""))
            start[names.index(name)] = value
    if not np.all(np.isfinite(start)):
        raise ValueError("init must be finite")
    return start
