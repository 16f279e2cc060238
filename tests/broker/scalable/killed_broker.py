"""`pulsarctl standalone` that kills itself with SIGKILL: `python -m tests.broker.scalable.killed_broker FILE`.

FILE appears later, and has how many of the following changes on disk still happen. Sealed segments go at once.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from broker_core.scalable import collection
from broker_core.storage.disk import RealDisk

CHANGES = (
    "pwrite",
    "sync",
    "write_synced",
    "truncate",
    "sync_directory",
    "make_directory",
    "remove",
    "replace",
    "rename",
    "commit",
)


class Countdown:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._left: int | None = None

    def count(self) -> None:
        """Kills the process if nothing is left."""
        if self._left is None and self._file.exists():
            self._left = int(self._file.read_text())
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def limit(self, name: str) -> None:
        call = getattr(RealDisk, name)

        def counted(disk: RealDisk, *args: Any, **named: Any) -> Any:
            self.count()
            return call(disk, *args, **named)

        setattr(RealDisk, name, counted)


if __name__ == "__main__":
    countdown = Countdown(Path(sys.argv[1]))
    for change in CHANGES:
        countdown.limit(change)
    collection.CHECK_SECONDS = 0.1
    from pulsarctl.main import main

    sys.argv[1:2] = ["standalone"]
    main()
