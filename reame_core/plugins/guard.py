"""Calling a plugin's function so that it cannot hurt a request."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable, Iterable
from time import perf_counter, perf_counter_ns
from typing import Any

from reame_core.errors import InvalidRequest
from reame_core.plugins.timing import Timing

ANSWERED_BY_ERROR = frozenset({"serve_fields"})
"""Hooks whose InvalidRequest is an answer for the client and no failure."""
FAILURES_BEFORE_OFF = 3
"""In a row. After that a hook of a plugin is not called again in this process."""

logger = logging.getLogger("reame.plugins")
trace_logger = logging.getLogger("reame.plugins.trace")


class GuardedCall:
    """One implementation of one hook: called with the specification's arguments by position, it answers
    None instead of raising an Exception.

    Called by the thread the hook belongs to; the counts may be read by any.
    """

    __slots__ = ("_function", "_in_a_row", "_keep_on", "errors", "hook", "off", "plugin", "timing")

    def __init__(self, plugin: str, hook: str, function: Callable[..., Any], *, keep_on: bool = False) -> None:
        self.plugin = plugin
        self.hook = hook
        self.errors = 0
        self.off = ""
        """Why it is not called any more; empty while it is."""
        self.timing = Timing()
        self._function = function
        self._in_a_row = 0
        self._keep_on = keep_on

    def __call__(self, *arguments: Any) -> Any:
        if self.off:
            return None
        started = perf_counter_ns()
        try:
            answer = self._function(*arguments)
        except Exception as error:
            self.timing.add(perf_counter_ns() - started)
            if isinstance(error, InvalidRequest) and self.hook in ANSWERED_BY_ERROR:
                raise
            self._failed(error)
            return None
        self.timing.add(perf_counter_ns() - started)
        self._in_a_row = 0
        return answer

    def unguarded(self, *arguments: Any) -> Any:
        """The same call, for whoever has to know the exception."""
        started = perf_counter_ns()
        try:
            return self._function(*arguments)
        finally:
            self.timing.add(perf_counter_ns() - started)

    def _failed(self, error: Exception) -> None:
        self.errors += 1
        self._in_a_row += 1
        what = one_line(error)
        logger.error(
            "plugin %r failed in hook %r and was skipped: %s",
            self.plugin,
            self.hook,
            what,
            exc_info=error if self.errors == 1 else None,
        )
        if self._in_a_row >= FAILURES_BEFORE_OFF and not self._keep_on:
            self.off = f"{self._in_a_row} failures in a row, the last: {what}"
            logger.error("hook %r of plugin %r is switched off: %s", self.hook, self.plugin, self.off)


def picking(
    function: Callable[..., Any], wanted: tuple[str, ...], given: tuple[str, ...]
) -> Callable[..., Any]:
    """``function``, which takes the arguments ``wanted``, as one that is passed all ``given`` by position."""
    if wanted == given:
        return function
    picks = tuple(given.index(name) for name in wanted)

    def call(*arguments: Any) -> Any:
        return function(*[arguments[pick] for pick in picks])

    return call


def tracing(function: Callable[..., Any], plugin: str, hook: str) -> Callable[..., Any]:
    """``function``, which logs how long each of its calls takes."""

    def call(*arguments: Any) -> Any:
        start = perf_counter()
        try:
            return function(*arguments)
        finally:
            trace_logger.info("%s of %s: %.3f ms", hook, plugin, (perf_counter() - start) * 1e3)

    return call


_announced: set[tuple[str, str]] = set()


def warn_of_deprecations(plugin: str, origin: str, lines: Iterable[str]) -> None:
    """Log each of ``lines`` once a process, however often plugins are loaded in it."""
    for line in lines:
        if (plugin, line) not in _announced:
            _announced.add((plugin, line))
            logger.warning("plugin %r (%s): %s", plugin, origin, line)


def one_line(error: BaseException) -> str:
    """Type and text of an exception. Does not fail, whatever the exception's own ``__str__`` does."""
    try:
        text = textwrap.shorten(str(error), 300, placeholder=" ...")
    except Exception:
        text = "(its text cannot be read)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
