"""Long work on the event loop in slices, so that messages never wait for a report about them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

TURN_SECONDS = 0.005
AT_A_TIME = 100
JSON_LEVELS = 4  # of objects that are written piece by piece: partitions, their fields, their subscriptions
LIST_SLICE = 200


class Json(str):
    """JSON text; as a string, already written parts cost the garbage collector nothing."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Json:
        return cls(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class Turns:
    """Yields to the event loop after every few milliseconds, in work that is more than one loop."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends = time.perf_counter() + TURN_SECONDS

    async def pause(self) -> None:
        """If it is time for others."""
        if time.perf_counter() >= self._ends:
            await asyncio.sleep(0)
            self._ends = time.perf_counter() + TURN_SECONDS


async def in_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yields the items one by one, and yields to the event loop after every few milliseconds of work on them."""
    now = time.perf_counter
    turn_ends = now() + TURN_SECONDS
    for item in items:
        if now() >= turn_ends:
            await asyncio.sleep(0)
            turn_ends = now() + TURN_SECONDS
        yield item


async def side_by_side(items: Iterable[Item], act: Callable[[Item], Awaitable[Result]]) -> list[Result]:
    """What `act` returns for each item, `AT_A_TIME` of them together.

    What waits for the disk together is synced together, and others on the loop have their turn between.
    """
    rest, found = iter(items), list[Result]()
    while some := list(islice(rest, AT_A_TIME)):
        found += await asyncio.gather(*map(act, some))
    return found


async def json_in_turns(value: Any) -> bytearray:
    """The JSON text of a value in UTF-8, as `json.dumps` writes it; `Json` within `JSON_LEVELS` stands as it is.

    Half of a surrogate pair, which a client may have sent as `\\ud800`, is written like that again.
    """
    text = bytearray()  # it grows in slices too: to join 50 MB in the end would take as many milliseconds
    async for piece in in_turns(_pieces(value, JSON_LEVELS)):
        text += piece.encode(errors="backslashreplace")
    return text


def _pieces(value: Any, levels: int) -> Iterator[str]:
    """What changes in an object or a list that is written already is not seen, and does no harm."""
    if isinstance(value, Json):
        yield value
    elif levels and value and isinstance(value, dict):
        opening = "{"
        for key, part in list(value.items()):
            yield f"{opening}{Json.of(str(key))}:"
            yield from _pieces(part, levels - 1)
            opening = ","
        yield "}"
    elif levels and isinstance(value, list) and len(value) > LIST_SLICE:
        opening = "["
        for start in range(0, len(value), LIST_SLICE):
            yield f"{opening}{Json.of(value[start : start + LIST_SLICE])[1:-1]}"
            opening = ","
        yield "]"
    else:
        yield Json.of(value)
