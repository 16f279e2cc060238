"""When the broker got entries (PIP-90). A record has the time of all of its entries, as the age of the ledger then."""

from collections.abc import Sequence

from broker_core.storage.log.reader import Reader
from broker_core.storage.records.block import HEADER, HEADER_SIZE, WrittenRun, check
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.tail import Tail

_AGE = 9  # the field of a header
UNKNOWN = 0


class ArrivalTimes:
    """`ledgers` are the ledgers in use, by id."""

    def __init__(self, ledgers: dict[int, Ledger], reader: Reader) -> None:
        self._ledgers = ledgers
        self._reader = reader

    def cached(self, ledger_id: int, first: int, stop: int) -> list[int] | None:
        """Milliseconds since the epoch of entries [first, stop), `UNKNOWN` for some; None if they are not in memory."""
        ledger = self._ledgers.get(ledger_id)
        tail = ledger.tail if ledger is not None else None
        at = tail.find(first) if tail is not None else None
        if ledger is None or tail is None or at is None or tail.end < stop:
            return None
        return _times(ledger, _ages_in_tail(tail, at, first, stop))

    async def read(self, ledger_id: int, first: int, stop: int) -> list[int]:
        """The same, from memory or the ledger's file. A copy in tiered storage does not have them."""
        times = self.cached(ledger_id, first, stop)
        ledger = self._ledgers.get(ledger_id)
        if times is not None or ledger is None or ledger.remote:
            return times if times is not None else [UNKNOWN] * (stop - first)
        data = await self._reader.read_records(ledger, first, stop)
        return _times(ledger, _ages_in_file(data, ledger_id, first, stop))


def _times(ledger: Ledger, ages: Sequence[int]) -> list[int]:
    return [age and ledger.before_ms + age for age in ages]


def _ages_in_tail(tail: Tail, at: int, first: int, stop: int) -> list[int]:
    ages: list[int] = []
    while len(ages) < stop - first:
        record, start = tail.records[at], tail.firsts[at]
        if isinstance(record, bytes):
            ages.append(HEADER.unpack_from(record)[_AGE])
        else:
            age = record.age if isinstance(record, WrittenRun) else UNKNOWN
            ages += [age] * (start + len(record) - first - len(ages))
        at += 1
    return ages[: stop - first]


def _ages_in_file(data: bytes, ledger_id: int, first: int, stop: int) -> list[int]:
    """The ages up to a damaged record; the times of later entries are not known."""
    ages = [UNKNOWN] * (stop - first)
    at = 0
    while len(data) - at >= HEADER_SIZE and check(data, at, len(data)) is None:
        _, length, _, _, _, n, owner, record_first, _, age = HEADER.unpack_from(data, at)
        if owner != ledger_id or record_first >= stop:
            break
        begin, end = max(record_first, first) - first, min(record_first + n, stop) - first
        if begin < end:
            ages[begin:end] = [age] * (end - begin)
        at += length
    return ages
