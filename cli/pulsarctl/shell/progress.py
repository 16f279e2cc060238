"""The progress of work on many things, in one line on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call


@contextmanager
def progress(call: Call) -> Iterator[Callable[[str, int, int], None]]:
    """The function gets what is done, how many of them, and how many there are."""
    line = Progress(quiet=call.settings.quiet)
    try:
        yield lambda what, done, total: line.show(f"{what}: {done:,} of {total:,}")
    finally:
        line.clear()
