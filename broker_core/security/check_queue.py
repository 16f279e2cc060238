"""Which password is checked next: hashing takes long on purpose, so only a few are checked at a time and others wait.

The guess whose address and user have failed the least goes first, so that someone who guesses delays other guesses, and
not the first log-in of another client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, field

from broker_core.errors import AuthenticationFailed

AT_A_TIME = 2
WAITING_MAX = 256


@dataclass(slots=True, eq=False)
class _Guess:
    """`failures`: how often its subjects failed recently, now and not when it began to wait."""

    subjects: tuple[Hashable, ...]
    failures: Callable[[], int]
    admitted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class CheckQueue:
    def __init__(self, seconds: float) -> None:
        """`seconds`: how long a guess may wait."""
        self._seconds = seconds
        self.refused = 0
        self._checked = 0
        self._waiting: dict[_Guess, None] = {}  # in order of arrival

    @contextlib.asynccontextmanager
    async def admission(self, subjects: tuple[Hashable, ...], failures: Callable[[], int]) -> AsyncIterator[None]:
        """Waits until this guess may be checked, in the body. Raises `AuthenticationFailed` if it must not be."""
        await self._wait(_Guess(subjects, failures))
        try:
            yield
        finally:
            self._leave()

    async def _wait(self, guess: _Guess) -> None:
        self._waiting[guess] = None
        self._admit()
        if len(self._waiting) > WAITING_MAX:
            self._refuse_one()
        try:
            async with asyncio.timeout(self._seconds):
                await guess.admitted
        except TimeoutError:
            self.refused += 1
            self._give_up(guess)
            raise AuthenticationFailed("too many passwords wait for their check; not checked in time") from None
        except BaseException:
            self._give_up(guess)
            raise

    def _admit(self) -> None:
        while self._waiting and self._checked < AT_A_TIME:
            guess = min(self._waiting, key=lambda attempt: attempt.failures())
            del self._waiting[guess]
            if not guess.admitted.done():  # otherwise its client has just left, or its time is over
                self._checked += 1
                guess.admitted.set_result(None)

    def _leave(self) -> None:
        self._checked -= 1
        self._admit()

    def _give_up(self, guess: _Guess) -> None:
        if guess in self._waiting:
            del self._waiting[guess]
        elif not guess.admitted.cancelled() and guess.admitted.exception() is None:
            self._leave()  # admitted at the moment in which it was given up

    def _refuse_one(self) -> None:
        """Refuses the latest guess of those who wait with the most others and failed the most."""
        waiting = Counter(subject for attempt in self._waiting for subject in attempt.subjects)
        guess = max(
            reversed(self._waiting),
            key=lambda attempt: attempt.failures() + sum(waiting[subject] for subject in attempt.subjects),
        )
        del self._waiting[guess]
        if not guess.admitted.done():
            self.refused += 1
            guess.admitted.set_exception(AuthenticationFailed("too many passwords wait for their check; not checked"))
