"""The coordinator over a real storage: who may end a transaction, how often, and when it times out."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.features import TransactionConfig
from broker_core.errors import (
    InvalidTransactionStatus,
    NotAllowed,
    PersistenceFailed,
    TooManyRequests,
    TransactionCoordinatorNotFound,
    TransactionNotFound,
)
from broker_core.storage.engine import StorageEngine
from broker_core.storage.managed_ledger.transaction_log import TransactionPart
from broker_core.transactions.coordinator import Coordinator, Participant
from broker_core.transactions.states import ENDED, ENDING, TRANSITIONS, TransactionState
from broker_core.wire.transaction_id import TransactionId
from tests.support.clocks import ShiftedClock
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import contents, opened, reopened, run_of
from tests.support.transactions import append_in

ROLE = "client"
ENABLED = TransactionConfig(enabled=True)


class Topic:
    """A participant that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def end_transaction(self, transaction: TransactionId, *, commit: bool) -> None:
        self.told.append(f"{'commit' if commit else 'abort'} {transaction.least}")

    def transaction_ended(self, transaction: TransactionId, part: TransactionPart, *, commit: bool) -> None:
        self.told.append(f"in effect {sorted(part.acks)}")


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[StorageEngine]:
    running = await opened(tmp_path / "d", disk=FaultyDisk())
    yield running
    await running.close()


def coordinator_of(
    engine: StorageEngine,
    clock: ShiftedClock,
    participant: Callable[[str], Participant | None] = lambda name: None,
    config: TransactionConfig = ENABLED,
) -> Coordinator:
    def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        tasks.append(task)
        return task

    tasks: list[asyncio.Task[Any]] = []
    return Coordinator(config, clock, engine.transactions, spawn, participant)


async def write(engine: StorageEngine, coordinator: Coordinator, transaction: TransactionId) -> None:
    ledger = await engine.open_ledger("t")
    await append_in(ledger, coordinator.writing(transaction), run_of(b"a"))


def test_only_the_outcome_that_began_can_follow() -> None:
    for commit in (True, False):
        assert ENDED[commit] in TRANSITIONS[ENDING[commit]]
        assert ENDED[not commit] not in TRANSITIONS[ENDING[commit]]
        assert not TRANSITIONS[ENDED[commit]]
    assert TRANSITIONS[TransactionState.OPEN] == set(ENDING.values())


async def test_participants_are_told_before_and_after_the_outcome_is_in_effect(
    engine: StorageEngine, clock: ShiftedClock
) -> None:
    topic = Topic()
    asked: list[str] = []

    def participant(name: str) -> Participant | None:
        asked.append(name)
        return topic

    coordinator = coordinator_of(engine, clock, participant)
    transaction = await coordinator.begin(0, 60_000, ROLE)
    await write(engine, coordinator, transaction)
    await coordinator.end(transaction, ROLE, commit=True)
    assert topic.told == [f"commit {transaction.least}", "in effect []"]
    assert asked == ["t", "t"]
    assert await contents(await engine.open_ledger("t")) == [b"a"]


async def test_a_transaction_belongs_to_the_role_that_began_it(engine: StorageEngine, clock: ShiftedClock) -> None:
    coordinator = coordinator_of(engine, clock)
    transaction = await coordinator.begin(0, 60_000, ROLE)
    coordinator.check_open(transaction, ROLE)
    for role in ("other", ""):
        with pytest.raises(TransactionNotFound):
            coordinator.check_open(transaction, role)
        with pytest.raises(TransactionNotFound):
            await coordinator.end(transaction, role, commit=True)


async def test_the_same_end_twice_at_once_succeeds_and_the_other_one_is_refused(
    engine: StorageEngine, clock: ShiftedClock
) -> None:
    coordinator = coordinator_of(engine, clock)
    transaction = await coordinator.begin(0, 60_000, ROLE)
    await write(engine, coordinator, transaction)
    ends = [coordinator.end(transaction, ROLE, commit=commit) for commit in (True, True, False)]
    first, second, other = await asyncio.gather(*ends, return_exceptions=True)
    assert (first, second) == (None, None)
    assert isinstance(other, InvalidTransactionStatus)
    with pytest.raises(NotAllowed):
        coordinator.writing(transaction)


async def test_another_coordinator_is_not_found(engine: StorageEngine, clock: ShiftedClock) -> None:
    coordinator = coordinator_of(engine, clock)
    with pytest.raises(TransactionCoordinatorNotFound):
        await coordinator.begin(1, 60_000, ROLE)
    with pytest.raises(TransactionCoordinatorNotFound):
        await coordinator.end(TransactionId(77, 1), ROLE, commit=True)


async def test_transactions_that_begin_together_do_not_exceed_the_limit(
    engine: StorageEngine, clock: ShiftedClock
) -> None:
    coordinator = coordinator_of(engine, clock, config=TransactionConfig(enabled=True, max_active=2))
    together = [coordinator.begin(0, 60_000, ROLE) for _ in range(5)]  # the first IDs wait for the disk
    begun = await asyncio.gather(*together, return_exceptions=True)
    assert [type(result) for result in begun].count(TooManyRequests) == 3
    assert len(coordinator.active) == 2


