"""Limits what clients can make the broker log: a few lines per minute for each kind of event, client, and topic.

A message that cannot be decrypted, a connection with invalid bytes: every event that a client can repeat at will goes
through `ClientLog`. Lines above the limit are counted, and the next line of their kind says how many there were.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

WINDOW_SECONDS = 60.0
LINES_PER_WINDOW = 5  # per sentence, client, and topic
VALUE_MAX = 500  # characters; a reason may quote a name of 100 KB
KINDS_MAX = 500  # distinguished within a window; more kinds are only counted

Kind = tuple[str, str, str]  # sentence, client, topic


class LineBudget:
    """Decides which lines may be written; one for the whole process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._window_ends = 0.0
        self._lines: dict[Kind, int] = {}
        self._left_out: dict[Kind, int] = {}

    def take(self, kind: Kind) -> int:
        """Returns how many lines of that kind were suppressed before this one; -1: suppress this one, too."""
        now = self._now()
        if now >= self._window_ends:
            self._start_window(now)
        written = self._lines.get(kind, 0)
        if written >= LINES_PER_WINDOW or (not written and len(self._lines) >= KINDS_MAX):
            self._count(kind)
            return -1
        self._lines[kind] = written + 1
        return self._left_out.pop(kind, 0)

    def _start_window(self, now: float) -> None:
        """Lines that were suppressed in a window that ended long ago are no longer reported."""
        if now >= self._window_ends + WINDOW_SECONDS:
            self._left_out.clear()
        self._window_ends = now + WINDOW_SECONDS
        self._lines.clear()

    def _count(self, kind: Kind) -> None:
        if kind in self._left_out or len(self._left_out) < KINDS_MAX:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1


_budget = LineBudget()


class ClientLog:
    """A module's log for such events; `client` is an address without its port, `topic` may be empty."""

    def __init__(self, name: str, budget: LineBudget = _budget) -> None:
        self._log = logging.getLogger(name)
        self._budget = budget

    def info(self, client: str, topic: object, sentence: str, *values: object) -> None:
        self._write(logging.INFO, client, topic, sentence, values)

    def warning(self, client: str, topic: object, sentence: str, *values: object) -> None:
        self._write(logging.WARNING, client, topic, sentence, values)

    def exception(self, client: str, topic: object, sentence: str, *values: object) -> None:
        """Logs with the traceback of the current exception."""
        self._write(logging.ERROR, client, topic, sentence, values, traceback=True)

    def _write(
        self,
        level: int,
        client: str,
        topic: object,
        sentence: str,
        values: tuple[object, ...],
        *,
        traceback: bool = False,
    ) -> None:
        if not self._log.isEnabledFor(level):
            return
        left_out = self._budget.take((sentence, client, str(topic)))
        if left_out < 0:
            return
        facts = {"left_out": left_out} if left_out else {}
        self._log.log(level, sentence, *map(_short, values), exc_info=traceback, extra=facts)


def _short(value: object) -> object:
    """Numbers stay numbers, for sentences with `%d`."""
    if isinstance(value, int | float):
        return value
    text = str(value)
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}... ({len(text):,} characters)"
