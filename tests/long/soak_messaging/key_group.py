"""The consumers of the order checker: eight slots, whose consumers join and leave, some by SIGKILL."""

import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.long.soak_messaging.key_events import ACKNOWLEDGED, LEFT, RECORD, Event, read_events

START_SECONDS = 30.0
LEAVE_SECONDS = 10.0
SPARES = 2  # started in advance, so that no keys wait for a start of Python
HASHES = 65_536


class Place:
    """One consumer process; `ended` is the time at which it was killed."""

    def __init__(self, number: int, url: str, topic: str, folder: Path, options: tuple[str, ...]) -> None:
        self.number = number
        self.path = folder / f"{number}.events"
        self.ended: float | None = None
        self.tallied = 0  # bytes of its events that are already read
        command = [sys.executable, "-m", "tests.long.soak_messaging.key_consumer"]
        command += [url, topic, f"consumer-{number}", str(self.path), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self, word: str) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline().strip() if ready else "nothing"
        assert line == word, f"consumer {self.number} says {line!r} instead of {word!r}"

    def subscribe(self, ranges: tuple[int, int]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{ranges[0]} {ranges[1]}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.ended = time.monotonic()
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(LEAVE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def newly_acknowledged(self) -> set[int]:
        """Messages that it acknowledged since the last call."""
        if not self.path.exists():
            return set()
        with self.path.open("rb") as file:
            file.seek(self.tallied)
            data = file.read()
        whole = len(data) // RECORD.size * RECORD.size
        self.tallied += whole
        return {message for kind, message, _ in RECORD.iter_unpack(data[:whole]) if kind == ACKNOWLEDGED}


class Group:
    """Consumers of one topic. With `sticky`, each slot has its share of the hashes."""

    def __init__(
        self, url: str, topic: str, folder: Path, *, places: int, sticky: bool, options: tuple[str, ...], seed: int
    ) -> None:
        self._url, self._topic, self._folder, self._options = url, topic, folder, options
        self._random = random.Random(seed)
        self._sticky = sticky
        self._started = 0
        self._spares: list[Place] = []
        self.all: list[Place] = []
        self.places: list[Place | None] = [None] * places
        self.kills = self.leaves = 0

    def __enter__(self) -> Self:
        for index in range(len(self.places)):
            self._join(index)
        for place in self.places:
            assert place is not None
            place.says("joined")
        return self

    def __exit__(self, *_: object) -> None:
        for place in [*self.all, *self._spares]:
            place.close()

    def move(self) -> None:
        """One consumer leaves or is killed, and a new one takes its slot or another one."""
        taken = [index for index, place in enumerate(self.places) if place is not None]
        free = [index for index, place in enumerate(self.places) if place is None]
        if free and (len(taken) <= len(self.places) // 2 or self._random.random() < 0.5):
            self._join(self._random.choice(free))
            return
        index = self._random.choice(taken)
        self._leave(index)
        if self._sticky or self._random.random() < 0.5:
            self._join(index)

    def _leave(self, index: int) -> None:
        place, self.places[index] = self.places[index], None
        assert place is not None
        if self._random.random() < 0.5:
            self.kills += 1
            place.kill()
        else:
            self.leaves += 1
            place.leave()

    def _join(self, index: int) -> None:
        while len(self._spares) <= SPARES:
            self._spares.append(Place(self._started, self._url, self._topic, self._folder, self._options))
            self._started += 1
        place = self._spares.pop(0)
        place.says("ready")
        size = HASHES // len(self.places)
        place.subscribe((index * size, (index + 1) * size - 1) if self._sticky else (0, 0))
        self.places[index] = place
        self.all.append(place)

    def newly_acknowledged(self) -> set[int]:
        return set().union(*(place.newly_acknowledged() for place in self.all))

    def events(self) -> list[Event]:
        """The events of all consumers, and the times at which some were killed."""
        found = [event for place in self.all for event in read_events(place.path, place.number) if place.path.exists()]
        found += [Event(place.ended, place.number, LEFT, 0) for place in self.all if place.ended is not None]
        return found
