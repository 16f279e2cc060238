"""Writes a tier file (`tier_file`) from the blocks of a ledger, one row group at a time."""

from __future__ import annotations

from array import array
from pathlib import Path

from crc32c import crc32c

from broker_core.offload.tier_file import INDEX_KEY, Group, TierIndex, checksum, schema
from broker_core.storage.records.block import Block

GROUP_BYTES = 1 << 20
GROUP_ENTRIES = 1 << 16


class _Gathered:
    """Entries on their way into one row group, without the bytes between them."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.parts: list[bytes] = []
        self.size = 0
        self.ends: array[int] = array("i")
        self.counts: array[int] = array("I")
        self.times: array[int] = array("Q")
        self.delivery: array[int] = array("Q")
        self.crcs: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.ends)

    def add(self, block: Block) -> None:
        view = memoryview(block.data)
        for start, end in zip(block.starts, block.ends, strict=True):
            entry = view[start:end]
            self.parts.append(entry.tobytes())
            self.crcs.append(crc32c(entry))
            self.size += end - start
            self.ends.append(self.size)
        self.counts.extend(block.counts)
        self.times.extend(block.publish_times)
        self.delivery.extend(block.delivery_times or [0] * len(block))

    @property
    def is_full(self) -> bool:
        return self.size >= GROUP_BYTES or len(self) >= GROUP_ENTRIES


class TierFileWriter:
    """Writes a local file; `close` makes it complete. What is not closed is not to be uploaded."""

    def __init__(self, path: Path, ledger_id: int, uuid: str) -> None:
        import pyarrow.parquet as pq

        self.index = TierIndex(ledger_id, uuid)
        self._schema = schema()
        self._gathered = _Gathered(0)
        self._writer = pq.ParquetWriter(
            str(path),
            self._schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=False,
            write_statistics=["ledger_id", "entry_id", "publish_time"],
            write_page_checksum=True,
        )

    def add(self, block: Block) -> None:
        self._gathered.add(block)
        if self._gathered.is_full:
            self._end_group()

    def _end_group(self) -> None:
        import pyarrow as pa

        rows, n = self._gathered, len(self._gathered)
        data = b"".join(rows.parts)
        crc = checksum(data, rows.ends, rows.counts, rows.times, rows.delivery)
        newest = max(rows.times)
        self.index.groups.append(Group(rows.first, n, sum(rows.counts), rows.size, newest, crc))
        ledger_ids = array("q", [self.index.ledger_id]) * n
        columns = [
            ledger_ids,
            array("q", range(rows.first, rows.first + n)),
            rows.counts,
            rows.times,
            rows.delivery,
            rows.crcs,
        ]
        arrays = [
            pa.Array.from_buffers(kind, n, [None, pa.py_buffer(column)])
            for kind, column in zip(self._schema.types, columns, strict=False)
        ]
        offsets = array("i", [0]) + rows.ends
        arrays.append(pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(data)]))
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=n)
        self._gathered = _Gathered(rows.first + n)

    def close(self) -> None:
        if len(self._gathered):
            self._end_group()
        self._writer.add_key_value_metadata({INDEX_KEY: self.index.encode()})
        self._writer.close()
