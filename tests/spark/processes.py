"""The processes that descend from a command, found by a variable of their environment."""

import contextlib
import os
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
