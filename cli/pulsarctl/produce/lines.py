"""A stream of bytes as lines, for `produce --lines`. Pure but for reading.

A line ends at `\\n` and nowhere else: `\\r`, NUL and bytes that are not UTF-8 belong to it. An empty line is an empty
line, a last line without `\\n` counts, and nothing follows a final `\\n`. Lines come in runs, as many as one read
brought, so that a million of them cost a few thousand calls and memory holds one read and one unfinished line.
"""

from collections.abc import Callable, Iterator

from pulsarctl.errors import CliError

CHUNK_BYTES = 256 * 1024
LONGEST_LINE_BYTES = 256 * 1024 * 1024  # far above any broker's message limit; a bound for input without a newline


def runs_of_lines(read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
    """Lists of lines. `read(n)` returns 1 to n bytes, or none at the end of the stream.

    Raises `CliError` for a line that no broker would take and that would fill the memory.
    """
    unfinished: list[bytes] = []
    unfinished_bytes = 0
    lines_before = 0
    while chunk := read(CHUNK_BYTES):
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            if unfinished:
                lines[0] = b"".join([*unfinished, lines[0]])
                unfinished, unfinished_bytes = [], 0
            lines_before += len(lines)
            yield lines
        if rest:
            unfinished.append(rest)
            unfinished_bytes += len(rest)
            _check(unfinished_bytes, lines_before + 1)
    if unfinished:
        yield [b"".join(unfinished)]


def _check(size: int, line: int) -> None:
    if size > LONGEST_LINE_BYTES:
        raise CliError(
            f"line {line} is longer than {LONGEST_LINE_BYTES} bytes and has not ended",
            hint="send a file as one message with -f, or with --chunking",
        )
