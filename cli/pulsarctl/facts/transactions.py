"""The open transactions of a cluster, and what waits for them. Changes nothing.

A broker without transactions, or one that does not show them to this client, has none here.
"""

from dataclasses import replace
from functools import cached_property

from pulsarctl.diagnosis.evidence import SubscriptionEvidence, TopicEvidence
from pulsarctl.diagnosis.open_transactions import HeldAcks, Hold, OpenTransaction
from pulsarctl.errors import CliError
from pulsarctl.shell.call import Call

OPEN = "ongoingTxnCount"


class OpenTransactions:
    """They are read when the first topic needs them. `holds`: by topic, what waits in those that were looked at."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.holds: dict[str, Hold] = {}

    @cached_property
    def known(self) -> list[OpenTransaction]:
        """The oldest first."""
        try:
            found = [OpenTransaction.of(metadata) for metadata in self._call.admin.transactions.open()]
        except CliError:
            return []
        return sorted(found, key=lambda one: one.since_ms)

    def with_hold(self, topic: TopicEvidence) -> TopicEvidence:
        """The evidence with what waits in the topic. An older broker does not count its transactions in the stats."""
        if not topic.topic.startswith("persistent") or topic.stats.get(OPEN) == 0:
            return topic
        try:
            buffer = self._call.admin.transactions.buffer_stats(topic.topic)
        except CliError:
            return topic
        hold = Hold.of(topic.topic, buffer, topic.internal, self.known)
        if hold is not None:
            self.holds[topic.topic] = hold
        return replace(topic, hold=hold)

    def with_held_acks(self, subscription: SubscriptionEvidence) -> SubscriptionEvidence:
        topic = subscription.topic.topic
        if not subscription.backlog or not topic.startswith("persistent"):
            return subscription
        known = [one for one in self.known if subscription.name in one.acknowledged.get(topic, ())]
        if not known:
            return subscription
        try:
            stats = self._call.admin.transactions.pending_ack_stats(topic, subscription.name)
        except CliError:
            return subscription
        count = int(stats.get("ongoingTxnSize") or 0)
        return replace(subscription, held_acks=HeldAcks(count, known) if count else None)
