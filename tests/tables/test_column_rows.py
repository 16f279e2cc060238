"""Rows that are made as columns are those that are made one by one."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.message import SIZE, add_checksum, build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import SingleMessageMetadata
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.chunks import ChunkJoiner
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.unfolding import Unfolding
from tests.tables.made_entries import ENTRIES, FIRST, LEDGER, METADATA, SCHEMA, TOPIC, Chance, run_of


def rows(runs: Iterable[EntryRun], names: Sequence[str] = SCHEMA.names, unit: str = "message") -> list[dict[str, Any]]:
    part = LedgerRange(TOPIC, LEDGER, FIRST, FIRST + ENTRIES, 0, None)
    schema = pa.schema([SCHEMA.field(name) for name in names])
    chunks = ChunkJoiner(part, lambda _: iter(())) if unit == "message" else None
    batches = Unfolding(part, schema, chunks).batches(runs)
    return [row for batch in batches for row in batch.to_pylist()]


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
