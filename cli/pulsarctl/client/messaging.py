"""Publishing and consuming through the official client.

Commands import this module in their functions, because it takes 60 ms. The library writes its log to descriptor 1, so
`render.guard_stdout` must precede the import. `problem` translates its errors.
"""

import contextlib
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pulsar

from pulsarctl.client.abandoned import bounded, in_background
from pulsarctl.client.client_record import ClientRecord
from pulsarctl.client.client_settings import BATCH_MESSAGES_MAX, PublishOptions, consumer_settings, producer_settings
from pulsarctl.client.lanes import Lanes
from pulsarctl.client.opening import open_client
from pulsarctl.client.publish_window import PublishWindow
from pulsarctl.client.reachability import check_answers
from pulsarctl.client.routing import Router
from pulsarctl.client.subscribe_options import Settlement, SubscribeOptions
from pulsarctl.encryption.decryption import not_decrypted
from pulsarctl.errors import CannotConnect, CliError, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem
from pulsarctl.settings.settings import Settings
from pulsarctl.values.message_ids import LATEST, MessageId

CLOSE_SECONDS = 0.5
IN_ORDER = ("exclusive", "failover")  # subscription types that allow cumulative acknowledgment

# The client's errors and results as errors of a command.
_KINDS: dict[str, type[CliError]] = {
    "AuthenticationError": NotAuthorized,
    "AuthorizationError": NotAuthorized,
    "ConnectError": CannotConnect,
    "ConsumerBusy": Conflict,
    "IncompatibleSchema": Conflict,
    "InvalidTopicName": UsageProblem,
    "InvalidUrl": UsageProblem,
    "NotConnected": CannotConnect,
    "ProducerBusy": Conflict,
    "ProducerFenced": Conflict,
    "SubscriptionNotFound": NotFound,
    "Timeout": TimedOut,
    "TopicNotFound": NotFound,
    "TopicTerminated": Conflict,
}
_QUOTA_EXCEEDED = "the backlog quota is exceeded; wait until a subscription catches up"
_WORDS = {
    "AuthenticationError": "the broker does not accept the credentials",
    "AuthorizationError": "not authorized",
    "CryptoError": "the encryption key cannot be used; it must be an RSA key in PEM form",
    "BrokerPersistenceError": "the broker cannot write (disk full or failed)",
    "ConnectError": "no connection to the broker",
    "ConsumerBusy": "the subscription has another consumer, and its type allows only one",
    "IncompatibleSchema": "the schema is not compatible with the topic's, or the topic requires one",
    "InvalidTopicName": "the topic name is not valid",
    "NotAllowedError": "the broker does not allow or support it",
    "NotConnected": "the connection to the broker is lost",
    "ProducerBlockedQuotaExceededError": _QUOTA_EXCEEDED,
    "ProducerBlockedQuotaExceededException": _QUOTA_EXCEEDED,
    "ProducerBusy": "another producer has this name",
    "Timeout": "the broker did not answer in time",
    "TopicNotFound": "the topic or its namespace does not exist",
    "TopicTerminated": "the topic is terminated",
}


