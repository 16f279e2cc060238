"""Publishing and consuming through the official client: the only file that knows which client library is used.

It is imported by the commands that need it, inside them (60 ms). The library writes its log to descriptor 1, whatever
stdout is wanted for: `render.guard_stdout` is called before it is loaded. Its errors become ours in `_problem`.
"""

import contextlib
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any

import pulsar

from pulsarctl.client.abandoned import bounded, in_background
from pulsarctl.client.client_record import ClientRecord
from pulsarctl.client.client_settings import BATCH_MESSAGES_MAX, PublishOptions, consumer_settings, producer_settings
from pulsarctl.client.lanes import Lanes
from pulsarctl.client.publish_window import PublishWindow
from pulsarctl.client.reachability import check_answers
from pulsarctl.client.routing import Router
from pulsarctl.client.subscribe_options import Settlement, SubscribeOptions
from pulsarctl.errors import CannotConnect, CliError, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem
from pulsarctl.settings import credentials
from pulsarctl.settings.settings import Settings

CLOSE_SECONDS = 0.5
IN_ORDER = ("exclusive", "failover")  # subscription types that may be acknowledged up to a message

# What the client's errors and results mean to the person who typed the command.
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
_QUOTA_EXCEEDED = "the backlog quota is exceeded; a subscription has to catch up first"
_WORDS = {
    "AuthenticationError": "the broker does not accept the credentials",
    "AuthorizationError": "not authorized",
    "BrokerPersistenceError": "the broker cannot write (disk full or failed)",
    "ConnectError": "no connection to the broker",
    "ConsumerBusy": "the subscription has another consumer, and its type allows only one",
    "IncompatibleSchema": "the schema may not follow the topic's, or the topic wants one",
    "InvalidTopicName": "the topic name is not valid",
    "NotAllowedError": "the broker refuses it as not allowed or not supported",
    "NotConnected": "the connection to the broker is lost",
    "ProducerBlockedQuotaExceededError": _QUOTA_EXCEEDED,
    "ProducerBlockedQuotaExceededException": _QUOTA_EXCEEDED,
    "ProducerBusy": "another producer has this name",
    "Timeout": "no answer from the broker in time",
    "TopicNotFound": "the topic or its namespace does not exist",
    "TopicTerminated": "the topic is terminated",
}


class Messaging:
    """The client of one command. `timeout_seconds` bounds each of its requests."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        self._settings = settings
        check_answers(settings, timeout_seconds)
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
        return Subscriber(consumer, options.settlement, in_order=options.subscription_type in IN_ORDER)

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
    """One consumer of the official client.

    `in_order`: one acknowledgement covers everything before it. That of each message alone costs the client three times
    what receiving the message does.
    """

    def __init__(self, consumer: Any, settlement: Settlement, *, in_order: bool) -> None:
        self._consumer = consumer
        self._in_order = in_order and settlement is Settlement.ACKNOWLEDGE
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

    def settle(self, records: list[ClientRecord]) -> None:
        """A lost acknowledgement means that the message comes again, so a lost connection is no error here."""
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
