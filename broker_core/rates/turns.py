"""Long work on the event loop in slices, so that messages never wait for a report about them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from itertools import islice
from typing import TypeVar
from weakref import WeakKeyDictionary

Item = TypeVar("Item")
Result = TypeVar("Result")

TURN_SECONDS = 0.000_25  # without a pause, while no message comes
SHORT_TURN_SECONDS = 0.000_1  # how long a message may have to wait for a report
BREAK_SECONDS = 0.000_02  # after a short turn; with the kernel's timer slack, about four times as long
MESSAGES_SECONDS = 0.05  # without a message, after which turns become long again
REST_SECONDS = 0.001  # the shortest time for which the event loop can sleep (uvloop counts in milliseconds)
RESTS = 2  # while messages stay under way; then a report goes on, as it must beside a load that never ends
AT_A_TIME = 100


class Turnstile:
    """Lets the long work of an event loop through, one turn at a time, however many works there are.

    Between two turns the loop handles what has arrived. If messages are under way to the disk, it also sleeps: a
    thread that waits for the interpreter gets it only then. A loop that just looks around and goes on has taken the
    interpreter back before the thread wakes up, and the switch interval of 5 ms begins again each time.

    A client on the same processors has the same trouble with the kernel: one that the broker has just woken may get no
    processor until the broker sleeps or the next tick of the scheduler comes, every 4 ms. So while messages come, turns
    are short, and the broker sleeps after each of them. It gives up its processor by a sleep and not by a yield: on a
    busy machine, a thread that yields waits for a whole time slice of the others.
    """

    def __init__(self) -> None:
        self._urgent: list[Callable[[], bool]] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._rests = 0  # before the next turn
        self.rest: asyncio.Handle | None = None  # which `messages_went` ends
        self._opens = 0.0  # when the next turn may begin without a wait
        self._messages_until = 0.0  # that come now and then, as far as is known

    @property
    def turn_seconds(self) -> float:
        """How long a turn that begins now may be."""
        return SHORT_TURN_SECONDS if self.beside_messages else TURN_SECONDS

    @property
    def beside_messages(self) -> bool:
        """Whether messages come, as far as the works know: they look when they wait for a turn."""
        return time.perf_counter() < self._messages_until

    def gives_way_to(self, urgent: Callable[[], bool]) -> Callable[[], None]:
        """`urgent` says whether messages are under way. Returns a function that ends this."""
        self._urgent.append(urgent)
        return lambda: self._urgent.remove(urgent)

    def messages_went(self) -> None:
        """Messages were answered. If no others are under way, a rest ends: work goes on while clients send the next."""
        if self.rest is not None and not self._is_urgent():
            self.rest.cancel()
            self.rest = asyncio.get_running_loop().call_soon(self._open)

    async def enter(self) -> None:
        """For work that has not begun: waits for others and for messages, but not if there has been no turn lately."""
        now = time.perf_counter()
        if self._waiting or now < self._opens or self._is_urgent():
            await self.wait()
        else:
            self._opens = now + REST_SECONDS

    async def wait(self) -> None:
        """Until the next turn, first come, first served."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._open)
        await turn

    def _open(self) -> None:
        """After what has arrived, and after a rest if that was a message."""
        if self._goes_on():
            self._take_a_break()
            asyncio.get_running_loop().call_soon(self._let_through)

    def _let_through(self) -> None:
        """After what arrived in the break."""
        loop = asyncio.get_running_loop()
        if not self._goes_on():
            return
        self._rests = 0
        self._opens = time.perf_counter() + REST_SECONDS  # not when the work goes on: another may enter before it does
        self._waiting.popleft().set_result(None)
        if self._waiting:  # not before the loop has looked around, after that turn
            loop.call_soon(loop.call_soon, self._open)

    def _goes_on(self) -> bool:
        """Whether a turn may begin. If messages are under way, it begins after a rest."""
        self.rest = None
        while self._waiting and self._waiting[0].done():  # its work was canceled
            self._waiting.popleft()
        if not self._waiting:
            self._rests = 0
            return False
        if self._gives_way():
            self._rests += 1
            self.rest = asyncio.get_running_loop().call_later(REST_SECONDS, self._open)
            return False
        return True

    def _gives_way(self) -> bool:
        """Whether to rest, because messages are under way."""
        is_urgent = self._is_urgent()
        if is_urgent:
            self._messages_until = time.perf_counter() + MESSAGES_SECONDS
        return is_urgent and self._rests < RESTS

    def _is_urgent(self) -> bool:
        return any(urgent() for urgent in self._urgent)

    def _take_a_break(self) -> None:
        """The thread itself sleeps, because timers of the loop count in milliseconds."""
        if self.beside_messages:
            time.sleep(BREAK_SECONDS)


_turnstiles: WeakKeyDictionary[asyncio.AbstractEventLoop, Turnstile] = WeakKeyDictionary()


def turnstile() -> Turnstile:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    found = _turnstiles.get(loop)
    if found is None:
        found = _turnstiles[loop] = Turnstile()
    return found


class Turns:
    """Yields to the event loop after every turn, in work that is more than one loop."""

    __slots__ = ("_ends", "_turnstile")

    def __init__(self) -> None:
        self._turnstile = turnstile()
        self._ends = time.perf_counter() + self._turnstile.turn_seconds

    @property
    def over(self) -> bool:
        """Whether it is time for others."""
        return time.perf_counter() >= self._ends

    async def pause(self) -> None:
        """If it is time for others."""
        if self.over:
            await self._turnstile.wait()
            self._ends = time.perf_counter() + self._turnstile.turn_seconds


async def entered() -> Turns:
    """The turns of work that comes from outside, such as a request, when its first turn begins."""
    await turnstile().enter()
    return Turns()


async def in_turns(items: Iterable[Item], turns: Turns | None = None) -> AsyncIterator[Item]:
    """For reports. Yields the items one by one, and yields to the event loop after every turn of work on them.

    `turns`: those of the work that this is a part of, whose turn it shares.
    """
    turns = turns or Turns()
    for item in items:
        await turns.pause()
        yield item


async def in_short_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """For work that messages wait for, such as a checkpoint: as `in_turns`, but before reports, and without rests."""
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
