"""The events of `__change_events` as bytes: Avro in a message with the topic as its key (Pulsar, `PulsarEvent`).

The key of a policy for all clusters begins with `__G__`, as since Pulsar 4.0.6. Older versions read only the value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from broker_core.change_events.event_fields import from_event, to_event
from broker_core.errors import BrokerError, InvalidRequest
from broker_core.names import TopicName, parse_topic
from broker_core.policies.json_values import mapping, string
from broker_core.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.schema.schema_data import SchemaData
from broker_core.schema.schema_type import SchemaType
from broker_core.topic.one_entry import OneEntry
from broker_core.wire.batch import is_batch, is_encrypted, plain_payload, split_batch
from broker_core.wire.errors import EntryError
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

GLOBAL_KEY = "__G__"
PRODUCER_NAME = "pulsarctl.global-policies"
FindSchema = Callable[[bytes], bytes | None]


class PolicyChange(NamedTuple):
    """All policies that a topic has in all clusters."""

    topic: TopicName
    policies: PolicySet


class UnreadableEvent(Exception):
    """An event that means nothing here; the text says why."""


@cache
def own_schema() -> SchemaData:
    """That of Pulsar 4.0.7, byte for byte, so that its registry has one version of it."""
    return SchemaData(SchemaType.AVRO, files(__package__).joinpath("pulsar_event.avsc").read_bytes(), {})


def event_entry(change: PolicyChange, *, sequence_id: int, now_ms: int, schema_version: bytes) -> OneEntry:
    topic = change.topic
    payload = _encode(
        {
            "eventType": "TOPIC_POLICY",
            "actionType": "UPDATE",
            "topicPoliciesEvent": {
                "domain": topic.domain,
                "tenant": topic.tenant,
                "namespace": topic.namespace_local,
                "topic": topic.local,
                "policies": to_event(change.policies),
            },
        }
    )
    metadata = MessageMetadata(
        producer_name=PRODUCER_NAME,
        sequence_id=sequence_id,
        publish_time=now_ms,
        partition_key=f"{GLOBAL_KEY}{topic}",
        schema_version=schema_version,
        uncompressed_size=len(payload),
    )
    data = build_entry(metadata, payload)
    return OneEntry(data, [0], [len(data)], [1], [now_ms])


def changes_in(entry: bytes, schema_of: FindSchema) -> Iterator[PolicyChange]:
    """What an entry of another cluster says about policies for all clusters; nothing in those of this cluster.

    `schema_of` finds the definition of a schema version. Raises `UnreadableEvent`.
    """
    try:
        metadata, stored, _ = parse_entry(entry, verify=False)
        if not metadata.HasField("replicated_from"):
            return
        if is_encrypted(metadata):
            raise UnreadableEvent("it is encrypted")
        for key, value in _messages(metadata, plain_payload(metadata, stored)):
            yield from _changes(key, value, schema_of(metadata.schema_version))
    except (EntryError, BrokerError) as error:
        raise UnreadableEvent(str(error)) from error


def _messages(metadata: MessageMetadata, payload: bytes) -> Iterator[tuple[str, bytes]]:
    """Key and value of each message."""
    if not is_batch(metadata):
        yield metadata.partition_key, payload
        return
    for one in split_batch(payload, metadata.num_messages_in_batch):
        yield one.metadata.partition_key, one.payload


def _changes(key: str, value: bytes, schema: bytes | None) -> Iterator[PolicyChange]:
    if not value:  # all policies of the topic are removed
        if key.startswith(GLOBAL_KEY):
            yield PolicyChange(parse_topic(key.removeprefix(GLOBAL_KEY)).base, NOTHING_SET)
        return
    event = _decode(value, own_schema().data if schema is None else schema)
    about, action = event.get("topicPoliciesEvent"), event.get("actionType")
    if event.get("eventType") != "TOPIC_POLICY" or about is None or action == "NONE":
        return
    policies = mapping(about.get("policies") or {}, "policies")
    if not policies.get("isGlobal"):
        return
    topic = _topic(about)
    yield PolicyChange(topic, NOTHING_SET if action == "DELETE" else from_event(policies, str(topic)))


def _topic(about: Mapping[str, Any]) -> TopicName:
    domain, tenant, namespace, local = (string(about.get(name), name) for name in _PARTS)
    return parse_topic(f"{domain}://{tenant}/{namespace}/{local}").base


_PARTS = ("domain", "tenant", "namespace", "topic")


def _encode(event: Mapping[str, Any]) -> bytes:
    import fastavro  # only brokers that replicate policies need it

    out = io.BytesIO()
    fastavro.schemaless_writer(out, _parsed(own_schema().data), dict(event))
    return out.getvalue()


def _decode(value: bytes, schema: bytes) -> Mapping[str, Any]:
    import fastavro  # as above

    try:
        found = fastavro.schemaless_reader(io.BytesIO(value), _parsed(schema), None)
    except Exception as error:  # the library raises many types for bytes of another schema
        raise InvalidRequest(f"its value does not fit its schema: {error}") from error
    return mapping(found, "the event")


@lru_cache(maxsize=16)  # one for each version of the other clusters
def _parsed(schema: bytes) -> Any:
    import fastavro  # as above

    return fastavro.parse_schema(json.loads(schema))
