"""Publishing and consuming through the official client: the only file that knows which client library is used.

It is imported by the commands that need it, inside them (60 ms). The library writes its log to descriptor 1, whatever
stdout is wanted for: `render.guard_stdout` is called before it is loaded. Its errors become ours in `_problem`.
"""

import contextlib
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any

import pulsar

from pulsarctl import credentials
from pulsarctl.abandoned import bounded, in_background
from pulsarctl.client_record import ClientRecord
from pulsarctl.errors import CannotConnect, CliError, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem
from pulsarctl.lanes import Lanes
from pulsarctl.publish_window import PENDING_MESSAGES_MAX, PublishWindow
from pulsarctl.reachability import check_reachable
from pulsarctl.routing import Router
from pulsarctl.settings import Settings
from pulsarctl.subscribing import SubscribeOptions

CLOSE_SECONDS = 0.5
BATCH_MESSAGES_MAX = 1000
BATCH_BYTES_MAX = 128 * 1024
BATCH_DELAY_MS = 5

# What the client's errors and results mean to the person who typed the command.
_KINDS: dict[str, type[CliError]] = {
    "AuthenticationError": NotAuthorized,
    "AuthorizationError": NotAuthorized,
    "ConnectError": CannotConnect,
    "ConsumerBusy": Conflict,
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
_WORDS = {
    "AuthenticationError": "the broker does not accept the credentials",
    "AuthorizationError": "not authorized",
    "BrokerPersistenceError": "the broker cannot write (disk full or failed)",
    "ConnectError": "no connection to the broker",
    "ConsumerBusy": "the subscription has another consumer, and its type allows only one",
    "InvalidTopicName": "the topic name is not valid",
    "NotAllowedError": "the broker refuses it as not allowed or not supported",
    "NotConnected": "the connection to the broker is lost",
    "ProducerBusy": "another producer has this name",
    "Timeout": "no answer from the broker in time",
    "TopicNotFound": "the topic or its namespace does not exist",
    "TopicTerminated": "the topic is terminated",
}


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """Times are milliseconds. `event_time_ms` and `deliver_at_ms` 0: none."""

    properties: Mapping[str, str] = field(default_factory=dict)
    ordering_key: str | None = None
    event_time_ms: int = 0
    deliver_at_ms: int = 0
    compression: str = "none"
    batching: bool = True
    chunking: bool = False
    disable_replication: bool = False
    producer_name: str | None = None
    encryption_key_name: str | None = None
    encryption_key_path: str | None = None
    send_timeout_ms: int = 30_000


class Messaging:
    """The client of one command. `timeout_seconds` bounds each of its requests."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        self._settings = settings
        check_reachable(settings.service_url, settings.origin("service_url"), timeout_seconds)
        self._client = pulsar.Client(
            settings.service_url,
            authentication=_authentication(settings),
            operation_timeout_seconds=max(1, ceil(timeout_seconds)),
            connection_timeout_ms=max(1, round(timeout_seconds * 1000)),
            tls_trust_certs_file_path=settings.tls_trust_cert_path,
            tls_allow_insecure_connection=settings.tls_allow_insecure,
            tls_validate_hostname=settings.tls_verify_hostname,
            tls_certificate_file_path=settings.tls_cert_file,
            tls_private_key_file_path=settings.tls_key_file,
            logger=pulsar.ConsoleLogger(_log_level(settings.log_level)),
        )

    def partitions(self, topic: str, what: str = "") -> list[str]:
        """Names of the topic's partitions; of a topic without partitions its own. `what` for is said in errors."""
        with self._translated(what or f"look up {topic}"):
            return [str(name) for name in self._client.get_topic_partitions(topic)]

    def publisher(self, topic: str, options: PublishOptions) -> "Publisher":
        names = self.partitions(topic, f"produce to {topic}")
        turn_messages = BATCH_MESSAGES_MAX if options.batching else 1
        router = Router(len(names), turn_messages, first=random.randrange(len(names)))
        settings = _producer_settings(options)

        def open_producer(partition: int) -> Any:
            with self._translated(f"produce to {names[partition]}"):
                return self._client.create_producer(names[partition], **settings)

        return Publisher(
            topic, Lanes(len(names), open_producer, size_is_final=options.compression == "none"), router, options
        )

    def subscriber(self, topic: str, options: SubscribeOptions) -> "Subscriber":
        name: Any = re.compile(topic) if options.is_pattern else topic
        with self._translated(f"subscribe to {topic} as '{options.subscription}'"):
            consumer = self._client.subscribe(name, options.subscription, **_consumer_settings(options))
        return Subscriber(consumer)

    def close(self) -> None:
        """Sends the acknowledgements that the client still collects and ends the connections.

        Messages fetched ahead go back to the broker, which has half a second to answer.
        """
        bounded(_quietly(self._client.close), CLOSE_SECONDS)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, what, self._settings.service_url) from error


class Publisher:
    """Publishes to one topic, as many messages at a time as the windows of its lanes allow."""

    def __init__(self, topic: str, lanes: Lanes, router: Router, options: PublishOptions) -> None:
        self.lanes = lanes
        self.is_refused = False  # a message was; `lanes.refusal` says which
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
        """Hands in one message; None is a tombstone. Waits for room; Ctrl-C interrupts the wait.

        Returns as well when some message was refused: look at `is_refused`.
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
        """Waits for the broker's answer to everything handed in; `lanes` then has the exact counts."""
        errors: list[str] = []
        flushing = in_background(partial(self._flush, errors))
        while flushing.is_alive():  # a join in one piece would not see Ctrl-C; the send timeout ends the flush
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


