"""Messages that are numbered by key, to see that none is lost or out of order."""

from collections import defaultdict
from collections.abc import Iterable

from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_record import EntryRecord
from pulsarctl.raw.outgoing_entry import message_of
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer

KEYS = [f"key-{number}" for number in range(16)]


class Numbers:
    """`sent` has how many messages each key has."""

    def __init__(self) -> None:
        self.sent = dict.fromkeys(KEYS, 0)

    def send(self, producer: SegmentsProducer, count: int) -> None:
        for number in range(count):
            key = KEYS[number % len(KEYS)]
            producer.send(message_of(b"%d" % self.sent[key], key), key, None)
            self.sent[key] += 1

    @property
    def expected(self) -> dict[str, list[int]]:
        return {key: list(range(count)) for key, count in self.sent.items()}


def consumed_by_key(records: list[EntryRecord]) -> dict[str, list[int]]:
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for record in records:
        numbers[(record.key or b"").decode()].append(int(record.value or b"-1"))
    return dict(numbers)


def by_key(entries: Iterable[Entry]) -> dict[str, list[int]]:
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for entry in entries:
        for message in entry.messages():
            numbers[message.key or ""].append(int(message.value or b"-1"))
    return dict(numbers)
