"""MESSAGE commands that differ only in their entry ID, as a broker sends the entries of a ledger; no I/O.

The first is parsed. The bytes of those after it are then known, so that comparing them, of many frames at once, takes
the place of parsing them, which costs more than everything else that a reader does with a small entry.
"""

import struct
from array import array

import numpy as np

from broker_core.wire.message_run import MessageRun
from broker_core.wire.pulsar_api_pb2 import CommandMessage
from broker_core.wire.received import Received
from broker_core.wire.varint import encode_varint
from pulsarctl.tables.protobuf_columns import WORD, Array, words_of

_SIZE = struct.Struct(">I")
_COMMAND_MAX = 256  # bytes; a MESSAGE without unusual fields is far smaller
_FRAMES_FIRST = 8  # compared at once; then more, so that few are walked over in vain
_FRAMES_FACTOR = 8
_FRAMES_MAX = 4096
_ENTRY_ID_MAX = (1 << 63) - 1


class ForeseenMessages:
    """What the commands after the last MESSAGE are if they deliver the next entries."""

    def __init__(self) -> None:
        self._command = b""  # of the last MESSAGE that was parsed, with its size before it; empty: nothing is foreseen
        self._at = 0  # of the entry ID in it
        self._id_size = 0
        self._message = CommandMessage()
        self._next = 0

    def take(self, command: bytes, message: CommandMessage, data: Received, start: int, end: int) -> MessageRun:
        """A run of one: that MESSAGE, whose entry is `data[start:end]`. Learns from it."""
        place = message.message_id
        before, entry_id = b"\x08" + encode_varint(place.ledgerId) + b"\x10", encode_varint(place.entryId)
        is_plain = len(command) <= _COMMAND_MAX and command.count(before + entry_id) == 1
        self._command = _SIZE.pack(len(command)) + command if is_plain else b""
        self._at = _SIZE.size + command.find(before + entry_id) + len(before)
        self._id_size = len(entry_id)
        self._message, self._next = message, place.entryId + 1
        return self._run(place.entryId, data, array("q", [start]), array("q", [end]))

    def read(self, data: Received, position: int, frame_size_max: int) -> MessageRun:
        """The entries of the complete frames at `position` that are foreseen."""
        run = self._run(self._next, data, array("q"), array("q"))
        frames = _FRAMES_FIRST
        while data.startswith(self._expected(), position + 4):
            starts, ends = self._foreseen(data, position, min(frames, self._left), frame_size_max)
            run.starts.frombytes(starts.tobytes())
            run.ends.frombytes(ends.tobytes())
            self._next += len(ends)
            if len(ends) < frames:
                break
            position, frames = run.ends[-1], min(frames * _FRAMES_FACTOR, _FRAMES_MAX)
        return run

    def _run(self, entry_id: int, data: Received, starts: "array[int]", ends: "array[int]") -> MessageRun:
        return MessageRun(self._message.consumer_id, self._message.message_id.ledgerId, entry_id, data, starts, ends)

    @property
    def _left(self) -> int:
        """How many entry IDs are as long as the last one; a longer one changes the sizes around it."""
        return min(1 << 7 * self._id_size, _ENTRY_ID_MAX) - self._next

    def _expected(self) -> bytes | tuple[()]:
        """The next command with its size; if nothing is foreseen, `()`, with which no bytes start."""
        if not self._command or self._left <= 0:
            return ()
        return self._command[: self._at] + encode_varint(self._next) + self._command[self._at + self._id_size :]

    def _foreseen(self, data: Received, position: int, count: int, frame_size_max: int) -> tuple[Array, Array]:
        """Where the entries of the next frames start and end, up to the first frame that is another one."""
        ends = np.array(_ends(data, position, count), np.int64)
        bodies = np.concatenate(([position], ends[:-1])) + 4
        sizes = ends - bodies
        rows = _first_false((sizes >= len(self._command)) & (sizes <= frame_size_max) & (ends <= len(data)))
        if rows:
            rows = _first_false(self._are_next(data, bodies[:rows]))
        return bodies[:rows] + len(self._command), ends[:rows]

    def _are_next(self, data: Received, places: Array) -> Array:
        """Which of these bytes are the next commands, one after the other."""
        size = len(self._command)
        expected = np.empty((len(places), size), np.uint8)
        expected[:] = np.frombuffer(self._command, np.uint8)
        ids = np.arange(self._next, self._next + len(places), dtype=np.uint64)
        for byte in range(self._id_size):
            continued = 0x80 if byte < self._id_size - 1 else 0
            expected[:, self._at + byte] = ids >> np.uint64(7 * byte) & np.uint64(0x7F) | np.uint64(continued)
        words = words_of(data, len(data) - WORD + 1)
        right = np.ones(len(places), bool)
        for offset in (*range(0, size - WORD, WORD), size - WORD):
            right &= words[places + offset] == np.ndarray((len(places),), "<u8", expected, offset, (size,))
        return right


def _ends(data: Received, position: int, count: int) -> list[int]:
    """Where the next frames end, judged by their sizes."""
    ends: list[int] = []
    last, size_at, append = len(data) - _SIZE.size, _SIZE.unpack_from, ends.append
    for _ in range(count):
        if position > last:
            break
        (size,) = size_at(data, position)
        position += size + 4
        append(position)
    return ends


def _first_false(flags: Array) -> int:
    """Its index, or the number of flags."""
    return len(flags) if flags.all() else int(flags.argmin())
