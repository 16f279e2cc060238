"""The reports of a broker about a topic and its subscriptions, with the questions that rules ask. Pure.

`stats` and `internal` are the documents of the REST API. A field that an older broker lacks counts as 0 or empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.finding import Certainty, Finding, Severity
from pulsarctl.diagnosis.open_transactions import HeldAcks, Hold
from pulsarctl.diagnosis.positions import position

Document = Mapping[str, Any]
HEALTHY_MS = 10_000  # messages may wait this long for an acknowledgment without a finding
SINGLE_ACTIVE = ("Exclusive", "Failover")


@dataclass(frozen=True)
class TopicEvidence:
    """`topic` is one partition, or a topic without partitions. `policies`: those in effect, by their REST path.

    `is_ours`: the broker is pulsarctl's, whose figures are exact where Apache Pulsar's are not.
    `migrated_to`: the scalable topic that the topic has become, or "".
    """

    topic: str
    stats: Document
    internal: Document
    now_ms: int
    is_ours: bool
    policies: Document = field(default_factory=dict)
    hold: Hold | None = None
    migrated_to: str = ""

    @property
    def visible_end(self) -> tuple[int, int]:
        """The last entry that consumers may get now."""
        return position(self.hold.read_to if self.hold else self.internal.get("lastConfirmedEntry"))

    @property
    def held_entries(self) -> int:
        return self.hold.entries if self.hold else 0

    def finding(
        self, code: str, severity: Severity, sentence: str, command: str = "", *, exact: bool = True
    ) -> Finding:
        return Finding(code, severity, sentence, command, _certainty(exact), topic=self.topic)


@dataclass(frozen=True, slots=True)
class OldestMessage:
    """The oldest unacknowledged entry; times in milliseconds, 0 if it has none. `key` is "" without a key.

    `key_hashes`: what the selectors of Key_Shared make of the key. `is_marker`: no message, written by a broker.
    """

    message_id: str
    published_ms: int = 0
    deliver_at_ms: int = 0
    key: str = ""
    key_hashes: tuple[int, ...] = ()
    is_marker: bool = False


@dataclass(frozen=True)
class SubscriptionEvidence:
    """`throttled_now`: how often a dispatch rate left nothing to send between two requests, by the counter's name.

    `only_markers`: the backlog has no messages, only what brokers write for replicated subscriptions.
    """

    topic: TopicEvidence
    name: str
    stats: Document
    oldest: OldestMessage | None = None
    throttled_now: Mapping[str, int] = field(default_factory=dict)
    only_markers: bool = False
    held_acks: HeldAcks | None = None

    @cached_property
    def cursor(self) -> Document:
        document = (self.topic.internal.get("cursors") or {}).get(self.name)
        return document if isinstance(document, dict) else {}

    def count(self, name: str) -> int:
        return int(self.stats.get(name) or 0)

    @property
    def backlog(self) -> int:
        """The backlog in entries, as the broker counts the entries that are delayed or read."""
        return self.count("msgBacklog")

    @property
    def waiting(self) -> Backlog:
        """The backlog in the unit for people."""
        return Backlog.of(self.stats)

    @property
    def stuck_ms(self) -> int:
        """How long the oldest unacknowledged message has been the oldest one; 0 if that is not known."""
        since = max(self.oldest.published_ms if self.oldest else 0, self.count("lastMarkDeleteAdvancedTimestamp"))
        return max(0, self.topic.now_ms - since) if since else 0

    @property
    def is_stuck(self) -> bool:
        """Whether that is longer than a message of a healthy flow takes. Without times, it counts as stuck."""
        return not self.oldest or not self.oldest.published_ms or self.stuck_ms >= HEALTHY_MS

    @property
    def consumers(self) -> list[Document]:
        return list(self.stats.get("consumers") or [])

    @property
    def receiving(self) -> list[Document]:
        """The consumers that get messages: all, or only the active one."""
        active = self.stats.get("activeConsumerName")
        if self.stats.get("type") not in SINGLE_ACTIVE or not active:
            return self.consumers
        return [consumer for consumer in self.consumers if consumer.get("consumerName") == active]

    @property
    def is_read_to_the_end(self) -> bool:
        """Whether the broker has read each entry of the topic for this subscription that waits for no transaction."""
        read = self.cursor.get("readPosition")
        return read is not None and position(read) > self.topic.visible_end

    @property
    def has_undelivered(self) -> bool:
        """Whether entries wait that no consumer holds and that are not delayed."""
        return not self.is_read_to_the_end or self.count("msgInReplay") > 0

    @property
    def is_delivered(self) -> bool:
        """Whether consumers have everything that is neither delayed nor held, and some of it is not acknowledged."""
        waiting = self.count("msgDelayed") + self.topic.held_entries
        return self.backlog > waiting and bool(self.consumers) and not self.has_undelivered

    def finding(
        self, code: str, severity: Severity, sentence: str, command: str = "", *, exact: bool = True
    ) -> Finding:
        return Finding(code, severity, sentence, command, _certainty(exact), self.topic.topic, self.name)


def _certainty(exact: bool) -> Certainty:
    return Certainty.EXACT if exact else Certainty.LIKELY
