"""Single keys from the terminal, without waiting for Enter."""

import os
import select
import sys
from importlib import import_module
from types import TracebackType
from typing import Self

from pulsarctl.errors import CliError

ESCAPE = "\x1b"
ARROWS = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
}
KEY_BYTES = 16


class Keyboard:
    """Between entering and leaving, the terminal echoes nothing. Signals such as Ctrl-C work as usual."""

    def __init__(self) -> None:
        """Raises `CliError` on Windows, whose terminals work in another way."""
        try:
            self._termios, self._tty = import_module("termios"), import_module("tty")
        except ImportError as error:
            raise CliError("cannot read keys on this system", hint="use --once, or -n N -o jsonl") from error

    def __enter__(self) -> Self:
        self._descriptor = sys.stdin.fileno()
        self._before = self._termios.tcgetattr(self._descriptor)
        self._tty.setcbreak(self._descriptor, self._termios.TCSADRAIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._termios.tcsetattr(self._descriptor, self._termios.TCSADRAIN, self._before)

    def key(self, timeout_seconds: float) -> str:
        """A character, the name of an arrow, or nothing after the timeout. Raises `EOFError` if stdin is closed."""
        if not select.select([self._descriptor], [], [], timeout_seconds)[0]:
            return ""
        data = os.read(self._descriptor, KEY_BYTES)
        if not data:
            raise EOFError
        text = data.decode("utf-8", "replace")
        return ARROWS.get(text, text[0]) if text.startswith(ESCAPE) else text[0]
