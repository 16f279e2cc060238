"""The keys and sizes of the messages in stored entries: Arrow batches of whole entries -> columns of messages."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from broker_core.wire.batch import split_batch
from broker_core.wire.errors import EntryError

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
    found = _Rows()
    columns = [batch.column(name).to_pylist() for name in ("batched", "encrypted", "key", "key_is_base64")]
    sizes, counts = batch.column("value_size").to_pylist(), batch.column("messages").to_pylist()
    values = batch.column("value")
    for number, (batched, encrypted, key, is_base64) in enumerate(zip(*columns, strict=True)):
        if not batched:
            found.add(number, -1, _name(key, is_base64), sizes[number] or 0)
        elif not encrypted:
            found.add_batch(number, values[number].as_py() or b"", counts[number])
    return found.columns()


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
            key = single.partition_key if single.HasField("partition_key") and not single.null_partition_key else None
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
