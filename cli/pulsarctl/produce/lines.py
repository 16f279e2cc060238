"""A stream of bytes as lines, for `produce --lines`.

Only `\\n` ends a line: `\\r`, NUL, and bytes that are not UTF-8 are part of it. An empty line is a message, the last
line may lack `\\n`, and no line follows a final `\\n`. Each run has the lines of one read, so that a million lines take
a few thousand calls, and memory holds one read and one unfinished line.
"""

from collections.abc import Callable, Iterator

from pulsarctl.errors import CliError

CHUNK_BYTES = 256 * 1024
LONGEST_LINE_BYTES = 256 * 1024 * 1024  # far above every broker's message limit; bounds input without a newline


def runs_of_lines(read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
    """Lists of lines. `read(n)` returns 1 to n bytes, or none at the end of the stream.

    Raises `CliError` for a line that no broker would accept and that would fill the memory.
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
            f"cannot read line {line}: it is longer than {LONGEST_LINE_BYTES} bytes",
            hint="send a file as one message with -f, or with --chunking",
        )
