"""When the broker reads from a connection and when it pauses; the transport only records the calls."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from broker_core.server.backpressure import BUSY_WINDOW, GATHER_SECONDS, GATHER_SENDS, REST_SECONDS, ReadGate
from broker_core.storage.pressure import Pressure

DEADLINE = 2.0  # seconds


class NotingTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.resumed = asyncio.Event()

    def pause_reading(self) -> None:
        self.reading = False
        self.resumed.clear()

    def resume_reading(self) -> None:
        self.reading = True
        self.resumed.set()

    def get_write_buffer_size(self) -> int:
        return 0


def with_gate(scenario: Callable[[ReadGate, NotingTransport], Awaitable[None]]) -> None:
    async def run() -> None:
        transport = NotingTransport()
        gate = ReadGate(transport, Pressure(1 << 20), max_pending=1000, max_unsent=1 << 20)
        await scenario(gate, transport)
        gate.close()

    asyncio.run(run())


def chunk(gate: ReadGate, sends: int) -> None:
    gate.started(sends)
    gate.after_chunk(sends)


def make_busy(gate: ReadGate) -> None:
    """Sends far above the rate at which a connection counts as busy: two windows at once."""
    for _ in range(2):
        chunk(gate, BUSY_WINDOW)
        gate.finished(BUSY_WINDOW)


def test_a_chunk_with_few_sends_does_not_pause_reading() -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        chunk(gate, GATHER_SENDS - 1)
        assert transport.reading

    with_gate(scenario)


def test_a_chunk_with_several_sends_is_answered_before_the_next_read() -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        chunk(gate, GATHER_SENDS)
        assert not transport.reading
        gate.finished(GATHER_SENDS)
        assert transport.reading

    with_gate(scenario)


def test_a_slow_disk_prolongs_the_gather_pause_only_to_its_limit() -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        started = asyncio.get_running_loop().time()
        chunk(gate, GATHER_SENDS)
        await asyncio.wait_for(transport.resumed.wait(), DEADLINE)
        assert asyncio.get_running_loop().time() - started >= GATHER_SECONDS / 2

    with_gate(scenario)


def test_a_busy_connection_pauses_after_its_receipts() -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        make_busy(gate)
        assert not transport.reading
        started = asyncio.get_running_loop().time()
        await asyncio.wait_for(transport.resumed.wait(), DEADLINE)
        assert asyncio.get_running_loop().time() - started >= REST_SECONDS / 2

    with_gate(scenario)


def test_on_a_busy_connection_even_a_chunk_of_one_send_waits_for_its_receipt() -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        make_busy(gate)
        await asyncio.wait_for(transport.resumed.wait(), DEADLINE)
        chunk(gate, 1)
        assert not transport.reading

    with_gate(scenario)


def test_a_connection_that_slows_down_is_no_longer_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(gate: ReadGate, transport: NotingTransport) -> None:
        make_busy(gate)
        await asyncio.wait_for(transport.resumed.wait(), DEADLINE)
        later = asyncio.get_running_loop().time() + BUSY_WINDOW / 5_000  # the SENDs of one window: 5,000 a second
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: later)
        chunk(gate, BUSY_WINDOW)
        gate.finished(BUSY_WINDOW)
        assert transport.reading

    with_gate(scenario)
