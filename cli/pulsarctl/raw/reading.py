"""The source of records of one `read`: raw entries, without a durable subscription."""

import itertools
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulsarctl.errors import CliError, NotFound, UsageProblem
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_reader import EntryReader, PublishedSince, Start
from pulsarctl.raw.entry_record import Chunks, EntryRecord, records_of
from pulsarctl.raw.scalable.segment_reader import SegmentReader
from pulsarctl.raw.unsealing import Unsealing
from pulsarctl.records.record import Record
from pulsarctl.settings.settings import Settings
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId
from pulsarctl.values.names import is_scalable
from pulsarctl.values.positions import (
    AfterMessages,
    AtIndex,
    AtTime,
    Earliest,
    LastMessages,
    Latest,
    Position,
)

GATHER_SECONDS = 0.05  # how long to collect records for one write

Filter = Callable[[EntryRecord], bool]
Reader = EntryReader | SegmentReader


class Patience:
    """The time to wait for the next entry. The receiver sets it, and the iterator reads it."""

    seconds = 0.0


class EntrySource:
    """Records of an iterator, which yields None if nothing arrives in time. Acknowledges nothing."""

    def __init__(self, readers: list[Reader], records: Iterator[EntryRecord | None], patience: Patience) -> None:
        self.ended = False
        self._readers = readers
        self._records = records
        self._patience = patience

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]:
        """Raises what reading raises."""
        gathered: list[EntryRecord] = []
        self._patience.seconds = timeout_ms / 1000
        until = time.monotonic() + timeout_ms / 1000 + GATHER_SECONDS
        while len(gathered) < count_max and time.monotonic() < until:
            try:
                record = next(self._records)
            except StopIteration:
                self.ended = True
                break
            except CliError as error:  # print the earlier records first
                if not gathered:
                    raise
                self._records = _raising(error)
                break
            if record is None:
                break
            gathered.append(record)
            self._patience.seconds = 0
        return gathered

    def settle(self, records: Sequence[Record]) -> None:
        """Does nothing, because there is no durable cursor."""

    def close(self) -> None:
        for reader in self._readers:
            reader.close()


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Read `topic` from `start` to `end` (None: unbounded). `inclusive`: include the message at `start`."""

    settings: Settings
    timeout_seconds: float
    topic: str
    start: Position
    end: Position | None
    inclusive: bool = True
    compacted: bool = False
    chunked_messages_max: int = 0
    unsealing: Unsealing | None = None

    def open(self) -> EntrySource:
        """Raises what connecting and subscribing raise, or `UsageProblem` for an unsupported end."""
        if not isinstance(self.end, Latest | MessageId | AtTime | None):
            raise UsageProblem("cannot stop reading at this position", hint="use --to latest, L:E, a TIME, or -10m")
        if is_scalable(self.topic):
            self._check_scalable()
        patience = Patience()
        if isinstance(self.start, LastMessages):
            return self._last_messages(self.start.count, patience)
        start, filter_ = self._at_index(self.start) if isinstance(self.start, AtIndex) else _start(self.start)
        reader = self._reader(start, inclusive=self.inclusive)
        try:
            entries = _live(reader, patience) if self.end is None else self._to_end(reader)
        except BaseException:
            reader.close()
            raise
        return EntrySource([reader], self._records(entries, filter_), patience)

    def _check_scalable(self) -> None:
        if isinstance(self.start, MessageId | AtIndex) or isinstance(self.end, MessageId):
            raise UsageProblem(
                "cannot use a message ID or an index with a scalable topic: each segment has its own",
                hint="use earliest, latest, a TIME, -10m, -N, or +N",
            )
        if self.compacted:
            raise UsageProblem("cannot read a compacted scalable topic: Pulsar does not compact segments")

    def _at_index(self, position: AtIndex) -> tuple[Start | Mapping[int, Start], Filter]:
        """If the broker cannot tell where the index is, each message must say its own."""
        from pulsarctl.raw.index_start import start_at_index  # which needs the HTTP client

        with self._reader(LATEST) as probe:  # before the broker is asked, so that no later message is missed
            after = {partition: _after(end) for partition, end in probe.last_ids().items()}
        index_start = start_at_index(self.settings, self.topic, position.index, after)
        if index_start is None:
            return EARLIEST, lambda record: _index(record) >= position.index
        return index_start.starts, _has_reached(position.index, index_start.yet_to_come)

    def _last_messages(self, count: int, patience: Patience) -> EntrySource:
        """The last `count` messages of each partition, from `count` entries before the end, then later messages."""
        with self._reader(LATEST) as probe:
            ends = probe.last_ids()
        reader = self._reader({partition: _before(end, count) for partition, end in ends.items() if end is not None})
        readers = [reader]
        records = _tails(self._records(reader.to(ends), None), count)
        if self.end is None:
            following = self._reader({partition: _after(end) for partition, end in ends.items()})
            readers.append(following)
            records = itertools.chain(records, self._records(_live(following, patience), None))
        return EntrySource(readers, records, patience)

    def _reader(self, start: Start | Mapping[int, Start], *, inclusive: bool = True) -> Reader:
        url, seconds, security = self.settings.service_url, self.timeout_seconds, self.settings
        if is_scalable(self.topic):
            return SegmentReader(url, self.topic, start=start, timeout_seconds=seconds, security=security)
        return EntryReader(
            url,
            self.topic,
            start=start,
            inclusive=inclusive,
            timeout_seconds=seconds,
            security=security,
            read_compacted=self.compacted,
        )

    def _to_end(self, reader: Reader) -> Iterator[Entry]:
        ends = reader.last_ids()
        match self.end:
            case MessageId(ledger_id, entry_id):
                entry = MessageId(ledger_id, entry_id)  # the whole entry, whatever its batch index
                return reader.to({part: end and min(end, entry._replace(partition=part)) for part, end in ends.items()})
            case AtTime(publish_time_ms):
                return _until(reader.to(ends), publish_time_ms, {part for part, end in ends.items() if end is not None})
        return reader.to(ends)

    def _records(self, entries: Iterator[Entry | None], filter_: Filter | None) -> Iterator[EntryRecord | None]:
        chunks = Chunks(self.chunked_messages_max)
        for entry in entries:
            if entry is None:
                yield None
                continue
            opened = entry if self.unsealing is None else self.unsealing.opened(entry)
            if opened is not None and (joined := chunks.whole(opened)) is not None:
                yield from (record for record in records_of(joined) if filter_ is None or filter_(record))


def _raising(error: CliError) -> Iterator[EntryRecord | None]:
    raise error
    yield


def _live(reader: Reader, patience: Patience) -> Iterator[Entry | None]:
    while True:
        yield reader.read(patience.seconds)


def _until(entries: Iterator[Entry], publish_time_ms: int, partitions: set[int]) -> Iterator[Entry]:
    """Entries published by a time. A later entry ends its partition, because publish times nearly ascend."""
    for entry in entries:
        if entry.metadata.publish_time <= publish_time_ms:
            yield entry
            continue
        partitions.discard(entry.partition)
        if not partitions:
            return


def _tails(records: Iterator[EntryRecord | None], count: int) -> Iterator[EntryRecord | None]:
    """The last `count` records of each partition, after reading all of them."""
    tails: defaultdict[int, deque[EntryRecord]] = defaultdict(lambda: deque(maxlen=count))
    for record in records:
        if record is not None:
            tails[record.partition].append(record)
    for partition in sorted(tails):
        yield from tails[partition]


def _start(position: Position) -> tuple[Start, Filter | None]:
    match position:
        case Latest():
            return LATEST, None
        case AtTime(publish_time_ms):
            return PublishedSince(publish_time_ms), None
        case MessageId():
            return position, None
        case AfterMessages(count):
            return EARLIEST, _is_after(count)
        case Earliest() | AtIndex() | LastMessages():
            return EARLIEST, None


def _is_after(count: int) -> Filter:
    seen: defaultdict[int, int] = defaultdict(int)

    def is_after(record: EntryRecord) -> bool:
        seen[record.partition] += 1
        return seen[record.partition] > count

    return is_after


def _has_reached(index: int, yet_to_come: frozenset[int]) -> Filter:
    """The filter from `index` on. In the partitions of `yet_to_come`, each message must say its own index."""

    def has_reached(record: EntryRecord) -> bool:
        if record.index is None and record.partition in yet_to_come:
            raise NotFound(
                f"index {index} does not exist yet in {record.topic}, and the broker does not send indexes to clients",
                hint="start at a message ID, or set exposingBrokerEntryMetadataToClientEnabled=true in the broker",
            )
        return record.index is None or record.index >= index

    return has_reached


def _index(record: EntryRecord) -> int:
    if record.index is None:
        raise CliError(
            f"cannot start at an index: the broker keeps none in {record.topic}", hint="start at a time or a message ID"
        )
    return record.index


def _before(end: MessageId, count: int) -> MessageId:
    """A position at least `count` messages before `end`, if there are that many. An entry has at least one."""
    if end.entry_id < count - 1:
        return EARLIEST
    return MessageId(end.ledger_id, end.entry_id - count + 1, end.partition)


def _after(end: MessageId | None) -> Start:
    return EARLIEST if end is None else MessageId(end.ledger_id, end.entry_id + 1, end.partition)
