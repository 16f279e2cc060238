"""A broker process on a disk of a chosen speed: `python -m tests.long.bench.throttled_broker DIR --mb-s 10`.

Prints its address when it is ready. A token bucket in front of the disk limits its speed.
"""

import argparse
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from broker_core.config.broker import BrokerConfig
from broker_core.server import process
from broker_core.server.server import Server
from broker_core.storage.disk import RealDisk
from broker_core.testing import FREE_PORTS


class ThrottledDisk(RealDisk):
    """Writes at most `bytes_per_second` over all files; each sync takes at least `sync_seconds`."""

    def __init__(self, bytes_per_second: float, sync_seconds: float) -> None:
        self._bytes_per_second = bytes_per_second
        self._sync_seconds = sync_seconds
        self._lock = threading.Lock()
        self._free_at = time.monotonic()

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        if self._bytes_per_second:
            with self._lock:
                self._free_at = max(self._free_at, time.monotonic()) + len(data) / self._bytes_per_second
                due = self._free_at
            time.sleep(max(0.0, due - time.monotonic()))  # a slow disk
        super().pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        time.sleep(self._sync_seconds)  # a slow disk
        super().sync(fd)

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        self.pwrite(fd, b"".join(buffers), offset)
        self.sync(fd)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--mb-s", type=float, default=0, help="0 is as fast as the disk is")
    parser.add_argument("--sync-ms", type=float, default=0)
    options = parser.parse_args()
    disk = ThrottledDisk(options.mb_s * 1e6, options.sync_ms / 1000)
    server = Server(BrokerConfig(server=FREE_PORTS), options.dir, disk=disk)
    process.run(server, lambda urls: print(urls["service_url"], flush=True))


if __name__ == "__main__":
    main()