class Subscriber:
    """One consumer of the official client."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def receive(self, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        """Up to `count_max` records: waits for the first, takes what else is there. Empty after `timeout_ms`."""
        receive = self._consumer.receive
        records: list[ClientRecord] = []
        try:
            records.append(ClientRecord(receive(timeout_ms)))
            while len(records) < count_max:
                records.append(ClientRecord(receive(0)))
        except pulsar.Timeout:
            pass
        return records

    def last_position(self) -> tuple[int, int, int]:
        """Ledger, entry and batch index of the partition's last message; entry -1 when there is none."""
        try:
            last = self._consumer.get_last_message_id()
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "ask for the last message", "") from error
        return last.ledger_id(), last.entry_id(), last.batch_index()

    def seek_to_message(self, ledger_id: int, entry_id: int, partition: int, batch_index: int) -> None:
        self._seek(pulsar.MessageId(partition, ledger_id, entry_id, batch_index))

    def seek_to_time(self, publish_time_ms: int) -> None:
        self._seek(publish_time_ms)

    def acknowledge(self, records: list[ClientRecord]) -> None:
        """A lost acknowledgement means that the message comes again, so a lost connection is no error here."""
        acknowledge = self._consumer.acknowledge
        try:
            for record in records:
                acknowledge(record.message)
        except (pulsar.AlreadyClosed, pulsar.NotConnected):
            return

    def unsubscribe(self) -> None:
        """Deletes the subscription, if the broker answers within half a second."""
        bounded(_quietly(self._consumer.unsubscribe), CLOSE_SECONDS)

    def _seek(self, where: Any) -> None:
        try:
            self._consumer.seek(where)
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "seek", "") from error


def _quietly(act: Callable[[], None]) -> Callable[[], None]:
    """For closing: what is closed already, or has nobody there to close it with, is closed."""

    def closing() -> None:
        with contextlib.suppress(pulsar.PulsarException):
            act()

    return closing


def problem(result: str, what: str, request: str) -> CliError:
    """The client's word for what went wrong as an error of ours."""
    return _KINDS.get(result, CliError)(
        f"cannot {what}: {_WORDS.get(result, result)}", reason=result, request=request or None
    )


def _authentication(settings: Settings) -> Any:
    token = credentials.token(settings)
    if token:
        return pulsar.AuthenticationToken(token)
    if settings.auth_plugin:
        return pulsar.Authentication(settings.auth_plugin, settings.auth_params or "")
    if settings.tls_cert_file and settings.tls_key_file:
        return pulsar.AuthenticationTLS(settings.tls_cert_file, settings.tls_key_file)
    return None


def _log_level(name: str) -> Any:
    levels = pulsar.LoggerLevel
    known = {"debug": levels.Debug, "info": levels.Info, "warn": levels.Warn, "error": levels.Error}
    if name.lower() not in known:
        raise UsageProblem(f"there is no log level '{name}'", hint=f"one of {', '.join(known)}")
    return known[name.lower()]


def _producer_settings(options: PublishOptions) -> dict[str, Any]:
    compression = {
        "none": pulsar.CompressionType.NONE,
        "lz4": pulsar.CompressionType.LZ4,
        "zlib": pulsar.CompressionType.ZLib,
        "zstd": pulsar.CompressionType.ZSTD,
        "snappy": pulsar.CompressionType.SNAPPY,
    }
    settings: dict[str, Any] = {
        "producer_name": options.producer_name,
        "send_timeout_millis": options.send_timeout_ms,
        "compression_type": compression[options.compression],
        "max_pending_messages": 2 * PENDING_MESSAGES_MAX,  # `PublishWindow` keeps us below it
        "batching_enabled": options.batching and not options.chunking,
        "batching_max_messages": BATCH_MESSAGES_MAX,
        "batching_max_allowed_size_in_bytes": BATCH_BYTES_MAX,
        "batching_max_publish_delay_ms": BATCH_DELAY_MS,
        "chunking_enabled": options.chunking,
    }
    if options.encryption_key_name and options.encryption_key_path:
        settings["encryption_key"] = options.encryption_key_name
        settings["crypto_key_reader"] = pulsar.CryptoKeyReader(options.encryption_key_path, "")
    return settings


def _consumer_settings(options: SubscribeOptions) -> dict[str, Any]:
    types = {
        "exclusive": pulsar.ConsumerType.Exclusive,
        "shared": pulsar.ConsumerType.Shared,
        "failover": pulsar.ConsumerType.Failover,
        "key_shared": pulsar.ConsumerType.KeyShared,
    }
    position = pulsar.InitialPosition.Earliest if options.from_earliest else pulsar.InitialPosition.Latest
    settings: dict[str, Any] = {
        "consumer_type": types[options.subscription_type],
        "initial_position": position,
        "receiver_queue_size": options.queue_size,
        "properties": dict(options.properties) or None,
        "replicate_subscription_state_enabled": options.replicated,
        "is_read_compacted": options.compacted,
        "max_pending_chunked_message": options.max_chunked_messages or 10,
        "auto_ack_oldest_chunked_message_on_queue_full": options.ack_oldest_chunked,
        "start_message_id_inclusive": True,  # a seek to a message means that message, too
    }
    if options.crypto_failure_action != "fail":
        settings["crypto_failure_action"] = pulsar.ConsumerCryptoFailureAction.__members__[
            options.crypto_failure_action.upper()
        ]
    if options.decryption_key_path:
        settings["crypto_key_reader"] = pulsar.CryptoKeyReader("", options.decryption_key_path)
    return settings