class Messaging:
    """The client of one command. `timeout_seconds` bounds each of its requests."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        self._settings = settings
        check_answers(settings, timeout_seconds)
        self._client = open_client(
            settings, settings.service_url, timeout_seconds, pulsar.ConsoleLogger(_log_level(settings.log_level))
        )

    def partitions(self, topic: str, what: str = "") -> list[str]:
        """The names of the topic's partitions, or of the topic itself if it has none. `what` is for errors."""
        with self._translated(what or f"look up {topic}"):
            return [str(name) for name in self._client.get_topic_partitions(topic)]

    def publisher(self, topic: str, options: PublishOptions) -> "Publisher":
        names = self.partitions(topic, f"produce to {topic}")
        turn_messages = BATCH_MESSAGES_MAX if options.batching else 1
        first = random.randrange(len(names))  # noqa: S311  # spreads the load, and is no secret
        router = Router(len(names), turn_messages, first)
        settings = producer_settings(options)

        def open_producer(partition: int) -> Any:
            with self._translated(f"produce to {names[partition]}"):
                return self._client.create_producer(names[partition], **settings)

        return Publisher(
            topic, Lanes(len(names), open_producer, size_is_final=options.compression == "none"), router, options
        )

    def subscriber(self, topic: str, options: SubscribeOptions) -> "Subscriber":
        name: Any = re.compile(topic) if options.pattern_mode else topic
        with self._translated(f"subscribe to {topic} as '{options.subscription}'"):
            consumer = self._client.subscribe(name, options.subscription, **consumer_settings(options))
        return Subscriber(consumer, options)

    def producer(self, topic: str, options: PublishOptions) -> Any:
        """A producer of the official client for all partitions; the caller bounds its pending messages."""
        settings = producer_settings(options)
        settings["max_pending_messages_across_partitions"] = max(50_000, options.pending_messages_max)
        with self._translated(f"produce to {topic}"):
            return self._client.create_producer(topic, **settings)

    def reader(self, topic: str, start: MessageId = LATEST, queue_size: int = 1000) -> "TopicReader":
        """A reader of one partition that begins at `start`, without a durable subscription."""
        place = pulsar.MessageId(start.partition, start.ledger_id, start.entry_id, start.batch_index)
        with self._translated(f"read {topic}"):
            reader = self._client.create_reader(
                topic, place, receiver_queue_size=queue_size, start_message_id_inclusive=not start.is_end
            )
        return TopicReader(reader)

    def close(self) -> None:
        """Sends pending acknowledgments and closes the connections.

        Messages fetched ahead return to the broker, which has half a second to answer.
        """
        bounded(_quietly(self._client.close), CLOSE_SECONDS)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, what, self._settings.service_url) from error


class Publisher:
    """Publishes to one topic, within the windows of its lanes."""

    def __init__(self, topic: str, lanes: Lanes, router: Router, options: PublishOptions) -> None:
        self.lanes = lanes
        self.is_refused = False  # whether any message was refused; `lanes.refusal` has the first
        self._topic = topic
        self._router = router
        self._fields = {
            "properties": dict(options.properties) or None,
            "ordering_key": options.ordering_key,
            "event_timestamp": options.event_time_ms or None,
            "deliver_at": options.deliver_at_ms or None,
            "disable_replication": options.disable_replication,
        }

    def send(self, value: bytes | None, key: str | None = None) -> None:
        """Sends one message; None is a tombstone. Waits for room in the window; Ctrl-C interrupts the wait.

        Also returns if a message was refused, so check `is_refused`.
        """
        lane = self.lanes.lane(self._router.partition_for(key))
        window = lane.window
        size = 0 if value is None else len(value)
        done = None
        if window.hand_in(size):
            done = partial(self._settle, window, window.sent, size, window.sent_bytes)
        try:
            lane.producer.send_async(value, done, partition_key=key, **self._fields)
        except pulsar.PulsarException as error:
            self._refuse(window, window.sent, size, type(error).__name__)
        if done is not None:
            window.wait_for_room()

    def finish(self) -> None:
        """Waits for the results of all messages; `lanes` then has the exact counts."""
        errors: list[str] = []
        flushing = in_background(partial(self._flush, errors))
        while flushing.is_alive():  # a single join would block Ctrl-C; the send timeout ends the flush
            flushing.join(0.5)
        for lane in self.lanes.open:
            lane.settle_exactly()
            window = lane.window
            if window.refusal is None and window.acknowledged < window.sent:
                self._refuse(window, window.acknowledged + 1, 0, errors[0] if errors else "UnknownError")

    def problem(self, result: str, what: str) -> CliError:
        """The error for a refusal's `result`."""
        return problem(result, what, self._topic)

    def _flush(self, errors: list[str]) -> None:
        for lane in self.lanes.open:
            try:
                lane.producer.flush()
            except pulsar.PulsarException as error:
                errors.append(type(error).__name__)

    def _settle(
        self, window: PublishWindow, position: int, size: int, sent_bytes: int, result: Any, _message_id: Any
    ) -> None:
        if result == pulsar.Result.Ok:
            window.settle(position, size, sent_bytes, None)
        else:
            self._refuse(window, position, size, result.name)

    def _refuse(self, window: PublishWindow, position: int, size: int, result: str) -> None:
        window.settle(position, size, 0, result)
        self.is_refused = True


