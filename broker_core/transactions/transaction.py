"""One transaction of the coordinator."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.errors import InvalidTransactionStatus
from broker_core.transactions.states import ENDED, ENDING, TRANSITIONS, TransactionState
from broker_core.wire.transaction_id import TransactionId

if TYPE_CHECKING:
    from broker_core.errors import BrokerError
    from broker_core.storage.records.transactions import TransactionInfo


class Transaction:
    """`outcome` is set once the transaction ends; callers that ask for the same outcome share it."""

    __slots__ = ("coordinator_id", "info", "outcome", "state")

    def __init__(self, coordinator_id: int, info: TransactionInfo) -> None:
        self.coordinator_id = coordinator_id
        self.info = info
        self.state = TransactionState.OPEN
        self.outcome: asyncio.Future[BrokerError | None] | None = None

    @property
    def id(self) -> TransactionId:
        return TransactionId(self.coordinator_id, self.info.id)

    def check_open(self) -> None:
        """Raises `InvalidTransactionStatus`."""
        if self.state is not TransactionState.OPEN:
            raise self.in_other_state(TransactionState.OPEN)

    def begin_to_end(self, *, commit: bool) -> None:
        """Raises `InvalidTransactionStatus`."""
        self._become(ENDING[commit])
        self.outcome = asyncio.get_running_loop().create_future()

    def is_ending(self, *, commit: bool) -> bool:
        return self.state is ENDING[commit]

    def ended(self, *, commit: bool) -> None:
        self._become(ENDED[commit])
        self._answer(None)

    def reopen(self, error: BrokerError) -> None:
        """The outcome could not be written."""
        self._become(TransactionState.OPEN)
        self._answer(error)

    def _answer(self, error: BrokerError | None) -> None:
        outcome, self.outcome = self.outcome, None
        if outcome is not None:
            outcome.set_result(error)

    async def ending(self) -> None:
        """Waits for the outcome. Raises what prevented it."""
        if self.outcome is None:
            return
        error = await asyncio.shield(self.outcome)
        if error is not None:
            raise error

    def in_other_state(self, expected: TransactionState) -> InvalidTransactionStatus:
        return InvalidTransactionStatus(
            f"Expect Txn {self.id} to be in {expected.value} status but it is in {self.state.value} status"
        )

    def _become(self, state: TransactionState) -> None:
        if state not in TRANSITIONS[self.state]:
            raise self.in_other_state(state)
        self.state = state
