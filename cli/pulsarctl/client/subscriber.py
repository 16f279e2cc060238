"""Consuming through the official client."""

import contextlib
from typing import Any

import pulsar

from pulsarctl.client.client_record import ClientRecord
from pulsarctl.client.closing import close_in_time
from pulsarctl.client.native_log import NativeLog
from pulsarctl.client.subscribe_options import Settlement, SubscribeOptions
from pulsarctl.encryption.decryption import not_decrypted
from pulsarctl.errors import CliError
from pulsarctl.values.message_ids import MessageId

IN_ORDER = ("exclusive", "failover")  # subscription types that allow cumulative acknowledgment


class Subscriber:
    """One consumer of the official client. `discarded` counts messages that cannot be decrypted.

    Where the order allows it, it acknowledges cumulatively, because acknowledging each message takes the client three
    times as long as receiving it.
    """

    def __init__(self, consumer: Any, options: SubscribeOptions, log: NativeLog) -> None:
        settlement = options.settlement
        self._consumer = consumer
        self._log = log
        self._options = options
        self._problem: CliError | None = None  # a message that cannot be decrypted follows
        self.discarded = 0
        self._in_order = options.subscription_type in IN_ORDER and settlement is Settlement.ACKNOWLEDGE
        self._settle = (
            consumer.acknowledge_cumulative
            if self._in_order
            else {
                Settlement.ACKNOWLEDGE: consumer.acknowledge,
                Settlement.NACK: consumer.negative_acknowledge,
                Settlement.LEAVE: None,
            }[settlement]
        )

    def receive(self, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        """Up to `count_max` records. Waits only for the first, and returns none after `timeout_ms`.

        Raises `NotDecrypted` at a message that cannot be decrypted, after the records before it.
        """
        receive = self._consumer.receive
        records: list[ClientRecord] = []
        wait = timeout_ms
        with self._log.translated("receive the next message"), contextlib.suppress(pulsar.Timeout):
            while self._problem is None and len(records) < count_max:
                message = receive(wait)
                wait = 0
                record = ClientRecord(message)
                if self._options.compacted and record.is_empty_slot:
                    self._pass_over(message)
                elif message.encryption_context() is None or self._is_readable(message):
                    records.append(record)
        if not records:
            self._log.bound()
        if self._problem is not None and not records:
            raise self._problem
        return records

    def _is_readable(self, message: Any) -> bool:
        context = message.encryption_context()
        action = self._options.crypto_failure_action
        if not context.is_decryption_failed() or action == "consume":
            return True
        if action == "discard":
            self.discarded += 1
            self._consumer.acknowledge(message)
        else:
            names = [key.key for key in context.keys()]  # noqa: SIM118  # a method of the client, and no dictionary
            has_key = self._options.decryption_key_path is not None
            record = ClientRecord(message)
            place = f"{record.ledger_id}:{record.entry_id}"
            self._problem = not_decrypted(record.topic, place, names, has_key=has_key)
        return False

    def _pass_over(self, message: Any) -> None:
        """Acknowledges only this message, because earlier ones may not be printed yet."""
        if self._options.settlement is Settlement.ACKNOWLEDGE:
            self._consumer.acknowledge(message)

    def is_connected(self) -> bool:
        return bool(self._consumer.is_connected())

    def last_position(self) -> tuple[int, int, int]:
        """Ledger, entry and batch index of the partition's last message; the entry is -1 if there is none."""
        with self._log.translated("ask for the last message"):
            last = self._consumer.get_last_message_id()
        return last.ledger_id(), last.entry_id(), last.batch_index()

    def seek_to_message(self, target: MessageId) -> None:
        self._seek(pulsar.MessageId(target.partition, target.ledger_id, target.entry_id, target.batch_index))

    def seek_to_time(self, publish_time_ms: int) -> None:
        self._seek(publish_time_ms)

    def settle(self, records: list[ClientRecord]) -> None:
        """A lost connection is not an error here: the broker redelivers unacknowledged messages."""
        if self._settle is None:
            return
        with contextlib.suppress(pulsar.AlreadyClosed, pulsar.NotConnected):
            for record in _last_of_each_topic(records) if self._in_order else records:
                self._settle(record.message)

    def unsubscribe(self) -> None:
        """Deletes the subscription, if the broker answers within half a second."""
        close_in_time(self._consumer.unsubscribe)

    def _seek(self, where: Any) -> None:
        with self._log.translated("seek"):
            self._consumer.seek(where)


def _last_of_each_topic(records: list[ClientRecord]) -> list[ClientRecord]:
    return list({record.topic: record for record in records}.values())