class TopicReader:
    """Reads one partition. Acknowledges nothing."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def payload(self, timeout_ms: int) -> bytes | None:
        """The next message, or None after `timeout_ms`."""
        try:
            return bytes(self._reader.read_next(timeout_ms).data())
        except pulsar.Timeout:
            return None

    def receive(self, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        """Up to `count_max` records. Waits only for the first, and returns none after `timeout_ms`."""
        records: list[ClientRecord] = []
        try:
            while len(records) < count_max:
                records.append(ClientRecord(self._reader.read_next(0 if records else timeout_ms)))
        except pulsar.Timeout:
            pass
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "read the next message", "") from error
        return records

    def has_more(self) -> bool:
        """Whether the partition has messages after the last one that was read."""
        try:
            return bool(self._reader.has_message_available())
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "ask for the last message", "") from error

    def is_connected(self) -> bool:
        return bool(self._reader.is_connected())


class Subscriber:
    """One consumer of the official client. `discarded` counts messages that cannot be decrypted.

    Where the order allows it, it acknowledges cumulatively, because acknowledging each message takes the client three
    times as long as receiving it.
    """

    def __init__(self, consumer: Any, options: SubscribeOptions) -> None:
        settlement = options.settlement
        self._consumer = consumer
        self._options = options
        self._problem: CliError | None = None  # a message that cannot be decrypted follows
        self.discarded = 0
        self._in_order = options.subscription_type in IN_ORDER and settlement is Settlement.ACKNOWLEDGE
        self._settle = (
            consumer.acknowledge_cumulative
            if self._in_order
            else {
                Settlement.ACKNOWLEDGE: consumer.acknowledge,
                Settlement.GIVE_BACK: consumer.negative_acknowledge,
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
        try:
            while self._problem is None and len(records) < count_max:
                message = receive(wait)
                wait = 0
                if message.encryption_context() is None or self._is_readable(message):
                    records.append(ClientRecord(message))
        except pulsar.Timeout:
            pass
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "receive the next message", "") from error
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
            found = ClientRecord(message)
            place = f"{found.ledger_id}:{found.entry_id}"
            self._problem = not_decrypted(found.topic, place, names, has_key=has_key)
        return False

    def is_connected(self) -> bool:
        return bool(self._consumer.is_connected())

    def last_position(self) -> tuple[int, int, int]:
        """Ledger, entry and batch index of the partition's last message; the entry is -1 if there is none."""
        try:
            last = self._consumer.get_last_message_id()
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "ask for the last message", "") from error
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
        bounded(_quietly(self._consumer.unsubscribe), CLOSE_SECONDS)

    def _seek(self, where: Any) -> None:
        try:
            self._consumer.seek(where)
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "seek", "") from error


def _last_of_each_topic(records: list[ClientRecord]) -> list[ClientRecord]:
    return list({record.topic: record for record in records}.values())


def _quietly(act: Callable[[], None]) -> Callable[[], None]:
    """For closing: ignores errors, because a lost connection is closed, too."""

    def closing() -> None:
        with contextlib.suppress(pulsar.PulsarException):
            act()

    return closing


def problem(result: str, what: str, request: str) -> CliError:
    """The error for one of the client's results."""
    return _KINDS.get(result, CliError)(
        f"cannot {what}: {_WORDS.get(result, result)}", reason=result, request=request or None
    )


def _log_level(name: str) -> Any:
    levels = pulsar.LoggerLevel
    known = {"debug": levels.Debug, "info": levels.Info, "warn": levels.Warn, "error": levels.Error}
    if name.lower() not in known:
        raise UsageProblem(f"unknown log level '{name}'", hint=f"use one of {', '.join(known)}")
    return known[name.lower()]
