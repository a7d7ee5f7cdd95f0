"""What happens around the iterations of a fit: progress, the user's callback, and Ctrl-C."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Callback = Callable[["FitView"], Any]


@dataclass(frozen=True)
class FitView:
    """What a callback sees, after every iteration and several times a second."""

    phase: str  #: what the fit is doing: 'mode search', 'refinement', ...
    iteration: int  #: of that phase
    gradient_evaluations: int  #: of the whole fit
    seconds: float
    elbo: float  #: a noisy estimate; NaN if there is none


class Watch:
    """Asked by the engine whether to go on."""

    def __init__(self, progress: bool | None, callback: Callback | None) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is a {type(callback).__name__} and must be a function of a FitView")
        self.asked_to_stop = False
        self._callback = callback
        self._bar = _bar(progress)

    @property
    def every_view(self) -> bool:
        return self._callback is not None

    def __call__(self, phase: str, iteration: int, gradients: int, seconds: float, elbo: float) -> bool:
        if self._bar is not None:
            self._show(phase, gradients, elbo)
        if self._callback is not None and self._callback(FitView(phase, iteration, gradients, seconds, elbo)) is False:
            self.asked_to_stop = True
        return not self.asked_to_stop

    def _show(self, phase: str, gradients: int, elbo: float) -> None:
        assert self._bar is not None
        self._bar.set_description_str(phase, refresh=False)
        if math.isfinite(elbo):
            self._bar.set_postfix_str(f"ELBO {elbo:.2f}", refresh=False)
        self._bar.update(gradients - self._bar.n)

    def _interrupt(self, _signal: int, _frame: Any) -> None:
        if self.asked_to_stop:
            raise KeyboardInterrupt
        self.asked_to_stop = True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ctrl-C once asks the fit to end with what there is, twice raises KeyboardInterrupt."""
        with _handling(self._interrupt):
            try:
                yield
            finally:
                if self._bar is not None:
                    self._bar.close()


@contextmanager
def _handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    # Signals are the main thread's, and a handler that is not Python's own is somebody's decision.
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _bar(progress: bool | None) -> Any:
    """A tqdm bar, in a notebook or on a terminal; None: shown if standard error is a terminal or a notebook."""
    if progress is None:
        progress = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not progress:
        return None
    from tqdm.auto import tqdm

    return tqdm(unit=" gradients", leave=False, delay=0.3)
