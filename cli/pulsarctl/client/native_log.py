"""The official client's log of one command.

The client tells only its log what the broker said. By default the log goes to a file of bounded size, from which the
error of the command takes the broker's words. With another level than `error`, it goes to stderr, as the user asked.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pulsar

from pulsarctl.client.client_errors import problem
from pulsarctl.values.choice import one_of

LOG_BYTES_MAX = 1 << 20
TAIL_BYTES = 64 * 1024  # the end of the log, in which the broker's last words are

_LEVELS = {
    # At its own debug level, the C++ client names each command that it gets, and aborts the process at one whose name
    # it does not know, such as TOPIC_MIGRATED (`Commands::messageType`).
    "debug": pulsar.LoggerLevel.Info,
    "info": pulsar.LoggerLevel.Info,
    "warn": pulsar.LoggerLevel.Warn,
    "error": pulsar.LoggerLevel.Error,
}
# The lines of the C++ client's ClientConnection for SEND_ERROR, ERROR, and failed lookups.
_SAID = (
    re.compile(r"Received send error from server: (?P<words>.+)$"),
    re.compile(r"Received error response from server: \w+ \((?P<words>.+)\) -- req_id: \d+$"),
    re.compile(r"Failed (?:partition-metadata )?lookup .*? msg: (?P<words>.+)$"),
)


class NativeLog:
    """The log of one client. `level` is that of the option `--log-level`. Raises `UsageProblem` for an unknown one."""

    def __init__(self, level: str) -> None:
        self._level = one_of(level, _LEVELS, "log level")
        self.path: Path | None = None  # of the file, if the log goes to one
        self._descriptor = -1
        if self._level == "error":
            self._descriptor, name = tempfile.mkstemp(prefix="pulsarctl-", suffix=".log")
            self.path = Path(name)

    def logger(self) -> Any:
        """The logger to construct the client with. A file gets warnings, too, which hold what the broker said."""
        if self.path is None:
            return pulsar.ConsoleLogger(_LEVELS[self._level])
        return pulsar.FileLogger(pulsar.LoggerLevel.Warn, str(self.path))

    def position(self) -> int:
        """The position after the last line, from which `said` may read. 0 without a file."""
        return 0 if self.path is None else os.fstat(self._descriptor).st_size

    def said(self, since: int = 0) -> str | None:
        """The last message of the broker after `since` about a request that it refused. None if the log has none."""
        if self.path is None:
            return None
        size = self.position()
        start = max(0, min(since, size), size - TAIL_BYTES)
        tail = os.pread(self._descriptor, size - start, start).decode(errors="replace")
        for line in reversed(tail.splitlines()):
            for pattern in _SAID:
                if match := pattern.search(line):
                    return match["words"]
        return None

    @contextmanager
    def translated(self, action: str, request: str = "") -> Iterator[None]:
        """A failure of the client in the block as the error of the command, with what the broker said in the block."""
        before = self.position()
        try:
            yield
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, action, request, self.said(before)) from error

    def bound(self) -> None:
        """Empties a log that has grown too large, as it does while a broker is away. The client appends to it."""
        if self.path is not None and self.position() > LOG_BYTES_MAX:
            os.ftruncate(self._descriptor, 0)

    def close(self) -> None:
        """Deletes the file. A thread of the client may still write to it."""
        if self.path is not None:
            os.close(self._descriptor)
            self.path.unlink(missing_ok=True)
            self.path = None
