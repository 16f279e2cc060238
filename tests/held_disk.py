"""A real disk whose commits wait until a test lets them go on."""

import sqlite3
import threading

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
