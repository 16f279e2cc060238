"""A limit on the memory that all connections together hold for incomplete frames.

One connection holds at most one frame, but a thousand connections that each stop one byte short of the end hold a
thousand. So their sizes are added up, and above `limit`

- a connection whose frame has been incomplete for longer than `timeout_seconds` is closed,
- other connections that hold much are not read, except the one that has waited longest, so that they finish one by one.
  An honest large message arrives later and is never lost.

At twice the limit, which takes many connections at once, a connection that sends more is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

COUNTED_FROM = 4 * 1024  # bytes; shorter frames cost no more than the connection itself
MUCH = 64 * 1024  # bytes that a connection may always hold
RESUMED_SHARE = 0.2  # of the timeout: a paused sender has its next bytes ready, if it has any
RESUME_STEP = 256 * 1024  # bytes that a connection may send before it is checked again


class FrameHolder(Protocol):
    def hold_reading(self) -> None: ...

    def release_reading(self) -> None: ...

    def give_up(self, reason: str) -> None:
        """Closes the connection; `holds` with 0 bytes follows."""


@dataclass(slots=True, eq=False, repr=False)
class _Frame:
    """A frame that has not arrived completely."""

    size: int
    deadline: float  # the connection may be closed after this time
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
        """Records that the connection holds `size` bytes of a frame; `began`: of a frame that has just begun.

        May close the connection or stop reading from it. Returns whether the bytes count.
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
            holder.give_up(f"incomplete frames take {self.total} bytes, twice maxIncompleteFramesSizeInMB")
        elif self.total > self._limit and frame.size > MUCH and holder is not oldest and not frame.paused:
            frame.paused = True
            self._paused += 1
            holder.hold_reading()

    def look(self) -> None:
        """Closes connections that take too long while the limit is exceeded, and repeats as long as it is."""
        if self._look_due is not None:
            self._look_due.cancel()
            self._look_due = None
        now = self._now()
        for holder, frame in list(self._frames.items()):
            if not self._is_crowded:
                break
            if not frame.paused and frame.deadline <= now:
                self.total -= frame.size
                del self._frames[holder]
                holder.give_up("its frame is incomplete, and others need the memory (maxIncompleteFramesSizeInMB)")
        self._resume()
        if self._is_crowded:
            self._look_due = asyncio.get_running_loop().call_later(RESUMED_SHARE * self._timeout, self.look)

    @property
    def _is_crowded(self) -> bool:
        """Whether the limit is exceeded, also if those that are read leave too little memory for those that wait."""
        return self.total > self._limit - (RESUME_STEP if self._paused else 0)

    def _resume(self) -> None:
        """Reads from the oldest connection, and from the next ones while there is memory for what they may send."""
        free = self._limit - self.total
        for number, (holder, frame) in enumerate(self._frames.items()):
            if not frame.paused:
                continue
            if number and free < RESUME_STEP:
                return
            free -= RESUME_STEP
            frame.paused, frame.deadline = False, self._now() + RESUMED_SHARE * self._timeout
            self._paused -= 1
            holder.release_reading()
