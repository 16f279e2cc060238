"""Topics of gigabytes, published as ready batches: the official client would take longer than what is measured."""

from __future__ import annotations

import random

from broker_core.wire.batch import BatchMessage, join_batch
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata, SingleMessageMetadata
from pulsarctl.raw.entry_sender import EntrySender
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.values.clock import now_ms

TIMEOUT_SECONDS = 60.0
DIFFERENT_BATCHES = 20  # each is sent again and again; values are random, so that compression finds nothing


def publish(service_url: str, topic: str, *, batches: int, messages: int, value_bytes: int) -> None:
    """`topic` is a full name. Keys are those of 1,000 customers."""
    chance = random.Random(1)
    payloads = [payload(chance, messages, value_bytes) for _ in range(DIFFERENT_BATCHES)]
    lookup = TopicLookup(service_url, timeout_seconds=TIMEOUT_SECONDS)
    sender = EntrySender(lookup, topic, "bench")
    for number in range(batches):
        metadata = MessageMetadata(producer_name="bench", sequence_id=number * messages, publish_time=now_ms())
        metadata.num_messages_in_batch = messages
        sender.send(metadata, build_entry(metadata, payloads[number % DIFFERENT_BATCHES]))
    sender.flush()
    sender.close()
    lookup.close()


def payload(chance: random.Random, messages: int, value_bytes: int) -> bytes:
    """The payload of a batch."""
    keys = [SingleMessageMetadata(partition_key=f"customer-{chance.randrange(1000)}") for _ in range(messages)]
    return join_batch([BatchMessage(key, chance.randbytes(value_bytes)) for key in keys])
