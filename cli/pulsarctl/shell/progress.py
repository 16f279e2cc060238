"""The progress of work on many things, in one line on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call


@contextmanager
def progress(call: Call) -> Iterator[Callable[[str, int, int], None]]:
    """The function gets the name of the items, how many are done, and how many there are."""
    line = Progress(quiet=call.settings.quiet)
    try:
        yield lambda label, done, total: line.show(f"{label}: {done:,} of {total:,}")
    finally:
        line.clear()
