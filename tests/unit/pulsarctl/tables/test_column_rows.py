"""Rows that are made as columns are those that are made one by one."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.compression import compress
from broker_core.wire.message import SIZE, add_checksum, build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.chunks import ChunkJoiner
from pulsarctl.tables.column_rows import rows_of_batches
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.protobuf_columns import Unusual, Words
from pulsarctl.tables.unfolding import BYTES_MAX, Unfolding
from tests.support.made_entries import ENTRIES, FIRST, LEDGER, METADATA, SCHEMA, TOPIC, Chance, run_of

MIB = 1 << 20
ALL = SCHEMA.names


def rows(runs: Iterable[EntryRun], names: Sequence[str] = ALL, unit: str = "message") -> list[dict[str, Any]]:
    return [row for batch in record_batches(runs, names, unit) for row in batch.to_pylist()]


def record_batches(runs: Iterable[EntryRun], names: Sequence[str], unit: str = "message") -> list[pa.RecordBatch]:
    part = LedgerRange(TOPIC, LEDGER, FIRST, FIRST + ENTRIES, 0, None)
    schema = pa.schema([SCHEMA.field(name) for name in names])
    chunks = ChunkJoiner(part, lambda _: iter(())) if unit == "message" else None
    return list(Unfolding(part, schema, chunks).batches(runs))


def one_by_one(entries: Sequence[bytes]) -> list[EntryRun]:
    return list(run_of(entries).cut(range(1, len(entries))))


def is_parsed(run: EntryRun) -> bool:
    """Whether there is an object for each entry."""
    return "entries" in vars(run)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from([0.0, 0.0, 0.01]),
    st.sampled_from(["single", "batch"]),
    st.sampled_from(["message", "entry"]),
    st.sampled_from([SCHEMA.names, ["key", "value"], ["entry_id", "entry_size"]]),
)
def test_a_run_gives_the_rows_of_its_entries(seed: int, odd: float, kind: str, unit: str, names: list[str]) -> None:
    entries = Chance(seed, odd).entries(kind)
    run = run_of(entries)
    assert rows([run], names, unit) == rows(one_by_one(entries), names, unit)
    assert odd or not is_parsed(run)


def test_batches_and_single_messages_may_follow_each_other() -> None:
    chance = Chance(1, 0.0)
    entries = [*chance.entries("single"), *chance.entries("batch"), *chance.entries("single")]
    assert rows([run_of(entries)]) == rows(one_by_one(entries))


def test_fields_in_another_order_are_read() -> None:
    entries = Chance(2, 0.0).entries("single")
    entries[5] = build_out_of_order()
    assert rows([run_of(entries)]) == rows(one_by_one(entries))
    assert rows([run_of(entries)])[5]["producer"] == "late"


def build_out_of_order() -> bytes:
    encoded = METADATA.SerializeToString()[3:] + b"\x0a\x04late"
    return add_checksum(SIZE.pack(len(encoded)) + encoded + b"payload")


@pytest.mark.parametrize("place", [3, 12, -1], ids=["checksum", "metadata", "payload"])
def test_a_damaged_entry_of_a_run_is_named(place: int) -> None:
    entries = Chance(3, 0.0).entries("single")
    damaged = bytearray(entries[7])
    damaged[place] ^= 1
    entries[7] = bytes(damaged)
    with pytest.raises(DamagedEntry, match=f"{LEDGER}:{FIRST + 7} of {TOPIC}"):
        rows([run_of(entries)])


@pytest.mark.parametrize("count", [2, 4, (1 << 31) - 1], ids=["fewer", "more", "far too many"])
def test_a_batch_that_has_not_the_messages_it_announces_is_damaged(count: int) -> None:
    entries = Chance(4, 0.0).entries("batch")
    messages = [BatchMessage(SingleMessageMetadata(), b"v") for _ in range(3)]
    metadata, payload, _ = parse_entry(build_batch(METADATA, messages))
    metadata.num_messages_in_batch = count
    entries[7] = build_entry(metadata, payload)
    with pytest.raises(DamagedEntry, match=f"{LEDGER}:{FIRST + 7} of {TOPIC}"):
        rows([run_of(entries)])


def test_a_value_that_looks_like_messages_is_one_value() -> None:
    entries = Chance(5, 0.0).entries("batch")
    inner = parse_entry(build_batch(METADATA, [BatchMessage(SingleMessageMetadata(), b"inner")] * 3)).payload
    for shift in range(4):
        value = bytes(shift) + inner
        entries[5 + shift] = build_batch(METADATA, [BatchMessage(SingleMessageMetadata(), value)] * 2)
    run = run_of(entries)
    assert rows([run]) == rows(one_by_one(entries))
    assert not is_parsed(run)


@pytest.mark.parametrize("name", ALL)
def test_each_column_alone_has_a_row_for_each_message_of_batches(name: str) -> None:
    entries = Chance(6, 0.0).entries("batch")
    run = run_of(entries)
    assert rows([run], [name]) == rows(one_by_one(entries), [name])
    assert not is_parsed(run)


def usual(**fields: Any) -> MessageMetadata:
    return MessageMetadata(producer_name="p", sequence_id=1, publish_time=2, **fields)


def zeros(size: int, **fields: Any) -> bytes:
    """An entry of a few bytes that become many."""
    metadata = usual(uncompressed_size=size, compression=CompressionType.ZSTD, **fields)
    return build_entry(metadata, compress(CompressionType.ZSTD, bytes(size)))


def test_payloads_that_become_too_large_together_are_decompressed_one_by_one() -> None:
    run = run_of([zeros(9 * MIB)] * 8)
    batches = record_batches([run], ["value"])
    assert [batch.num_rows for batch in batches] == [1] * 8


@pytest.mark.parametrize("unit", ["message", "entry"])
def test_decompressed_bytes_end_a_record_batch(unit: str) -> None:
    runs = [run_of([zeros(MIB // 4)] * 8) for _ in range(3)]
    assert [batch.num_rows for batch in record_batches(runs, ["value"], unit)] == [8] * 3
    assert not any(map(is_parsed, runs))


@pytest.mark.parametrize("unit", ["message", "entry"])
@pytest.mark.parametrize("length", [1, 7])
def test_decompressed_bytes_end_a_record_batch_of_entries_that_are_read_one_by_one(unit: str, length: int) -> None:
    runs = [run_of([zeros(MIB)] * length) for _ in range(28 // length)]
    batches = record_batches(runs, ["value"], unit)
    assert sum(batch.num_rows for batch in batches) == 28
    assert max(batch.nbytes for batch in batches) < 2 * BYTES_MAX


def test_bytes_whose_places_have_more_than_31_bits_are_not_cut() -> None:
    words = Words(np.zeros(1 << 31, np.uint8).data)
    with pytest.raises(Unusual):
        words.cut(np.array([0]), np.array([1]))


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.ZSTD])
@pytest.mark.parametrize("count", [26, 1 << 29])
def test_headers_of_a_batch_with_more_messages_than_fit_are_damaged(
    compression: CompressionType.ValueType, count: int
) -> None:
    entries = Chance(4, 0.0).entries("batch")
    announced = (1 << 31) - 1 if count > 26 or not compression else 100
    metadata = usual(compression=compression, num_messages_in_batch=count, uncompressed_size=announced)
    entries[7] = build_entry(metadata, bytes(100))
    with pytest.raises(DamagedEntry, match=f"{LEDGER}:{FIRST + 7} of {TOPIC}"):
        rows([run_of(entries)], ["entry_id"])


def test_a_run_with_more_messages_than_fit_in_memory_does_not_become_columns() -> None:
    run = run_of([zeros(4 << 17, num_messages_in_batch=1 << 17)] * 8)
    assert run.headers is not None
    with pytest.raises(Unusual):
        rows_of_batches(run, run.headers, wants_messages=False)


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_a_start_inside_a_batch_leaves_out_the_messages_before_it(is_encrypted: bool) -> None:
    """An encrypted batch is one row, which has all its messages."""
    own = [SingleMessageMetadata(compacted_out=number == 0) for number in range(4)]
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=2)
    if is_encrypted:
        metadata.encryption_keys.add(key="k", value=b"v")
    entry = build_batch(metadata, [BatchMessage(each, b"v") for each in own])
    part = LedgerRange(TOPIC, LEDGER, FIRST, FIRST, 0, None, before=2)
    schema = pa.schema([SCHEMA.field("batch_index"), SCHEMA.field("value")])
    found = Unfolding(part, schema, ChunkJoiner(part, lambda _: iter(()))).batches([run_of([entry])])
    assert [row["batch_index"] for batch in found for row in batch.to_pylist()] == ([-1] if is_encrypted else [2, 3])