async def test_a_transaction_times_out_and_another_goes_on(engine: StorageEngine, clock: ShiftedClock) -> None:
    coordinator = coordinator_of(engine, clock)
    long = await coordinator.begin(0, 60_000, ROLE)
    short = await coordinator.begin(0, 10, ROLE)
    await write(engine, coordinator, short)
    clock.ran_seconds += 1
    ledger = await engine.open_ledger("t")
    await until(lambda: ledger.transactions is not None and not ledger.transactions.open)
    with pytest.raises(TransactionNotFound):
        await coordinator.end(short, ROLE, commit=True)
    await coordinator.end(long, ROLE, commit=True)


async def test_an_outcome_that_cannot_be_written_leaves_the_transaction_open(
    engine: StorageEngine, clock: ShiftedClock
) -> None:
    coordinator = coordinator_of(engine, clock)
    transaction = await coordinator.begin(0, 60_000, ROLE)
    await write(engine, coordinator, transaction)
    disk = engine.disk
    assert isinstance(disk, FaultyDisk)
    disk.failures["sync", ".journal"] = 5
    with pytest.raises(PersistenceFailed):
        await coordinator.end(transaction, ROLE, commit=True)
    disk.failures.clear()
    coordinator.check_open(transaction, ROLE)
    await coordinator.end(transaction, ROLE, commit=True)


@pytest.mark.parametrize("with_messages", [True, False])
async def test_an_end_can_be_repeated_after_a_clean_restart(
    tmp_path: Path, clock: ShiftedClock, *, with_messages: bool
) -> None:
    engine = await opened(tmp_path / "r")
    coordinator = coordinator_of(engine, clock)
    transaction = await coordinator.begin(0, 60_000, ROLE)
    if with_messages:
        await write(engine, coordinator, transaction)
    await engine.checkpoint()
    await coordinator.end(transaction, ROLE, commit=True)
    coordinator.close()
    for _ in range(2):
        engine = await reopened(engine, tmp_path / "r")
        coordinator = coordinator_of(engine, clock)
        await coordinator.end(transaction, ROLE, commit=True)
        with pytest.raises(TransactionNotFound):
            await coordinator.end(transaction, ROLE, commit=False)
        coordinator.close()
    await engine.close()


async def interleave(engine: StorageEngine, coordinator: Coordinator, *transactions: TransactionId) -> None:
    """Writes two runs in each transaction."""
    for transaction in (*transactions, *transactions):
        await write(engine, coordinator, transaction)


async def test_a_transaction_with_too_many_runs_of_messages_is_refused_by_the_name_of_the_limit(
    engine: StorageEngine, clock: ShiftedClock
) -> None:
    coordinator = coordinator_of(engine, clock, config=TransactionConfig(enabled=True, max_runs=2))
    full, other = [await coordinator.begin(0, 60_000, ROLE) for _ in range(2)]
    await interleave(engine, coordinator, full, other)
    with pytest.raises(NotAllowed, match=r"has 2 runs of consecutive messages \(maxMessageRunsPerTransaction\)"):
        coordinator.writing(full)
    coordinator.writing(await coordinator.begin(0, 60_000, ROLE))


@pytest.mark.parametrize("restart", [False, True])
async def test_all_open_transactions_together_have_a_limit_of_runs(
    tmp_path: Path, clock: ShiftedClock, *, restart: bool
) -> None:
    engine = await opened(tmp_path / "r")
    limits = TransactionConfig(enabled=True, max_all_runs=4)
    coordinator = coordinator_of(engine, clock, config=limits)
    first, second = [await coordinator.begin(0, 60_000, ROLE) for _ in range(2)]
    await interleave(engine, coordinator, first, second)
    if restart:
        coordinator.close()
        engine = await reopened(engine, tmp_path / "r")
        coordinator = coordinator_of(engine, clock, config=limits)
    new = await coordinator.begin(0, 60_000, ROLE)
    with pytest.raises(NotAllowed, match="maxMessageRunsOfActiveTransactions"):
        coordinator.writing(new)
    await coordinator.end(first, ROLE, commit=False)
    await write(engine, coordinator, new)
    coordinator.close()
    await engine.close()


async def test_a_restart_restores_what_is_open_and_aborts_what_has_timed_out(
    tmp_path: Path, clock: ShiftedClock
) -> None:
    engine = await opened(tmp_path / "r")
    coordinator = coordinator_of(engine, clock)
    open_one = await coordinator.begin(0, 600_000, ROLE)
    late = await coordinator.begin(0, 60_000, ROLE)
    committed = await coordinator.begin(0, 60_000, ROLE)
    empty = await coordinator.begin(0, 60_000, ROLE)
    for transaction in (open_one, late, committed):
        await write(engine, coordinator, transaction)
    coordinator.close()
    await engine.close()
    clock.jump_ms += 120_000
    engine = await opened(tmp_path / "r")
    coordinator = coordinator_of(engine, clock)
    await until(lambda: len(engine.transactions.open()) == 1)
    with pytest.raises(TransactionNotFound):
        coordinator.check_open(late, ROLE)
    with pytest.raises(TransactionNotFound):
        coordinator.check_open(empty, ROLE)
    await coordinator.end(open_one, ROLE, commit=True)
    coordinator.close()
    await engine.close()
