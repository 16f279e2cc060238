"""Starts work concurrently with the caller. The broker owns every such task and ends it at stop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Key = TypeVar("Key")

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


def close_with(task: asyncio.Task[Any], work: Coroutine[Any, Any, Any]) -> None:
    """Closes what the task awaits, which it never does if it is canceled before it begins."""
    task.add_done_callback(lambda _: work.close())


async def to_the_end(spawn: Spawn, change: Coroutine[Any, Any, T]) -> T:
    """Awaits a change of state that runs to its end, even if the caller is cancelled because its client left.

    Otherwise the change could be on disk but not in memory. Raises what the change raises.
    """

    result: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            value = await change
        except Exception as error:  # for the caller, if it still waits: the owner of the task would log it
            if not result.done():
                result.set_exception(error)
                result.exception()  # marks it as seen: a caller that has left never asks
        else:
            if not result.done():
                result.set_result(value)

    task = spawn(run())
    close_with(task, change)
    await asyncio.shield(task)
    return result.result()


async def waited_out(step: Awaitable[T]) -> T:
    """The result of a step that must not be left halfway, such as a thread's: a thread cannot be canceled.

    A caller that left would close the file while the thread still uses it, or free a slot that is still taken. Raises
    what the step raises; if the caller is canceled, CancelledError once the step has ended.
    """
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


class OneAtATime(Generic[Key]):
    """Runs the changes of one thing one after the other: `async with changes.of(key)`.

    A lock exists while a caller holds it or waits for it.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: Key) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())

    @property
    def running(self) -> list[Key]:
        """The keys whose change has begun and has not ended."""
        return [key for key, lock in self._locks.items() if lock.locked()]
