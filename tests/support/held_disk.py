"""Real disks whose commits, syncs, or reads wait until a test lets them go on."""

import sqlite3
import threading
from collections.abc import Sequence

from broker_core.storage.disk import RealDisk


class HeldDisk(RealDisk):
    """Commits of the database wait while `go` is clear; `arrived` is set when one comes."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.arrived = threading.Event()

    def commit(self, connection: sqlite3.Connection) -> None:
        self.arrived.set()
        self.go.wait(20)
        super().commit(connection)


class HeldSyncs(RealDisk):
    """Synced writes of the journal wait while `go` is clear; `arrived` is set when one comes."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.arrived = threading.Event()

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        self.arrived.set()
        self.go.wait(20)
        super().write_synced(fd, buffers, offset)


class HeldReads(RealDisk):
    """The read of a file that comes after `free` others waits while `go` is clear, and sets `arrived`."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.arrived = threading.Event()
        self.free = 1 << 30
        self.reads = 0

    def hold_after(self, reads: int) -> None:
        self.free, self.reads = reads, 0
        self.go.clear()
        self.arrived.clear()

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        self.reads += 1
        if self.reads > self.free:
            self.arrived.set()
            self.go.wait(20)
        return super().pread(fd, size, offset)
