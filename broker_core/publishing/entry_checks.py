"""The checks of single messages against a topic's policies; called only if a policy or the size of a run requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, MetadataFailed, NotAllowed
from broker_core.wire.message import parse_metadata

if TYPE_CHECKING:
    from broker_core.policies.topic_policies import TopicPolicies
    from broker_core.wire.send import SendRun


def entry_refusal(run: SendRun, index: int, policies: TopicPolicies) -> BrokerError | None:
    """Why entry `index` of a run must not be stored; None if it may. The order is Pulsar's.

    Without its own size limit a topic takes what fits into a frame.
    """
    if policies.encryption_required and not parse_metadata(run.entry(index)).encryption_keys:
        return MetadataFailed("Messages must be encrypted")
    size, limit = run.ends[index] - run.starts[index], policies.max_message_size
    if 0 < limit < size and run.chunk is None:  # clients choose the size of chunks
        return NotAllowed(f"Exceed maximum message size: {size} bytes, allowed are {limit}")
    return None
