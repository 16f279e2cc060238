"""`pulsarctl` on a pseudoterminal with a size, driven by keys; what is on its screen, as lines of text."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.program import PULSARCTL

SECONDS = 60.0
HOME = "\x1b[H"  # begins each frame
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")


class Drawn:
    """Runs without the developer's settings. The end of the block kills it if it still runs."""

    def __init__(
        self, home: Path, *words: str, environ: Mapping[str, str | None], size: tuple[int, int] = (24, 100)
    ) -> None:
        self._terminal, theirs = pty.openpty()
        self.resize(*size)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PULSAR", "COLUMNS", "LINES"))
        }
        given = {name: value for name, value in environ.items() if value is not None}
        self._process = subprocess.Popen(
            [str(PULSARCTL), *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**kept, "TERM": "xterm-256color", "NO_COLOR": "1", **given},
            cwd=home,
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = ""

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    @property
    def frame(self) -> list[str]:
        """The lines of the last whole frame."""
        frames = self.raw.split(HOME)
        last = frames[-1] if "\x1b[J" in frames[-1] else frames[-2] if len(frames) > 1 else ""
        return [line.rstrip() for line in _SEQUENCE.sub("", last).replace("\r", "").split("\n")]

    @property
    def text(self) -> str:
        """Everything without control sequences."""
        return _SEQUENCE.sub("", self.raw).replace("\r", "")

    def wait_for(self, is_there: Callable[["Drawn"], bool], seconds: float = SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not is_there(self):
            left = deadline - time.monotonic()
            assert left > 0 and self._read(left), f"not within {seconds} s; the screen shows {self.frame}"

    def finish(self, seconds: float = SECONDS) -> int:
        deadline = time.monotonic() + seconds
        while self._read(max(0.0, deadline - time.monotonic())):
            continue
        return self._process.wait(seconds)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        try:
            chunk = os.read(self._terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.raw += chunk.decode("utf-8", "replace")
        return bool(chunk)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._terminal)
