"""Chunks that are read again from before a range."""

from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow")

from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.tables.chunks import ChunkJoiner
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_ranges import EntrySpan, LedgerRange
from tests.support.made_entries import FIRST, LEDGER, TOPIC, run_of


def chunk(index: int, payload: bytes, count: int = 2) -> bytes:
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, uuid="p-0", chunk_id=index)
    metadata.num_chunks_from_msg = count
    metadata.total_chunk_msg_size = 4
    return build_entry(metadata, payload)


@pytest.mark.parametrize("count", [2, 3])
def test_the_nearest_chunk_counts_where_a_producer_uses_a_uuid_again(count: int) -> None:
    earlier = [chunk(index, b"a%d" % index, count) for index in range(count)]
    stored = [*earlier, chunk(0, b"b0"), chunk(1, b"b1")]
    last = FIRST + len(stored) - 1

    def read(span: EntrySpan) -> Iterator[EntryRun]:
        yield run_of(stored[span.first - FIRST : span.last - FIRST + 1])

    part = LedgerRange(TOPIC, LEDGER, last, last, 0, None, floor=FIRST)
    joined = ChunkJoiner(part, read).add(last, parse_entry(stored[-1]), 1, needed=True)
    assert joined is not None
    assert joined[0].payload == b"b0b1"


@pytest.mark.parametrize("numbers", [(-5, 1), (3, 1), (0, 7), (-1, 7)])
def test_a_message_with_impossible_chunk_numbers_is_incomplete(numbers: tuple[int, ...]) -> None:
    stored = [chunk(number, b"a") for number in numbers]
    last, skipped = FIRST + len(stored) - 1, []
    part = LedgerRange(TOPIC, LEDGER, FIRST, last, 0, None, floor=FIRST)
    joiner = ChunkJoiner(part, lambda span: iter((run_of(stored),)), lambda: skipped.append(1))
    found = [joiner.add(FIRST + at, parse_entry(entry), 1, needed=True) for at, entry in enumerate(stored)]
    assert (found, skipped[-1:]) == ([None, None], [1])
