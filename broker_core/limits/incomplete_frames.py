"""How much all connections together may hold of frames that are not complete yet.

One connection holds at most one frame, but a thousand that each stop one byte short of the end hold a thousand. So what
they hold is added up, and beyond `limit`

- a connection whose frame has been incomplete for longer than `timeout_seconds` is closed,
- the others are not read while they hold much, but the one that has waited longest always is, so that they finish one
  by one; a message that is honestly large arrives later, and is never lost.

At twice the limit, which takes many connections at once, a connection that brings more is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

COUNTED_FROM = 4 * 1024  # bytes; what is shorter costs no more than the connection itself
MUCH = 64 * 1024  # bytes that a connection may hold in any case
RESUMED_SHARE = 0.2  # of the timeout: who was made to wait has sent the rest already, if there is one
RESUME_STEP = 256 * 1024  # bytes that a connection may bring before it is looked at again


class FrameHolder(Protocol):
    def hold_reading(self) -> None: ...

    def release_reading(self) -> None: ...

    def give_up(self, reason: str) -> None:
        """Closes the connection; `holds` with 0 bytes follows."""


@dataclass(slots=True)
class _Frame:
    size: int
    deadline: float  # from then on its connection may be closed
    paused: bool = False


class IncompleteFrames:
    def __init__(self, limit: int, timeout_seconds: float, now: Callable[[], float]) -> None:
        self._limit = limit
        self._timeout = timeout_seconds
        self._now = now
        self._frames: dict[FrameHolder, _Frame] = {}  # oldest first
        self._paused = 0
        self._look_due: asyncio.TimerHandle | None = None
        self.total = 0

    def holds(self, holder: FrameHolder, size: int, *, began: bool) -> bool:
        """The connection holds `size` bytes now, of a frame that `began` just now or before; False: they do not count.

        May close the connection, or stop reading from it.
        """
        frame = self._frames.get(holder)
        if frame is not None:
            self.total -= frame.size
            if began or size <= COUNTED_FROM:
                self._let_go(holder, frame)
                frame = None
        if size > COUNTED_FROM:
            if frame is None:
                frame = self._frames[holder] = _Frame(0, self._now() + self._timeout)
            frame.size = size
            self.total += size
        if self.total > self._limit:
            self._squeeze(holder, frame)
        elif self._paused:
            self._resume()
        return frame is not None

    def _let_go(self, holder: FrameHolder, frame: _Frame) -> None:
        del self._frames[holder]
        if frame.paused:
            self._paused -= 1
            holder.release_reading()

    def _squeeze(self, holder: FrameHolder, frame: _Frame | None) -> None:
        self.look()
        if frame is None or holder not in self._frames:
            return
        oldest = next(iter(self._frames))
        if self.total > 2 * self._limit and holder is not oldest:
            holder.give_up(f"unfinished frames take {self.total} bytes, twice maxIncompleteFramesSizeInMB")
        elif self.total > self._limit and frame.size > MUCH and holder is not oldest and not frame.paused:
            frame.paused = True
            self._paused += 1
            holder.hold_reading()

    def look(self) -> None:
        """Closes those that take too long, as long as there is too much; comes again by itself while there is."""
        if self._look_due is not None:
            self._look_due.cancel()
            self._look_due = None
        now = self._now()
        for holder, frame in list(self._frames.items()):
            if self.total <= self._limit:
                break
            if not frame.paused and frame.deadline <= now:
                self.total -= frame.size
                del self._frames[holder]
                holder.give_up("its frame is incomplete, and others need the room (maxIncompleteFramesSizeInMB)")
        self._resume()
        if self.total > self._limit:
            self._look_due = asyncio.get_running_loop().call_later(RESUMED_SHARE * self._timeout, self.look)

    def _resume(self) -> None:
        """The oldest is read in any case, the next ones while there is room for what they may bring."""
        room = self._limit - self.total
        for number, (holder, frame) in enumerate(self._frames.items()):
            if not frame.paused:
                continue
            if number and room < RESUME_STEP:
                return
            room -= RESUME_STEP
            frame.paused, frame.deadline = False, self._now() + RESUMED_SHARE * self._timeout
            self._paused -= 1
            holder.release_reading()
