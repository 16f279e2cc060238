"""The events of `__change_events` as bytes: Avro in a message with the topic as its key (Pulsar, `PulsarEvent`).

The key of a policy for all clusters begins with `__G__`, as since Pulsar 4.0.6. Older versions read only the value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from broker_core.errors import InvalidValue
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.names import TopicName
from broker_core.topic.one_entry import OneEntry
from broker_core.topics.change_events.event_fields import to_event
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

GLOBAL_KEY = "__G__"
PRODUCER_NAME = "pulsarctl.global-policies"
MOST_BYTES = 128 << 10  # of the value of an event: thousands of policies, decoded in some milliseconds


class PolicyChange(NamedTuple):
    """All policies that a topic has in all clusters."""

    topic: TopicName
    policies: PolicySet


@cache
def own_schema() -> SchemaData:
    """The schema of Pulsar 4.0.7, byte for byte, so that its registry has one version of it."""
    return SchemaData(SchemaType.AVRO, files(__package__).joinpath("pulsar_event.avsc").read_bytes(), {})


def event_entry(
    change: PolicyChange, *, cluster: str, sequence_id: int, now_ms: int, schema_version: bytes
) -> OneEntry:
    """The event of this cluster. Raises `InvalidValue` for policies that do not fit into one."""
    payload = _payload(change)
    metadata = MessageMetadata(
        producer_name=f"{PRODUCER_NAME}.{cluster}",  # deduplication goes by name: clusters must not share one
        sequence_id=sequence_id,
        publish_time=now_ms,
        partition_key=f"{GLOBAL_KEY}{change.topic}",
        schema_version=schema_version,
        uncompressed_size=len(payload),
    )
    return OneEntry.of(metadata, payload)


def _payload(change: PolicyChange) -> bytes:
    topic = change.topic
    about = {
        "domain": topic.domain,
        "tenant": topic.tenant,
        "namespace": topic.namespace_local,
        "topic": topic.local,
        "policies": to_event(change.policies),
    }
    payload = _encode({"eventType": "TOPIC_POLICY", "actionType": "UPDATE", "topicPoliciesEvent": about})
    if len(payload) > MOST_BYTES:
        raise InvalidValue(f"they take {len(payload)} bytes, and {MOST_BYTES} are the maximum of an event")
    return payload


def _encode(event: Mapping[str, Any]) -> bytes:
    import fastavro  # only brokers that replicate policies need it

    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, _parsed_schema(), dict(event))
    except Exception as error:  # the library raises many types for values of another schema
        raise InvalidValue(f"a value does not fit into an event of Apache Pulsar: {error}") from error
    return out.getvalue()


@cache
def _parsed_schema() -> Any:
    import fastavro  # as above

    return fastavro.parse_schema(json.loads(own_schema().data))
