"""What the JVM writes to stderr: Spark's log and the tracebacks of workers pass, warnings of the JVM itself do not.

No flag silences all of them. They are about module options that Spark passes to every Java, and about environment
variables that the JVM read, so users can do nothing about them.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import IO

LINES_KEPT = 20  # for the error of a JVM that does not start

_OF_THE_JVM = (b"WARNING: ", b"OpenJDK 64-Bit Server VM warning", b"Picked up ", b"NOTE: Picked up ")


class JavaMessages:
    """Passes lines on in a thread that ends with the stream, so with the JVM."""

    def __init__(self, stream: IO[bytes], write: Callable[[bytes], object], *, all_of_them: bool = False) -> None:
        self._stream = stream
        self._write = write
        self._hidden = () if all_of_them else _OF_THE_JVM
        self._last: deque[bytes] = deque(maxlen=LINES_KEPT)
        self._thread = threading.Thread(target=self._pass_on, name="java-messages", daemon=True)
        self._thread.start()

    def last_line(self) -> str | None:
        """The last line of a JVM that has ended, hidden or not."""
        self._thread.join(1.0)
        lines = [line.decode(errors="replace").strip() for line in self._last]
        return next((line for line in reversed(lines) if line), None)

    def close(self) -> None:
        """Call it after the JVM has ended; a worker that outlives it by a moment may hold the stream open."""
        self._thread.join(1.0)

    def _pass_on(self) -> None:
        with self._stream:
            for line in self._stream:
                self._last.append(line)
                if not line.startswith(self._hidden or (b"\0",)):
                    self._write(line)
