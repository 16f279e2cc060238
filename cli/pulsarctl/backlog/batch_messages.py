"""The keys and sizes of the messages in stored entries: Arrow batches of whole entries -> columns of messages.

The messages of all batches are taken apart together; if that is impossible, one by one.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from broker_core.wire.batch import split_batch
from broker_core.wire.errors import EntryError
from pulsarctl.tables.arrays import text
from pulsarctl.tables.column_rows import split_batches
from pulsarctl.tables.protobuf_columns import Parsed, Unusual, Words

_KEY_IS_BYTES = "base64:"  # clients encode keys that are not text


class MessageColumns(NamedTuple):
    """Row `i` is one message: the index of its entry in the batch, its batch index, its key's code, and its size.

    `names` are the keys by code; code -1 is a message without a key. Encrypted and damaged batches have no rows.
    """

    entry: "np.ndarray[Any, Any]"
    batch_index: "np.ndarray[Any, Any]"
    key: "np.ndarray[Any, Any]"
    size: "np.ndarray[Any, Any]"
    names: list[str]


def message_columns(batch: pa.RecordBatch) -> MessageColumns:
    try:
        return _together(batch)
    except (Unusual, pa.ArrowInvalid):
        return _one_by_one(batch)


def _together(batch: pa.RecordBatch) -> MessageColumns:
    """Raises `Unusual`, and `ArrowInvalid` for a key that is not text."""
    batched = batch.column("batched").to_numpy(zero_copy_only=False)
    encrypted = batch.column("encrypted").to_numpy(zero_copy_only=False)
    alone, batches = np.flatnonzero(~batched), np.flatnonzero(batched & ~encrypted)
    counts = _integers(batch, "messages")[batches]
    words, first, stop = _payloads(batch.column("value"), batches)
    own, _ = split_batches(words, first, stop, counts)
    entry = np.concatenate([np.repeat(batches, counts), alone])
    index = np.arange(own.count) - np.repeat(np.cumsum(counts) - counts, counts)
    keys_alone = _named(batch.column("key").take(alone), batch.column("key_is_base64").take(alone))
    keys = pa.concat_arrays([_keys(own), keys_alone])
    sizes = np.concatenate([own.numbers("payload_size").astype(np.int64), _integers(batch, "value_size")[alone]])
    order = np.argsort(entry, kind="stable") if len(alone) and len(batches) else np.arange(len(entry))
    codes = keys.take(order).dictionary_encode()
    return MessageColumns(
        entry[order],
        np.concatenate([index, np.full(len(alone), -1)])[order],
        codes.indices.fill_null(-1).to_numpy().astype(np.int64),
        sizes[order],
        codes.dictionary.to_pylist(),
    )


def _integers(batch: pa.RecordBatch, name: str) -> "np.ndarray[Any, Any]":
    integers: np.ndarray[Any, Any] = batch.column(name).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return integers


def _payloads(
    values: pa.Array, rows: "np.ndarray[Any, Any]"
) -> "tuple[Words, np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """The bytes of a column, and where those of some rows are. The column may be a slice of a longer one."""
    if not len(rows):
        return Words(b""), rows, rows
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    own = memoryview(b"" if data is None else data)[places[0] : places[-1]]
    places -= places[0]
    return Words(own), places[rows], places[rows + 1]


def _keys(own: Parsed) -> pa.Array:
    keys = own.texts("partition_key").cast(pa.string())
    if "null_partition_key" in own:
        keys = pc.if_else(pa.array(own.is_set("null_partition_key")), None, keys)
    return _named(keys, pa.array(own.is_set("partition_key_b64_encoded")))


def _named(keys: pa.Array, is_base64: pa.Array) -> pa.Array:
    return pc.if_else(is_base64, pc.binary_join_element_wise(_KEY_IS_BYTES, keys, ""), keys)


def _one_by_one(batch: pa.RecordBatch) -> MessageColumns:
    rows = _Rows()
    columns = [batch.column(name).to_pylist() for name in ("batched", "encrypted", "key", "key_is_base64")]
    sizes, counts = batch.column("value_size").to_pylist(), batch.column("messages").to_pylist()
    values = batch.column("value")
    for number, (batched, encrypted, key, is_base64) in enumerate(zip(*columns, strict=True)):
        if not batched:
            rows.add(number, -1, _name(key, is_base64), sizes[number] or 0)
        elif not encrypted:
            rows.add_batch(number, values[number].as_py() or b"", counts[number])
    return rows.columns()


class _Rows:
    def __init__(self) -> None:
        self._entry: list[int] = []
        self._index: list[int] = []
        self._key: list[int] = []
        self._size: list[int] = []
        self._codes: dict[str, int] = {}

    def add(self, entry: int, index: int, name: str | None, size: int) -> None:
        self._entry.append(entry)
        self._index.append(index)
        self._key.append(-1 if name is None else self._codes.setdefault(name, len(self._codes)))
        self._size.append(size)

    def add_batch(self, entry: int, payload: bytes, count: int) -> None:
        try:
            parts = split_batch(payload, count)
        except EntryError:
            return
        for index, (single, value) in enumerate(parts):
            has_key = single.HasField("partition_key") and not single.null_partition_key
            key = text(single.partition_key) if has_key else None
            self.add(entry, index, _name(key, single.partition_key_b64_encoded), len(value))

    def columns(self) -> MessageColumns:
        return MessageColumns(
            np.array(self._entry, dtype=np.int64),
            np.array(self._index, dtype=np.int64),
            np.array(self._key, dtype=np.int64),
            np.array(self._size, dtype=np.int64),
            list(self._codes),
        )


def _name(key: str | None, is_base64: bool) -> str | None:
    return _KEY_IS_BYTES + key if key is not None and is_base64 else key
