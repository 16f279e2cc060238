"""`pulsarctl standalone` with a watch on its event loop: `python -m tests.long.abuse.probed_broker STALLS ...`.

The watch is a 10 ms timer on the event loop. The loop's own work, a thread that holds the interpreter, or the machine
can delay it. The kernel reports how long each thread was ready but had no processor (`/proc/self/task/*/schedstat`,
second number), and how long the host gave the processors to other machines (`steal` in `/proc/stat`). That time of all
threads and processors is subtracted, since the loop may have waited for one after the other. The time that the process
computes always counts. Each stall adds one line of JSON to the file STALLS: the stacks that a second thread saw, what
each thread computed, and how long garbage was collected. No stack is seen while a call of C, or a collection, keeps
the interpreter's lock.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from broker_core import log
from broker_core.config.sources import load_config
from broker_core.server import process
from broker_core.server.server import Server

COMMAND = (sys.executable, "-m", "tests.long.abuse.probed_broker")
TICK_SECONDS = 0.01
TICKS_BETWEEN_LISTS = 100
REPORTED_SECONDS = 0.02
SUSPICIOUS_SECONDS = 0.03
SHOWN_SECONDS = 0.005  # a thread that computed less during a stall is not named
FRAMES = 12
CALLERS = 3  # shown of a thread that computed
TICK_OF_KERNEL = 1 / os.sysconf("SC_CLK_TCK")


def stolen_seconds() -> float:
    """Time of all processors that the host gave to other machines; 0 if the kernel does not know it."""
    try:
        fields = Path("/proc/stat").read_bytes().split(maxsplit=9)
    except OSError:
        return 0.0
    return int(fields[8]) * TICK_OF_KERNEL


class CollectionTime:
    """Seconds of all garbage collections since the start."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        now = time.monotonic()
        if phase == "start":
            self._began = now
        else:
            self.seconds += now - self._began


class LoopWatch:
    """Must start on the thread of the loop; ends with the process."""

    def __init__(self, stalls: Path) -> None:
        self._file = stalls.open("a")
        self._loop = asyncio.get_running_loop()
        self._ticks = 0
        self._threads: dict[int, int] = {}  # id -> file
        self._thread = threading.get_native_id()
        self._due = time.monotonic() + TICK_SECONDS
        self._collections = CollectionTime()
        self._collected = 0.0
        self._used = self._threads_used()
        self._stolen = stolen_seconds()
        self._cpu = time.process_time()
        self._stacks: dict[int, list[str]] = {}  # by native thread ID
        self._loop.call_later(TICK_SECONDS, self._tick)
        threading.Thread(target=self._look, daemon=True).start()

    def _threads_used(self) -> dict[int, tuple[float, float]]:
        """Seconds for which each thread computed, and for which it was ready but had no processor."""
        if self._ticks % TICKS_BETWEEN_LISTS == 0:
            self._list_threads()
        self._ticks += 1
        used = {}
        for thread, file in self._threads.items():
            with contextlib.suppress(OSError):  # the thread ended
                computed, waited = os.pread(file, 100, 0).split()[:2]
                used[thread] = int(computed) / 1e9, int(waited) / 1e9
        return used

    def _list_threads(self) -> None:
        there = {int(name) for name in os.listdir("/proc/self/task")}
        for gone in set(self._threads) - there:
            os.close(self._threads.pop(gone))
        for new in there - set(self._threads):
            with contextlib.suppress(OSError):
                self._threads[new] = os.open(f"/proc/self/task/{new}/schedstat", os.O_RDONLY)

    def _tick(self) -> None:
        now, used, cpu = time.monotonic(), self._threads_used(), time.process_time()
        late, computed = now - self._due, cpu - self._cpu
        stolen, collected = stolen_seconds(), self._collections.seconds
        noise = sum(self._since(thread, used)[1] for thread in used) + stolen - self._stolen
        own = max(late - noise, min(late, computed))
        if own >= REPORTED_SECONDS:
            times = {"own": own, "late": late, "cpu": computed, "collecting": collected - self._collected}
            self._report(times, used)
        self._stacks, self._collected = {}, collected
        self._due, self._used, self._stolen, self._cpu = now + TICK_SECONDS, used, stolen, cpu
        self._loop.call_later(TICK_SECONDS, self._tick)

    def _since(self, thread: int, used: dict[int, tuple[float, float]]) -> tuple[float, float]:
        """What the thread computed and waited since the last tick; nothing if it is new."""
        (computed, waited), (computed_before, waited_before) = used[thread], self._used.get(thread, used[thread])
        return computed - computed_before, waited - waited_before

    def _report(self, times: dict[str, float], used: dict[int, tuple[float, float]]) -> None:
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        computed = {thread: self._since(thread, used)[0] for thread in used}
        shown = {
            " < ".join([names.get(thread, str(thread)), *reversed(self._stacks.get(thread, [])[-CALLERS:])]): seconds
            for thread, seconds in computed.items()
            if seconds >= SHOWN_SECONDS
        }
        line = {"at": time.time(), **times, "threads": shown, "stack": self._stacks.get(self._thread, [])}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def _look(self) -> None:
        while True:
            time.sleep(TICK_SECONDS)  # samples the stacks at intervals
            if time.monotonic() - self._due > SUSPICIOUS_SECONDS and not self._stacks:
                frames = sys._current_frames()
                threads = [(thread, frames.get(thread.ident or 0)) for thread in threading.enumerate()]
                self._stacks = {thread.native_id or 0: _calls(frame) for thread, frame in threads if frame is not None}


def _calls(frame: FrameType) -> list[str]:
    frames = traceback.extract_stack(frame)[-FRAMES:]
    return [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames]


class WatchedServer(Server):
    def __init__(self, *arguments: Any, stalls: Path) -> None:
        super().__init__(*arguments)
        self._stalls = stalls

    async def start(self) -> None:
        await super().start()
        self._watch = LoopWatch(self._stalls)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("stalls", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--print-urls")
    parser.add_argument("--port", type=int)
    parser.add_argument("--http-port", type=int)
    parser.add_argument("-X", action="append", default=[], dest="settings")
    options = parser.parse_args()
    ports = {"brokerServicePort": options.port, "webServicePort": options.http_port}
    loaded = load_config(None, environment={}, options=options.settings, flags=ports)
    options.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.start_logging()
    server = WatchedServer(loaded.config, options.data_dir, stalls=options.stalls)
    process.run(server, lambda urls: print(json.dumps(urls), flush=True))


if __name__ == "__main__":
    main()
