"""Long answers, written in time slices of the event loop, and kept in pieces."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from broker_core.rates.time_slices import sliced

JSON_LEVELS = 4  # of objects that are written piece by piece: partitions, their fields, their subscriptions
LIST_SLICE = 200
PIECE_BYTES = 32 * 1024
LONG_BYTES = PIECE_BYTES // 2


class LongText:
    """Text in UTF-8 that is written, sent, and freed piece by piece.

    To join, to copy, or to free 50 MB at once takes tens of milliseconds, in which nothing else runs.
    """

    __slots__ = ("_bytes", "_last", "_pieces")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self._last = bytearray()
        self._bytes = 0

    def add(self, text: bytes) -> None:
        """A long text is kept as it is, without a copy."""
        self._bytes += len(text)
        if len(text) >= LONG_BYTES:
            self._pieces += (self._last, text)
            self._last = bytearray()
            return
        self._last += text
        if len(self._last) >= PIECE_BYTES:
            self._pieces.append(self._last)
            self._last = bytearray()

    def __len__(self) -> int:
        """The length in bytes of the pieces that are left."""
        return self._bytes

    def __bytes__(self) -> bytes:
        """The whole text; for short texts only, because this copies."""
        return b"".join((*self._pieces, self._last))

    def taken(self) -> Iterator[bytes | bytearray]:
        """The pieces in order. Each is forgotten when the next one is taken."""
        self._pieces.append(self._last)
        self._last, self._bytes = bytearray(), 0
        while self._pieces:
            yield self._pieces.popleft()


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # `json.dumps` makes one for each call


class Json(str):
    """JSON text; as a string, already written parts cost the garbage collector nothing."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Json:
        return cls(_encode(value))


def plain(value: Any, levels: int = JSON_LEVELS) -> Any:
    """The value that a client reads from `sliced_json(value)`."""
    if isinstance(value, Json):
        return json.loads(value)
    if levels and isinstance(value, dict):
        return {str(key): plain(part, levels - 1) for key, part in value.items()}
    if levels and _is_written(value):
        return [json.loads(part) for part in value]
    return value


async def sliced_json(value: Any) -> LongText:
    """The JSON text of a value in UTF-8, as `json.dumps` writes it; `Json` within `JSON_LEVELS` stands as it is.

    Half of a surrogate pair, which a client may have sent as `\\ud800`, is written like that again.
    """
    text = LongText()
    async for piece in sliced(_pieces(value, JSON_LEVELS)):
        text.add(piece.encode(errors="backslashreplace"))
    return text


def _pieces(value: Any, levels: int) -> Iterator[str]:
    """Yields pieces of the text. A change in an object or a list that is already written has no effect, and no harm."""
    if isinstance(value, Json):
        yield value
    elif levels and value and isinstance(value, dict):
        opening = "{"
        for key, part in list(value.items()):
            yield f"{opening}{Json.of(str(key))}:"
            yield from _pieces(part, levels - 1)
            opening = ","
        yield "}"
    elif levels and _is_written(value):
        opening = "["
        for part in value:
            yield f"{opening}{part}"
            opening = ","
        yield "]"
    elif levels and isinstance(value, list) and len(value) > LIST_SLICE:
        opening = "["
        for start in range(0, len(value), LIST_SLICE):
            yield f"{opening}{Json.of(value[start : start + LIST_SLICE])[1:-1]}"
            opening = ","
        yield "]"
    else:
        yield Json.of(value)


def _is_written(value: Any) -> bool:
    """Whether it is a list whose members are JSON text."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], Json)
