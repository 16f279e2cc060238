"""A screen that shows what a command has printed last, and leaves it on the terminal at the end."""

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Self

from pulsarctl.output import render, streams


class _Paper(io.StringIO):
    """Is formatted, escaped, and colored as for the terminal."""

    def isatty(self) -> bool:
        return True


class Screen:
    """The whole terminal, as a context manager; stdout must be a terminal."""

    def __init__(self) -> None:
        self._last = ""

    @staticmethod
    def is_there() -> bool:
        return streams.is_terminal(sys.stdout)

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """Draws what the block prints at once, at its end. stderr is a part of it, unless it goes elsewhere."""
        paper = _Paper()
        with redirect_stdout(paper), redirect_stderr(paper if streams.is_terminal(sys.stderr) else sys.stderr):
            yield
        self._last = paper.getvalue().rstrip("\n")
        render.frame("\n".join(self._last.split("\n")[: shutil.get_terminal_size().lines]))

    def __enter__(self) -> Self:
        render.full_screen(begin=True)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            render.full_screen(begin=False, left=f"{self._last}\n" if self._last else "")
