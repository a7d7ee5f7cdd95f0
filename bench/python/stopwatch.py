"""Processor seconds of a piece of work, and how many of them went into compiling it."""

import resource
import time
from contextlib import contextmanager

import jax.monitoring


def processor_seconds():
    """Of this process and of the children that it has waited for, such as compilers."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Stopwatch:
    """``with watch.running():`` measures. JAX says itself when it compiles, others say so by ``with watch.compiling():``."""

    def __init__(self):
        self.seconds = self.compiled = 0.0
        self._depth = 0
        jax.monitoring.register_scalar_listener(lambda event, _value, **_: self._jax(event, 1))
        jax.monitoring.register_event_duration_secs_listener(lambda event, _seconds, **_: self._jax(event, -1))

    def _jax(self, event, change):
        """Traces, lowerings and compilations of JAX, which may be within each other."""
        if event.startswith("/jax/core/compile/") and self._depth + change >= 0:
            self._enter(change)

    def _enter(self, change):
        if self._depth == 0:
            self._begin = processor_seconds()
        self._depth += change
        if self._depth == 0:
            self.compiled += processor_seconds() - self._begin

    @contextmanager
    def running(self):
        begin, self.compiled = processor_seconds(), 0.0
        yield
        self.seconds = processor_seconds() - begin

    @contextmanager
    def compiling(self):
        self._enter(1)
        try:
            yield
        finally:
            self._enter(-1)
