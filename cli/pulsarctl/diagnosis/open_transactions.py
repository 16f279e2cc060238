"""Open transactions, and what they hold back in a topic or a subscription, as a broker reports them. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulsarctl.diagnosis.positions import entries_after, position
from pulsarctl.diagnosis.words import age, command, entries

Document = Mapping[str, Any]
NEW_MS = 10_000  # most transactions end sooner
LATE_MS = 10_000  # a broker may end a transaction a little after its time-out
_ID = re.compile(r"\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """`published`: by topic, the position of its first message. `acknowledged`: subscriptions by topic."""

    id: str
    state: str
    since_ms: int
    timeout_ms: int
    owner: str
    published: Mapping[str, str]
    acknowledged: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, metadata: Document) -> "OpenTransaction":
        produced, acked = metadata.get("producedPartitions") or {}, metadata.get("ackedPartitions") or {}
        return cls(
            id=str(metadata.get("txnId")),
            state=str(metadata.get("status") or "OPEN"),
            since_ms=int(metadata.get("openTimestamp") or 0),
            timeout_ms=int(metadata.get("timeoutAt") or 0),  # a duration, in spite of its name
            owner=str(metadata.get("owner") or ""),
            published={topic: str((part or {}).get("startPosition") or "") for topic, part in produced.items()},
            acknowledged={topic: list(subscriptions or ()) for topic, subscriptions in acked.items()},
        )

    def age_ms(self, now_ms: int) -> int:
        return max(0, now_ms - self.since_ms)

    def is_overdue(self, now_ms: int) -> bool:
        return 0 < self.timeout_ms < self.age_ms(now_ms) - LATE_MS

    def words(self, now_ms: int) -> str:
        """`Transaction (0,3) of 'app' has been open for 20s, with a time-out of 1m,`."""
        owner = f" of '{self.owner}'" if self.owner else ""
        state = "" if self.state == "OPEN" else f" is {self.state}, and"
        limit = "longer than its time-out of" if self.is_overdue(now_ms) else "with a time-out of"
        return (
            f"Transaction {self.id}{owner}{state} has been open for {age(self.age_ms(now_ms))}, "
            f"{limit} {age(self.timeout_ms)},"
        )

    def next_step(self, now_ms: int) -> str:
        """The command to look at it, or to abort it if its client and its broker do not."""
        match = _ID.fullmatch(self.id)
        if match is None:
            return ""
        if self.is_overdue(now_ms):
            return command("transactions", "abort-transaction", "-m", match[1], "-l", match[2])
        return command("transactions", "transaction-metadata", "-m", match[1], "-l", match[2])


@dataclass(frozen=True, slots=True)
class Hold:
    """Entries of a topic that wait for a transaction. `transaction`: None if the broker does not report which."""

    entries: int
    read_to: str
    transaction: OpenTransaction | None = None

    @classmethod
    def of(cls, topic: str, buffer: Document, internal: Document, open_now: Sequence[OpenTransaction]) -> "Hold | None":
        """`buffer`: the stats of the transaction buffer. The first of those with later messages holds the others."""
        if not buffer.get("ongoingTxnSize"):
            return None
        read_to = str(buffer.get("maxReadPosition") or "")
        writing = [one for one in open_now if position(one.published.get(topic)) > position(read_to)]
        holder = min(writing, key=lambda one: position(one.published[topic]), default=None)
        return cls(entries_after(internal, read_to), read_to, holder)


@dataclass(frozen=True, slots=True)
class HeldAcks:
    """Acknowledgments of a subscription in transactions. `known`: those that the broker names, the oldest first."""

    count: int
    known: Sequence[OpenTransaction]


def text(hold: Hold, now_ms: int) -> str:
    """The transaction in the words of a page about a topic."""
    verb = "waits" if hold.entries == 1 else "wait"
    waiting = f"{entries(hold.entries)} after {hold.read_to} {verb}"
    one = hold.transaction
    if one is None:
        return waiting
    owner = f" by '{one.owner}'" if one.owner else ""
    return f"{one.id}, open{owner} for {age(one.age_ms(now_ms))}, time-out {age(one.timeout_ms)}; {waiting}"
