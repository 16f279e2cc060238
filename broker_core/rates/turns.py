"""Long work on the event loop in slices, so that messages never wait for a report about them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

TURN_SECONDS = 0.005
AT_A_TIME = 50


class Json(str):
    """JSON text; as a string, already written parts cost the garbage collector nothing."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Json:
        return cls(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


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


async def json_in_turns(value: Any, depth: int) -> Json:
    """The JSON text of a value. Entries of objects are written one by one down to `depth`; values may be `Json`."""
    if isinstance(value, Json):
        return value
    if not depth or not isinstance(value, dict):
        return Json.of(value)
    entries = [f"{Json.of(key)}:{await json_in_turns(part, depth - 1)}" async for key, part in in_turns(value.items())]
    return Json(f"{{{','.join(entries)}}}")
