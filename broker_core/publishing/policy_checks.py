"""Checks producers and messages against a topic's policies: encryption, size, and delivery delay.

PRODUCER calls `check_producer`. SEND asks `needs_entry_checks` for a whole run, and only then `entry_refusal` for each
entry, so that a topic without such policies pays nothing per message. Messages with a delivery time arrive one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, MetadataFailed, NotAllowed
from broker_core.wire.message import parse_metadata

if TYPE_CHECKING:
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.wire.send import SendRun


def may_refuse(policies: TopicPolicies) -> bool:
    """Whether any message can be refused, so that a topic without such policies publishes without checks."""
    return policies.encryption_required or policies.max_message_size > 0


def needs_entry_checks(run: SendRun, policies: TopicPolicies) -> bool:
    """Whether an entry of the run may be refused. A run that fits the size limit has no entry that exceeds it."""
    return policies.encryption_required or 0 < policies.max_message_size < run.ends[-1] - run.starts[0]


def entry_refusal(run: SendRun, index: int, policies: TopicPolicies) -> BrokerError | None:
    """The reason why entry `index` of a run must not be stored; None if it may. The order is Pulsar's.

    Without its own size limit a topic takes what fits into a frame.
    """
    if policies.encryption_required and not parse_metadata(run.entry(index)).encryption_keys:
        return MetadataFailed("Messages must be encrypted")
    size, limit = run.ends[index] - run.starts[index], policies.max_message_size
    if 0 < limit < size and run.chunk is None:  # clients choose the size of chunks
        return NotAllowed(f"Exceed maximum message size: {size} bytes, allowed are {limit}")
    return None


def check_delay(policies: TopicPolicies, delivery_ms: int, publish_ms: int) -> None:
    """Raises `NotAllowed` if a message is delayed for longer than the topic allows.

    As in Pulsar, the delay counts from the publish time, which comes from the client too.
    """
    policy = policies.delayed_delivery
    longest = policy.max_delay_ms if policy.active else 0
    if 0 < longest < delivery_ms - publish_ms:
        raise NotAllowed(f"Exceeds max allowed delivery delay of {longest} milliseconds")


def check_producer(topic: TopicName, policies: TopicPolicies, *, encrypted: bool) -> None:
    """Raises `MetadataFailed` if the topic requires encryption and the producer does not encrypt."""
    if policies.encryption_required and not encrypted:
        raise MetadataFailed(f"Encryption is required in {topic}")
