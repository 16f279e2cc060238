"""Reads the events of other clusters. Nothing in them is trusted: what cannot be read is reported and skipped."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from broker_core.errors import BrokerError, InvalidRequest
from broker_core.metadata.policies.json_values import mapping, string
from broker_core.metadata.policies.policy_set import NOTHING_SET
from broker_core.names import NamespaceName, TopicName, parse_topic
from broker_core.topics.change_events.event_fields import from_event
from broker_core.topics.change_events.policy_event import GLOBAL_KEY, MOST_BYTES, PolicyChange, own_schema
from broker_core.topics.change_events.writer_schema import checked_schema
from broker_core.wire.batch import is_batch, is_encrypted, plain_payload, split_batch
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

MOST_ENTRY_BYTES = 2 * MOST_BYTES  # with the metadata
MOST_MESSAGES = 100  # of a batch; Pulsar sends its events one by one

FindSchema = Callable[[bytes], bytes | None]
Report = Callable[[str], None]


class UnreadableEvent(Exception):
    """An event that is skipped; the text says why."""


class EventReader:
    """`clusters`: the other ones of the namespace; `schema_of` finds the definition of a schema version."""

    def __init__(
        self, namespace: NamespaceName, clusters: Callable[[], Collection[str]], schema_of: FindSchema
    ) -> None:
        self._namespace = namespace
        self._clusters = clusters
        self._schema_of = schema_of

    def changes(self, entry: bytes, report: Report) -> list[PolicyChange]:
        """The policies for all clusters in an entry of another cluster; none for an entry of this cluster.

        `report` gets the reason for each message or policy that is skipped.
        """
        changes: list[PolicyChange] = []
        messages: list[_Message] = []
        with _reported(report):
            messages = self._messages(entry)
        for message in messages:
            with _reported(report):
                changes += self._changes(message, report)
        return changes

    def _messages(self, entry: bytes) -> list[_Message]:
        if len(entry) > MOST_ENTRY_BYTES:
            raise UnreadableEvent(f"its entry has {len(entry)} bytes, and {MOST_ENTRY_BYTES} are the maximum")
        metadata, stored, _ = parse_entry(entry, verify=False)
        if not metadata.HasField("replicated_from"):
            return []
        if metadata.replicated_from not in self._clusters():
            raise UnreadableEvent(f"the namespace is not replicated with its cluster {metadata.replicated_from!r:.80}")
        if is_encrypted(metadata):
            raise UnreadableEvent("it is encrypted")
        if metadata.num_messages_in_batch > MOST_MESSAGES:
            raise UnreadableEvent(f"it is a batch of more than {MOST_MESSAGES} messages")
        return list(_split(metadata, _payload(metadata, stored)))

    def _changes(self, message: _Message, report: Report) -> Iterator[PolicyChange]:
        for change in _changes(message, self._schema_of, report):
            if change.topic.namespace != self._namespace:  # its producer needed no permission for others
                raise UnreadableEvent(f"it is about {change.topic}, which is in another namespace")
            yield change


class _Message(NamedTuple):
    key: str
    value: bytes
    schema_version: bytes


@contextlib.contextmanager
def _reported(report: Report) -> Iterator[None]:
    """Reports any error in the block: it comes from the bytes, which can be anything."""
    try:
        yield
    except Exception as error:
        report(str(error) or type(error).__name__)


def _payload(metadata: MessageMetadata, stored: bytes) -> bytes:
    payload = plain_payload(metadata, stored, MOST_BYTES)
    if len(payload) > MOST_BYTES:
        raise UnreadableEvent(f"it has {len(payload)} bytes, and {MOST_BYTES} are the maximum")
    return payload


def _split(metadata: MessageMetadata, payload: bytes) -> Iterator[_Message]:
    if not is_batch(metadata):
        yield _Message(metadata.partition_key, payload, metadata.schema_version)
        return
    for message in split_batch(payload, metadata.num_messages_in_batch):
        yield _Message(message.metadata.partition_key, message.payload, metadata.schema_version)


def _changes(message: _Message, schema_of: FindSchema, report: Report) -> Iterator[PolicyChange]:
    if not message.value:  # all policies of the topic are removed
        if message.key.startswith(GLOBAL_KEY):
            yield PolicyChange(parse_topic(string(message.key.removeprefix(GLOBAL_KEY), "its key")).base, NOTHING_SET)
        return
    schema = schema_of(message.schema_version)
    event = _decode(message.value, own_schema().data if schema is None else schema)
    if event.get("eventType") == "TOPIC_POLICY" and event.get("topicPoliciesEvent") is not None:
        yield from _of_event(event, report)


def _of_event(event: Mapping[str, Any], report: Report) -> Iterator[PolicyChange]:
    about, action = mapping(event["topicPoliciesEvent"], "topicPoliciesEvent"), event.get("actionType")
    policies = mapping(about.get("policies") or {}, "policies")
    if action == "NONE" or not policies.get("isGlobal"):
        return

    def on_bad(name: str, error: BrokerError) -> None:
        report(f"its policy {name} cannot be used: {error}")

    yield PolicyChange(_topic(about), NOTHING_SET if action == "DELETE" else from_event(policies, on_bad))


def _topic(about: Mapping[str, Any]) -> TopicName:
    domain, tenant, namespace, local = (string(about.get(name), name) for name in _PARTS)
    return parse_topic(f"{domain}://{tenant}/{namespace}/{local}").base


_PARTS = ("domain", "tenant", "namespace", "topic")


def _decode(value: bytes, schema: bytes) -> Mapping[str, Any]:
    import fastavro  # only brokers that replicate policies need it

    parsed = _parsed(schema)
    try:
        event = fastavro.schemaless_reader(io.BytesIO(value), parsed, None)
    except Exception as error:  # the library raises many types for bytes of another schema
        raise InvalidRequest(f"its value does not fit its schema: {error}") from error
    return mapping(event, "the event")


@lru_cache(maxsize=16)  # one for each version of the other clusters
def _parsed(schema: bytes) -> Any:
    import fastavro  # as above

    return fastavro.parse_schema(checked_schema(schema))
