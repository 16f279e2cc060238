"""A step in a thread, such as a write to an open file, whose caller waits until it has ended.

A thread cannot be canceled. A caller that is canceled and left would close the file, or delete it, while the thread
still uses it: the next file may have the same descriptor by then.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def waited_out(step: Awaitable[T]) -> T:
    """What the step returns. Raises what it raises; if the caller is canceled, CancelledError once it has ended."""
    running = asyncio.ensure_future(step)
    canceled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            canceled = error
    if canceled is None:
        return running.result()
    if not running.cancelled():
        running.exception()  # marks it as seen: the caller has left
    raise canceled
