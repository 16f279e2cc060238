"""The processes that descend from a command, found by a variable of their environment."""

import os
from pathlib import Path

import pytest

MARK = "PULSARCTL_TEST_MARK"
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find processes")


def marked(mark: str) -> list[str]:
    """The command lines of the processes that have the mark, without the calling one."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (directory / "environ").read_bytes().split(b"\0"):
                found.append((directory / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has ended, or it belongs to another user
    return [line for line in found if line and str(os.getpid()) != line]
