"""The audit log: who did what, from where, with which outcome, as JSON (docs/how-to/security.md has their fields).

Lines are written by a thread, so that no client waits for the disk. The queue is bounded: events above it are counted,
and the next line says how many are missing. The file is opened for each batch of lines, so that it can be rotated.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from broker_core.clock import iso

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.security.principal import Principal

log = logging.getLogger(__name__)

EVENTS_MAX = 10_000
BATCH = 256
CLOSE_SECONDS = 5.0
LONGEST_TEXT = 2_000  # characters of a value


class AuditLog:
    """Without a path it does nothing."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue(EVENTS_MAX)
        self._missing = 0
        self._closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._path:
            self._thread = threading.Thread(target=self._write, name="audit", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Writes what is queued; waits for the disk, with a limit."""
        if self._thread is None:
            return
        self._closing = True
        deadline = time.monotonic() + CLOSE_SECONDS
        with contextlib.suppress(queue.Full):
            self._events.put(None, timeout=CLOSE_SECONDS)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        missing = self._missing + (self._events.qsize() if self._thread.is_alive() else 0)
        if missing:
            log.error("cannot write the last %d lines of the audit log %s: the disk is too slow", missing, self._path)

    def failed(self, method: str, reason: str, address: str) -> None:
        self._add("authentication", "failed", address, method=method, reason=reason)

    def denied(self, principal: Principal | None, operation: str, resource: str, rule: str, address: str) -> None:
        self._add("operation", "denied", address, principal, operation=operation, resource=resource, rule=rule)

    def changed(self, principal: Principal | None, request: str, status: int, address: str) -> None:
        self._add("change", "ok" if status < 400 else "failed", address, principal, request=request, status=status)

    def _add(self, event: str, outcome: str, address: str, principal: Principal | None = None, **values: Any) -> None:
        if not self._path:
            return
        line: dict[str, Any] = {
            "time": iso(self._clock.wall_ms()),
            "event": event,
            "outcome": outcome,
            "address": address,
        }
        if principal is not None:
            line["role"] = principal.role
            if principal.original:
                line["original"] = principal.original
        line |= {key: value[:LONGEST_TEXT] if isinstance(value, str) else value for key, value in values.items()}
        if self._missing:
            line["missing"] = self._missing
        try:
            self._events.put_nowait(line)
            self._missing = 0
        except queue.Full:
            self._missing += 1

    def _write(self) -> None:
        while (first := self._events.get()) is not None:
            lines, ended = self._more(first)
            try:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.writelines(lines)
            except OSError as error:
                log.error("cannot write %d lines of the audit log %s: %s", len(lines), self._path, error)
            if ended or (self._closing and self._events.empty()):
                return

    def _more(self, first: dict[str, Any]) -> tuple[list[str], bool]:
        """The lines that wait now, and whether the last event was among them."""
        lines = [_line(first)]
        while len(lines) < BATCH:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                break
            if event is None:
                return lines, True
            lines.append(_line(event))
        return lines, False


def _line(event: dict[str, Any]) -> str:
    """ASCII, so that no name can forge a line or an escape sequence."""
    return json.dumps(event) + "\n"
