"""The processes that descend from a command, found by a variable of their environment."""

import contextlib
import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

MARK = "PULSARCTL_TEST_MARK"
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find processes")


def marked_processes(mark: str) -> dict[int, str]:
    """The command lines of the processes that have the mark, by process ID, without the calling one."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (directory / "environ").read_bytes().split(b"\0"):
                found[int(directory.name)] = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended, or it belongs to another user
    return {process: line for process, line in found.items() if line and process != os.getpid()}


def marked(mark: str) -> list[str]:
    """The command lines alone."""
    return list(marked_processes(mark).values())


def kill(processes: Iterable[int]) -> bool:
    """kill -9 of those that still run; whether there was one."""
    found = False
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            found = True
    return found


def python_workers(ancestor: int) -> list[int]:
    """The workers of a local master, in the sessions that `ancestor` started. Spark forks them from a daemon."""
    parents = dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))
    daemons = {process for process in parents if re.search(r"pyspark\.daemon|worker_daemon", _command_line(process))}
    return [process for process in daemons if parents[process] in daemons and _descends(process, ancestor, parents)]


def _parent(directory: Path) -> tuple[int, int] | None:
    try:
        return int(directory.name), int((directory / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _descends(process: int, ancestor: int, parents: dict[int, int]) -> bool:
    while process in parents and process != ancestor:
        process = parents[process]
    return process == ancestor
