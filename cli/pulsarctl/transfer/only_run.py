"""One process at a time continues what keeps its progress in a file.

A second one would read the progress of the first, wait for the names of its producers, and then send again what the
first has sent in the meantime.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsarctl.errors import CliError, Conflict
from pulsarctl.output.one_writer import locked
from pulsarctl.output.whole_file import make_directory


@contextmanager
def only_run(progress: Path, doing: str) -> Iterator[None]:
    """Raises `Conflict` if another process of this machine is at it, or `CliError`. The empty lock file stays."""
    lock = progress.with_suffix(".lock")
    try:
        make_directory(lock.parent)
        lock.touch(mode=0o600)
    except OSError as error:
        raise CliError(f"cannot write {lock}: {error.strerror}") from error
    with locked(lock) as is_ours:
        if not is_ours:
            raise Conflict(f"cannot {doing}: another process is doing the same", hint="wait for its end")
        yield
