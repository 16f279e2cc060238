"""The messages that `produce` sends: those of the command line, then files, then the lines of a stream.

Messages come in runs, so that a million lines take few calls. `source_of` names the source of a message, for errors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pulsarctl.errors import CliError
from pulsarctl.output import streams
from pulsarctl.produce.lines import runs_of_lines

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`rounds` repeats messages and files, but not lines, because stdin is read only once."""

    messages: list[bytes]
    files: list[str]
    lines: str | None
    rounds: int = 1

    def runs(self) -> Iterator[list[bytes]]:
        """Raises `CliError` for a file that is not readable."""
        for _ in range(self.rounds):
            if self.messages:
                yield self.messages
            for path in self.files:
                yield [_whole(path)]
        if self.lines is not None:
            yield from _lines(self.lines)

    def source_of(self, position: int) -> str:
        """The source of the message at `position` (from 1), such as `line 7 of orders.csv`."""
        fixed = len(self.messages) + len(self.files)
        if position > fixed * self.rounds:
            return f"line {position - fixed * self.rounds} of {_shown(self.lines or STDIN)}"
        within = (position - 1) % fixed
        if within < len(self.messages):
            return f"message {position}"
        return f"file {self.files[within - len(self.messages)]}"

    def line_after(self, acknowledged: int) -> int | None:
        """The line to resume at after `acknowledged` messages, or None if that is not a line."""
        line = acknowledged - (len(self.messages) + len(self.files)) * self.rounds + 1
        return line if self.lines is not None and line >= 1 else None


def _shown(path: str) -> str:
    return "stdin" if path == STDIN else path


def _whole(path: str) -> bytes:
    try:
        return streams.stdin().buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _lines(path: str) -> Iterator[list[bytes]]:
    """`read1` returns what is available, so that lines that arrive slowly are sent immediately."""
    if path == STDIN:
        yield from runs_of_lines(streams.stdin().buffer.read1)  # type: ignore[attr-defined]  # BinaryIO does not declare it
        return
    try:
        with open(path, "rb", buffering=0) as file:
            yield from runs_of_lines(lambda size: file.read(size) or b"")
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> CliError:
    return CliError(f"cannot read {path}: {error.strerror}")
