"""The backlog of a subscription in the unit that its broker counts. Pure.

The bundled broker counts messages. Apache Pulsar counts entries, and a batch of several messages is one entry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pulsarctl.diagnosis.words import entries, plural

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Backlog:
    """`is_messages`: whether `count` is one of messages, else of entries."""

    count: int
    is_messages: bool

    @classmethod
    def of(cls, subscription: Document) -> "Backlog":
        """The backlog in the statistics of a subscription."""
        is_messages = "backlogMessages" in subscription
        return cls(int(subscription.get("backlogMessages" if is_messages else "msgBacklog") or 0), is_messages)

    @classmethod
    def total(cls, subscriptions: Iterable[Document]) -> "Backlog":
        """The sum, in messages if the broker counts them everywhere."""
        backlogs = [cls.of(backlog) for backlog in subscriptions]
        return cls(sum(backlog.count for backlog in backlogs), all(backlog.is_messages for backlog in backlogs))

    @property
    def unit(self) -> str:
        return "messages" if self.is_messages else "entries"

    @property
    def words(self) -> str:
        """`5 messages`, or `1 entry`."""
        return plural(self.count, "message") if self.is_messages else entries(self.count)

    @property
    def cell(self) -> str:
        """The text in a table, where a plain number counts messages."""
        return f"{self.count:,}" if self.is_messages else self.words
