"""Reads plain SEND frames into runs: the hot path of the decoder.

A plain unbatched SEND, sizes in bytes, integers big-endian, (v) a varint:

    offset 0  frame size    4
           4  command size  4
           8  command       08 06 32 (v)len  08 (v)producer_id  10 (v)sequence_id
              magic         0e 01
              crc32c        4         of everything that follows
              metadata size 4
              metadata      0a (v)len producer_name  10 (v)sequence_id  18 (v)publish_time  ...
              payload       up to the end of the frame

Between two SENDs of a producer only the sizes, the checksum, the lowest byte of the sequence ID, and, once a
millisecond, the publish time change. So the reader keeps a `SendLayout` per producer: one `struct` that cuts the next
frame at these offsets, and the bytes expected in between. A frame that differs anywhere is read field by field, and a
new layout is learned from it; every frame is checked.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.wire.send import SendFields, SendRun
from broker_core.wire.send_metadata import PUBLISH_TIME_SIZE, is_plain_tail, is_publish_time, plain_publish_time
from broker_core.wire.varint import decode_varint

LAYOUTS_MAX = 1024
"""Maximum number of layouts per connection, about 600 bytes each; when it is exceeded, all are learned again."""

VIEWED_BYTES = 8 << 10
"""A view of an entry of that size costs less than a copy."""

MAGIC = b"\x0e\x01"
CHECKSUM_AND_SIZE = struct.Struct(">II")


class SendLayout(NamedTuple):
    """The layout of a producer's next SEND if it is like its last one. Offsets are from the frame's start."""

    cut: Callable[[bytes, int], tuple[Any, ...]]
    size: int  # up to the end of the publish time
    head: bytes  # command size, command up to the tag of the sequence id
    low: int  # the first byte of the sequence ID is in low..high: continued or not, like the last one
    high: int
    tail: bytes  # the other bytes of the sequence id, magic
    name: bytes  # metadata up to the tag of its sequence id
    metadata_tail: bytes  # the other bytes of the sequence id, tag of the publish time
    magic: int  # offset
    metadata: int  # offset
    metadata_min: int  # size of the metadata up to the publish time
    producer_id: int


@lru_cache(maxsize=LAYOUTS_MAX)
def cutter(head_size: int, sequence_size: int, name_size: int) -> struct.Struct:
    """Cuts a SEND frame into: size, head, byte, tail, checksum, metadata size, name, byte, metadata tail, time."""
    rest = sequence_size - 1
    return struct.Struct(f">I{head_size}sB{rest + 2}sII{name_size}sB{rest + 1}s{PUBLISH_TIME_SIZE}s")


class PlainSendReader:
    """Collects the plain SENDs of a chunk in runs; `close_runs` ends them."""

    __slots__ = ("_last_time", "_last_times", "_layout", "_layouts", "_runs")

    def __init__(self) -> None:
        self._layouts: dict[bytes, SendLayout] = {}
        self._layout: SendLayout | None = None
        self._runs: dict[int, SendRun] = {}
        self._last_times = b""
        self._last_time = 0

    def close_runs(self) -> None:
        """Ends the runs: another command comes between the SENDs, or the chunk is over."""
        for run in self._runs.values():
            run.counts += [1] * (len(run.starts) - len(run.counts))
        self._runs = {}

    def read_foreseen(self, data: bytes, position: int, frame_size_max: int, items: list[Any]) -> int:
        """Reads the frames from `position` on that match their layout; returns where the first other one starts."""
        layout = self._layout
        last_times, time = self._last_times, self._last_time
        available, valid_tail = len(data), b""
        while layout is not None:
            self._layout = layout
            cut, size, head, low, high, tail, name, metadata_tail, magic, metadata, metadata_min, producer_id = layout
            layout = run = None
            limit = available - size
            while position <= limit:
                frame_size, prefix, byte, rest, checksum, metadata_size, named, meta_byte, meta_rest, times = cut(
                    data, position
                )
                if prefix != head:
                    layout = self._layouts.get(prefix)
                    break
                end = position + 4 + frame_size
                begin = position + metadata
                if (
                    rest != tail
                    or named != name
                    or meta_rest != metadata_tail
                    or byte != meta_byte
                    or not low <= byte <= high
                    or not begin <= end <= available
                    or frame_size > frame_size_max
                    or not metadata_min <= metadata_size <= end - begin
                    or crc32c(data[begin - 4 : end]) != checksum
                ):
                    break
                if metadata_size != metadata_min:
                    fields = data[position + size : begin + metadata_size]
                    if fields != valid_tail:
                        if not is_plain_tail(fields):
                            break
                        valid_tail = fields
                if times != last_times:
                    if not is_publish_time(times):
                        break
                    self._last_times = last_times = times
                    self._last_time = time = decode_varint(times)
                if run is None:
                    run = self._run(producer_id, data, items)
                    add_start, add_end = run.starts.append, run.ends.append
                    add_key, add_time = run.keys.append, run.publish_times.append
                begin = position + magic
                add_start(begin)
                add_end(end)
                add_key(data[position + 12 : begin])
                add_time(time)
                position = end
        return position

    def read(
        self, data: bytes, position: int, command_end: int, end: int, fields: SendFields, items: list[Any]
    ) -> bool:
        """Reads one SEND frame field by field; returns false, without effect, if its entry is not plain."""
        metadata = command_end + 10
        if end < metadata or data[command_end : command_end + 2] != MAGIC:
            return False
        checksum, metadata_size = CHECKSUM_AND_SIZE.unpack_from(data, command_end + 2)
        checked = data if end - metadata < VIEWED_BYTES else memoryview(data)
        if metadata_size > end - metadata or crc32c(checked[metadata - 4 : end]) != checksum:
            return False
        time = plain_publish_time(data, metadata, metadata + metadata_size)
        if time is None:
            return False
        run = self._run(fields.producer_id, data, items)
        if fields.messages != 1:
            run.counts += [1] * (len(run.starts) - len(run.counts))
            run.counts.append(fields.messages)
        run.starts.append(command_end)
        run.ends.append(end)
        run.keys.append(fields.key)
        run.publish_times.append(time)
        self._layout = None
        if data[position + 12 : command_end] == fields.key:
            self._learn(data, position, command_end, end, fields)
        return True

    def _run(self, producer_id: int, data: bytes, items: list[Any]) -> SendRun:
        run = self._runs.get(producer_id)
        if run is None:
            run = self._runs[producer_id] = SendRun(producer_id, data, [], [], [], [], [])
            items.append(run)
        return run

    def _learn(self, data: bytes, position: int, command_end: int, end: int, fields: SendFields) -> None:
        """Learns a layout from the SEND at `position`, whose command has only producer and sequence ID."""
        sequence_id = fields.sequence_id
        head = data[position + 4 : command_end - len(sequence_id)]
        metadata = command_end - position + 10
        name_size = 2 + data[position + metadata + 1] + 1
        cut = cutter(len(head), len(sequence_id), name_size)
        if position + cut.size > end:
            return
        _, _, byte, tail, _, _, name, metadata_byte, metadata_tail, times = cut.unpack_from(data, position)
        rest = sequence_id[1:]
        foreseeable = (
            (name[0], name[1] < 128, name[-1]) == (0x0A, True, 0x10)
            and byte == metadata_byte
            and metadata_tail == rest + b"\x18"
            and is_publish_time(times)
        )
        if not foreseeable:
            return
        low, high = (128, 255) if rest else (0, 127)
        self._layout = SendLayout(
            cut.unpack_from,
            cut.size,
            head,
            low,
            high,
            tail,
            name,
            metadata_tail,
            command_end - position,
            metadata,
            cut.size - metadata,
            fields.producer_id,
        )
        if len(self._layouts) >= LAYOUTS_MAX:
            self._layouts.clear()
        self._layouts[head] = self._layout
