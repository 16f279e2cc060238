"""Limits on what waits for the disk, or for the client to read, before the broker stops reading a client's socket.

Six causes stop reading, and each ends on its own: too many unanswered publishes and acknowledgments on this connection,
too many unsynced bytes in the whole broker (`storage.pressure`), answers that the client does not take (messages stop
earlier, see `Consumer.writable`), requests whose large answers wait for that, publish rates (`hold`), and the gather
pause.

The gather pause is short and makes publishing faster: one cycle (read, group, sync, receipts) costs nearly the same for
one message and for a hundred. After a chunk with several SENDs, the next read waits until that chunk is answered. On a
connection that sends too fast to wait for single receipts, every chunk waits, and for `REST_SECONDS` more. A slow disk
does not prolong the wait beyond `GATHER_SECONDS`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.storage.pressure import Pressure

GATHER_SENDS = 4  # SENDs in one chunk from which it applies
GATHER_SECONDS = 0.002
REST_SECONDS = 0.004
BUSY_SENDS_PER_SECOND = 20_000
BUSY_WINDOW = 256  # SENDs over which that rate is taken
MAX_ASKED = 100  # questions with large answers, beside those of one chunk


class ReadGate:
    """Pauses and resumes one transport's reading."""

    def __init__(self, transport: asyncio.Transport, pressure: Pressure, max_pending: int, max_unsent: int) -> None:
        self._transport = transport
        self._pressure = pressure
        self._max_pending = max_pending
        self._max_unsent = max_unsent  # bytes
        self._loop = asyncio.get_running_loop()
        self._pending = 0
        self._gathering: asyncio.TimerHandle | None = None
        self._arrived = 0  # SENDs since the rate was last taken
        self._rate_taken = 0.0  # loop time
        self._busy = False
        self._waits_for_relief = False
        self._unsent = False
        self._asked = 0
        self._too_much_asked = False
        self._holds = 0
        self._paused = False
        self._closed = False

    @property
    def is_paused(self) -> bool:
        return self._paused

    @property
    def excuses_silence(self) -> bool:
        """Whether the broker hears nothing because it does not read; a peer that takes no answers has no excuse."""
        return self._paused and not self._unsent and not self._too_much_asked

    def started(self, messages: int) -> None:
        self._pending += messages

    def after_chunk(self, sends: int) -> None:
        """Decides once a chunk whether to go on reading."""
        if sends:
            self._arrived += sends
            if self._arrived >= BUSY_WINDOW:
                self._take_rate()
        if (sends >= GATHER_SENDS or (sends and self._busy)) and self._gathering is None:
            self._gathering = self._loop.call_later(GATHER_SECONDS, self._gathered)
        if self._pressure.over and not self._waits_for_relief:
            self._waits_for_relief = True
            self._pressure.on_relief(self._relieved)
        if self._transport.get_write_buffer_size() > self._max_unsent:
            self._unsent = True
        if self._blocked():
            self._pause()

    def finished(self, messages: int) -> None:
        self._pending -= messages
        if self._paused:
            if not self._pending and self._gathering is not None:
                self._gathering.cancel()
                self._gathering = self._loop.call_later(REST_SECONDS, self._gathered) if self._busy else None
            self._resume_if_free()

    def drained(self) -> None:
        """The client has taken what was sent to it."""
        self._unsent = False
        self._resume_if_free()

    def asked(self) -> None:
        """A question with a large answer, which the client gets when it has taken what was sent before."""
        self._asked += 1
        if self._asked > MAX_ASKED:
            self._too_much_asked = True
            self._pause()

    def answered(self, _: object = None) -> None:
        self._asked -= 1
        if self._too_much_asked and self._asked <= MAX_ASKED // 2:
            self._too_much_asked = False
            self._resume_if_free()

    def hold(self) -> None:
        """Stops reading from this client until `release`."""
        self._holds += 1
        self._pause()

    def release(self) -> None:
        self._holds -= 1
        self._resume_if_free()

    def close(self) -> None:
        self._closed = True
        if self._gathering is not None:
            self._gathering.cancel()

    def _take_rate(self) -> None:
        now = self._loop.time()
        self._busy = self._arrived > BUSY_SENDS_PER_SECOND * (now - self._rate_taken)
        self._arrived, self._rate_taken = 0, now

    def _gathered(self) -> None:
        self._gathering = None
        self._resume_if_free()

    def _relieved(self) -> None:
        self._waits_for_relief = False
        self._resume_if_free()

    def _blocked(self) -> bool:
        return (
            self._gathering is not None
            or self._waits_for_relief
            or self._unsent
            or self._too_much_asked
            or self._holds > 0
            or self._pending >= self._max_pending
        )

    def _pause(self) -> None:
        if not self._paused and not self._closed:
            self._paused = True
            self._transport.pause_reading()

    def _resume_if_free(self) -> None:
        # Half of the limit must be free, so that a full connection does not stop and go with each receipt.
        if self._paused and not self._closed and not self._blocked() and self._pending <= self._max_pending // 2:
            self._paused = False
            self._transport.resume_reading()
