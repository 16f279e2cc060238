"""One transaction: messages and acknowledgments that take effect together at its commit, or never.

The official client for Python has no transactions, so these are the commands of the official Java client, in its order.
An answer that is lost is asked for again on a new connection. Every wait has a deadline.
docs/reference/protocol.md "Transactions" states the rules.
"""

import math
import time
from collections.abc import Callable
from typing import TypeVar

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import (
    CommandAddPartitionToTxnResponse,
    CommandAddSubscriptionToTxnResponse,
    CommandEndTxnResponse,
    CommandNewTxnResponse,
    CommandTcClientConnectResponse,
)
from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CannotConnect, CliError, NotFound
from pulsarctl.raw.broker_connection import BrokerConnection, NotAllowed, NotOpen, NotReady, pause_before
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.values.names import partition_name

COORDINATORS = "persistent://pulsar/system/transaction_coordinator_assign"  # its partitions stand for them
COORDINATOR = 0
WHO = "the transaction coordinator"
ABORT_SECONDS = 5.0  # then the broker ends it at its timeout

Answer = TypeVar("Answer")


class OutcomeUnknown(CliError):
    """The broker did not answer the commit, so the transaction is committed or aborted."""


class Transaction:
    """It ends by `commit` or `abort`, or the broker aborts it `ttl_seconds` after its begin.

    `timeout_seconds` bounds each request with its repetitions. `begun` is the ID of one that began elsewhere.
    """

    def __init__(
        self,
        lookup: TopicLookup,
        *,
        ttl_seconds: float = math.inf,
        timeout_seconds: float,
        begun: TransactionId | None = None,
    ) -> None:
        """Raises `NotAllowed` if the broker has transactions disabled, or what connecting raises."""
        self._lookup = lookup
        self._timeout_seconds = timeout_seconds
        self._participants: set[tuple[str, ...]] = set()
        self._may_be_done = False  # whether the broker may have done what the last request asks for
        self._connection: BrokerConnection | None = None
        self._expires = time.monotonic() + ttl_seconds
        self.id = self._begin(ttl_seconds) if begun is None else begun

    @property
    def is_overdue(self) -> bool:
        """Whether the broker should have aborted it by now."""
        return time.monotonic() >= self._expires

    def add_partition(self, topic: str) -> None:
        """Before the first message to a topic without partitions, or to one partition. Raises `NotOpen`."""
        self._add(
            (topic,),
            lambda request_id: client_commands.add_partition(request_id, self.id, topic),
            CommandAddPartitionToTxnResponse,
        )

    def add_subscription(self, topic: str, subscription: str) -> None:
        """Before the first acknowledgment. Raises `NotOpen`."""
        self._add(
            (topic, subscription),
            lambda request_id: client_commands.add_subscription(request_id, self.id, topic, subscription),
            CommandAddSubscriptionToTxnResponse,
        )

    def commit(self) -> None:
        """Returns when it is in effect. Raises `NotOpen` if the transaction was aborted, and `OutcomeUnknown`."""
        try:
            self._end(commit=True)
        except CliError as error:
            if self._may_be_done:  # even if it is not open: Apache Pulsar forgets a transaction with its end
                raise self._unknown(error) from error
            raise

    def abort(self) -> None:
        """Returns when it is in effect. Raises `CliError` if the broker does not confirm it."""
        self._timeout_seconds = min(self._timeout_seconds, ABORT_SECONDS)
        self._end(commit=False)

    def _begin(self, ttl_seconds: float) -> TransactionId:
        ttl_ms = max(1, round(ttl_seconds * 1000))
        answer = self._ask(
            lambda request_id: client_commands.new_transaction(request_id, COORDINATOR, ttl_ms), CommandNewTxnResponse
        )
        return TransactionId(answer.txnid_most_bits, answer.txnid_least_bits)

    def _end(self, *, commit: bool) -> None:
        self._ask(
            lambda request_id: client_commands.end_transaction(request_id, self.id, commit=commit),
            CommandEndTxnResponse,
        )

    def _unknown(self, error: CliError) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"it is unknown whether transaction {self.id} was committed: {error.message}",
            hint="look whether it took effect before you run the command again",
            reason=error.reason,
        )

    def _add(self, participant: tuple[str, ...], frame_of: Callable[[int], bytes], reply: type[Answer]) -> None:
        if participant not in self._participants:
            self._ask(frame_of, reply)
            self._participants.add(participant)

    def _ask(self, frame_of: Callable[[int], bytes], reply: type[Answer]) -> Answer:
        """The answer, from any connection. Repeating a request of a transaction changes nothing."""
        deadline = time.monotonic() + self._timeout_seconds
        self._may_be_done = False
        while True:
            try:
                return self._ask_once(frame_of, reply, deadline)
            except (CannotConnect, NotReady):
                self._connection = None
                if not pause_before(deadline):
                    raise

    def _ask_once(self, frame_of: Callable[[int], bytes], reply: type[Answer], deadline: float) -> Answer:
        if self._connection is None:
            self._connection = coordinator_connection(self._lookup)
        try:
            seconds = max(deadline - time.monotonic(), 0.0)
            return self._connection.ask(frame_of, reply, topic=WHO, timeout_seconds=seconds)
        except (NotOpen, NotReady):
            raise
        except CliError:
            self._may_be_done = True
            raise


def coordinator_connection(lookup: TopicLookup) -> BrokerConnection:
    """A connection to the broker of the coordinator, which has loaded it. Raises `NotAllowed` if that is disabled."""
    try:
        if not lookup.partitions(COORDINATORS):
            raise _disabled()
        connection = lookup.connect(partition_name(COORDINATORS, COORDINATOR))
        connection.ask(
            lambda request_id: client_commands.connect_to_coordinator(request_id, COORDINATOR),
            CommandTcClientConnectResponse,
            topic=WHO,
        )
    except (NotAllowed, NotFound) as error:
        raise _disabled() from error
    return connection


def _disabled() -> NotAllowed:
    return NotAllowed(
        "cannot begin a transaction: transactions are disabled at the broker",
        hint="set transactionCoordinatorEnabled=true in the configuration of the brokers",
    )
