"""The events that consumers of the order checker record, and the checks on them.

A consumer appends a record to its file before it acts, so that no record is missing when it is killed. Times are from
the monotonic clock, which all processes of a machine share.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

RECEIVED, ACKNOWLEDGED, GIVEN_BACK, LEFT, BROKER_GONE, MOVED = range(6)  # MOVED: keys have other consumers now
RECORD = struct.Struct("<BId")  # kind, number of the message, time
EXAMPLES = 5
RECEIVER_QUEUE = 200  # messages that wait in a client: the broker is not responsible for their order


class Event(NamedTuple):
    time: float
    consumer: int
    kind: int
    message: int


def read_events(path: Path, consumer: int) -> Iterator[Event]:
    """Ignores a record that a kill cut off."""
    data = path.read_bytes()
    for kind, message, time in RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]):
        yield Event(time, consumer, kind, message)


@dataclass
class Load:
    """The published messages by number; each is the next one of its key."""

    keys: list[int] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)  # 0, 1, 2 ... within the key
    published: list[float] = field(default_factory=list)


@dataclass
class Verdict:
    messages: int = 0
    deliveries: int = 0
    given_back: int = 0
    out_of_order: int = 0
    two_owners: int = 0
    lost: int = 0
    stalled: int = 0
    longest_wait: float = 0.0
    seconds: float = 0.0
    broker_us: float = 0.0  # CPU per message
    broker_mb: float = 0.0  # peak
    examples: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.out_of_order or self.two_owners or self.lost or self.stalled)

    @property
    def rate(self) -> float:
        """Messages per second, from the first publish to the last first delivery."""
        return self.messages / self.seconds if self.seconds else 0.0

    def note(self, example: str) -> None:
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


class OrderCheck:
    """Checks all events in order of time.

    - A message that arrives for the first time is the next one of its key.
    - While a consumer is connected, a key goes back only to a nacked message, or to one within `reach` messages of it,
      since a batch is redelivered as a whole.
    - No consumer gets a message of a key while another connected consumer has an unacknowledged message of it.
    - No key stalls. It stalls if it could go on for `stall_seconds`, while more than a queue of later messages reached
      its consumer. So a slow machine, on which all keys wait, is not a stall.
    """

    def __init__(self, load: Load, *, reach: int, stall_seconds: float) -> None:
        self.load = load
        self.verdict = Verdict(messages=len(load.keys))
        self._reach = reach
        self._stall_seconds = stall_seconds
        self._next: dict[int, int] = {}  # key -> next sequence
        self._last: dict[tuple[int, int], int] = {}  # (consumer, key) -> last sequence
        self._given_back: dict[int, list[int]] = {}  # key -> sequences
        self._holders: dict[int, dict[int, set[int]]] = {}  # key -> consumer -> messages
        self._gone: set[int] = set()
        self._acknowledged = bytearray(len(load.keys))
        self._last_first = 0.0
        self._free: dict[int, float] = {}  # key -> time since it has no holder
        self._moved = 0.0  # when keys got other consumers the last time
        self._receipts: dict[int, list[tuple[float, int]]] = {}  # consumer -> time and message of all that it received

    def run(self, events: Iterable[Event]) -> Verdict:
        for event in sorted(events):
            if event.kind == RECEIVED:
                self._received(event)
            elif event.kind == LEFT:
                self._left(event)
            elif event.kind == MOVED:
                self._moved = event.time
            elif event.kind == BROKER_GONE:  # its pending messages are unacknowledged and may go to any consumer
                self._moved = event.time
                self._holders.clear()
                self._last.clear()
            else:
                self._settled(event)
        verdict = self.verdict
        verdict.lost = self._acknowledged.count(0)
        if verdict.lost:
            number = self._acknowledged.index(0)
            verdict.note(f"message {number} of key {self.load.keys[number]} was never acknowledged")
        verdict.seconds = self._last_first - min(self.load.published, default=0.0)
        return verdict

    def _left(self, event: Event) -> None:
        self._gone.add(event.consumer)
        self._moved = event.time

    def _received(self, event: Event) -> None:
        self.verdict.deliveries += 1
        key, sequence = self.load.keys[event.message], self.load.sequence[event.message]
        expected = self._next.get(key, 0)
        if sequence >= expected:
            self._first_time(event, key, sequence, expected)
        elif sequence < self._last.get((event.consumer, key), -1) and not self._may_come_again(key, sequence):
            self._out_of_order(event, key, f"{sequence} after {self._last[event.consumer, key]}")
        self._last[event.consumer, key] = sequence
        self._receipts.setdefault(event.consumer, []).append((event.time, event.message))
        self._check_owner(event, key)

    def _first_time(self, event: Event, key: int, sequence: int, expected: int) -> None:
        if sequence > expected:
            self._out_of_order(event, key, f"{sequence} while {expected} had not come")
        self._next[key] = sequence + 1
        self._last_first = event.time
        self._check_wait(event, key, sequence)

    def _check_wait(self, event: Event, key: int, sequence: int) -> None:
        since = max(self.load.published[event.message], self._free.get(key, 0.0), self._moved)
        waited = event.time - since
        if waited <= self.verdict.longest_wait and waited <= self._stall_seconds:
            return
        receipts = self._receipts.get(event.consumer, [])
        passed_by = receipts[bisect_right(receipts, (since, -1)) :]
        if sum(message > event.message for _, message in passed_by) <= RECEIVER_QUEUE:
            return
        self.verdict.longest_wait = max(self.verdict.longest_wait, waited)
        if waited > self._stall_seconds:
            self.verdict.stalled += 1
            self.verdict.note(f"key {key}: {sequence} came after {waited:.1f} s, and after later messages")

    def _may_come_again(self, key: int, sequence: int) -> bool:
        return any(abs(one - sequence) <= self._reach for one in self._given_back.get(key, ()))

    def _out_of_order(self, event: Event, key: int, what: str) -> None:
        self.verdict.out_of_order += 1
        self.verdict.note(f"key {key} at consumer {event.consumer}: {what}")

    def _check_owner(self, event: Event, key: int) -> None:
        holders = self._holders.setdefault(key, {})
        for other in [one for one in holders if one in self._gone]:
            del holders[other]
        for other in holders:
            if other != event.consumer and event.consumer not in self._gone:
                self.verdict.two_owners += 1
                self.verdict.note(f"key {key} is at consumers {other} and {event.consumer}")
        holders.setdefault(event.consumer, set()).add(event.message)

    def _settled(self, event: Event) -> None:
        key = self.load.keys[event.message]
        if event.kind == ACKNOWLEDGED:
            self._acknowledged[event.message] = 1
        else:
            self.verdict.given_back += 1
            self._given_back.setdefault(key, []).append(self.load.sequence[event.message])
        held = self._holders.get(key, {}).get(event.consumer)
        if held is not None:
            held.discard(event.message)
            if not held:
                del self._holders[key][event.consumer]
                self._free[key] = event.time
