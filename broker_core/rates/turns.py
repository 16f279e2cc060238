"""Long work on the event loop in slices, so that messages never wait for a report about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

Item = TypeVar("Item")

ITEMS_AT_A_TIME = 20  # topics, or metrics of many topics: a few milliseconds


async def in_turns(items: Iterable[Item], at_a_time: int = ITEMS_AT_A_TIME) -> AsyncIterator[Item]:
    """The items one by one; after every few of them others on the loop have their turn."""
    for index, item in enumerate(items):
        if index % at_a_time == at_a_time - 1:
            await asyncio.sleep(0)
        yield item
