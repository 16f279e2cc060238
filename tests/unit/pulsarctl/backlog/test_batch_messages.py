"""The messages of batches that are taken apart together are those that are taken apart one by one."""

import pytest

pytest.importorskip("pyarrow")

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire.batch import BatchMessage, build_batch, split_batch
from broker_core.wire.pulsar_api_pb2 import MessageMetadata, SingleMessageMetadata
from pulsarctl.backlog.batch_messages import MessageColumns, message_columns
from pulsarctl.backlog.counting import COLUMNS
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.protobuf_columns import Words
from pulsarctl.tables.unfolding import Unfolding
from tests.support.made_entries import FIRST, LEDGER, METADATA, SCHEMA, TOPIC, Chance, run_of

Message = tuple[int, int, str | None, int]


def stored(entries: list[bytes]) -> pa.RecordBatch:
    part = LedgerRange(TOPIC, LEDGER, FIRST, FIRST + len(entries), 0, None)
    schema = pa.schema([SCHEMA.field(name) for name in COLUMNS])
    return (
        pa.Table.from_batches(Unfolding(part, schema, None).batches([run_of(entries)])).combine_chunks().to_batches()[0]
    )


def messages(found: MessageColumns) -> list[Message]:
    keys = [None if code < 0 else found.names[code] for code in found.key.tolist()]
    return list(zip(found.entry.tolist(), found.batch_index.tolist(), keys, found.size.tolist(), strict=True))


def by_protobuf(batch: pa.RecordBatch) -> Iterator[Message]:
    for number, row in enumerate(batch.to_pylist()):
        if not row["batched"]:
            yield number, -1, named(row["key"], row["key_is_base64"]), row["value_size"] or 0
            continue
        for index, (own, payload) in enumerate(split_batch(row["value"], row["messages"])):
            has_key = own.HasField("partition_key") and not own.null_partition_key
            key = named(own.partition_key, own.partition_key_b64_encoded) if has_key else None
            yield number, index, key, len(payload)


def named(key: str | None, is_base64: bool) -> str | None:
    return f"base64:{key}" if key is not None and is_base64 else key


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1 << 32), st.sampled_from([0.0, 0.01]), st.sampled_from(["single", "batch", "both"]))
def test_the_messages_of_many_entries_are_those_of_each(seed: int, odd: float, kind: str) -> None:
    chance = Chance(seed, odd)
    kinds = ("batch", "single") if kind == "both" else (kind,)
    entries = [entry for each in kinds for entry in chance.entries(each)]
    batch = stored(entries)
    assert messages(message_columns(batch)) == list(by_protobuf(batch))


def test_a_damaged_batch_has_no_messages() -> None:
    batch = stored(Chance(5, 0.0).entries("batch"))
    values = batch.column("value").to_pylist()
    values[3] = values[3][:-1]
    damaged = batch.set_column(batch.schema.get_field_index("value"), "value", pa.array(values, pa.binary()))
    left = [message for message in messages(message_columns(batch)) if message[0] != 3]
    assert messages(message_columns(damaged)) == left


def test_a_slice_is_searched_for_its_own_messages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = stored([entry for seed in range(3) for entry in Chance(seed, 0.0).entries("batch")])
    part = batch.slice(20, 15)
    searched: list[int] = []

    class Counted(Words):
        def __init__(self, data: bytes | memoryview) -> None:
            super().__init__(data)
            searched.append(self.size)

    monkeypatch.setattr("pulsarctl.backlog.batch_messages.Words", Counted)
    assert messages(message_columns(part)) == list(by_protobuf(part))
    assert searched == [sum(map(len, part.column("value").to_pylist()))]


def test_a_key_that_is_not_text_is_shown_as_in_java() -> None:
    own = SingleMessageMetadata.FromString(b"\x12\x02\xff\xfe\x18\x01")
    batch = stored([build_batch(MessageMetadata.FromString(METADATA.SerializeToString()), [BatchMessage(own, b"v")])])
    assert messages(message_columns(batch)) == [(0, 0, "\ufffd\ufffd", 1)]
