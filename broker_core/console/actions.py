"""The actions of the console: a table of them, and the request of the admin API for each.

`action_pages` shows them, and carries them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.console.admin_api import ROOT, TRANSACTIONS, Refused, TopicName, namespace_path
from broker_core.console.markup import address
from broker_core.console.paths import HOME, SUBSCRIPTION, TOPIC, TOPICS
from broker_core.console.paths import TRANSACTIONS as TRANSACTIONS_PAGE

SECONDS_MAX = 10**10
COUNT_MAX = 10**9
_MESSAGE_ID = re.compile(r"(\d{1,18}):(\d{1,18})")
_TRANSACTION = re.compile(r"\((\d{1,20}),(\d{1,20})\)")
NAMES = ("namespace", "topic", "subscription", "transaction")


@dataclass(frozen=True, slots=True)
class Field:
    """The field that an action asks for in addition to its target. `kind` is that of the input."""

    label: str
    default: str
    kind: str = "number"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Names as the form sends them; those that an action does not need are empty."""

    namespace: str
    topic: str
    subscription: str
    transaction: str = ""

    @classmethod
    def of(cls, sent: Mapping[str, str]) -> Target:
        return cls(*(sent.get(name, "") for name in NAMES))

    @property
    def path(self) -> str:
        """Raises `Refused` if a name is missing."""
        if self.transaction:
            return _transaction_path(self.transaction)
        if self.subscription:
            return TopicName.parse(self.topic).subscription_path(self.subscription)
        if self.topic:
            return TopicName.parse(self.topic).path
        if self.namespace:
            return f"{ROOT}/namespaces/{namespace_path(self.namespace)}"
        raise Refused(400, "the action does not say what it acts on")

    @property
    def name(self) -> str:
        return self.transaction or self.subscription or self.topic or self.namespace

    @property
    def page(self) -> str:
        if self.transaction:
            return TRANSACTIONS_PAGE
        if self.subscription:
            return address(SUBSCRIPTION, topic=self.topic, name=self.subscription)
        return address(TOPIC, name=self.topic) if self.topic else address(TOPICS, namespace=self.namespace)

    @property
    def above(self) -> str:
        """The page to show once the target is deleted."""
        if self.subscription:
            return address(TOPIC, name=self.topic)
        return address(TOPICS, namespace=TopicName.parse(self.topic).namespace) if self.topic else HOME


def _transaction_path(text: str) -> str:
    """Aborting is all that can be done to one. Raises `Refused`."""
    match = _TRANSACTION.fullmatch(text)
    if match is None:
        raise Refused(400, f"{text[:60]!r} is not the ID of a transaction, such as (0,12)")
    return f"{TRANSACTIONS}/abortTransaction/{match[1]}/{match[2]}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request of an action, after the path of its target."""

    method: str
    end: str
    body: Any = None


@dataclass(frozen=True, slots=True)
class Action:
    """`on`: the pages that offer it. `types_name`: the user has to type the target's name. `request` gets the field."""

    name: str
    label: str
    says: str
    on: tuple[str, ...]
    request: Callable[[str], Outgoing]
    field: Field | None = None
    types_name: bool = False
    removes: bool = False


def _plain(method: str, end: str) -> Callable[[str], Outgoing]:
    return lambda _: Outgoing(method, end)


def _number(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise Refused(400, f"{text[:60]!r} is not a number from 1 to {most:,}")
    return int(text)


def _counted(end: str, most: int) -> Callable[[str], Outgoing]:
    return lambda text: Outgoing("POST", f"{end}/{_number(text, most)}")


def _reset(text: str) -> Outgoing:
    """Reset to a message, or to one of the ends."""
    ends = {"earliest": (-1, -1), "latest": (2**63 - 1, 2**63 - 1)}
    match = _MESSAGE_ID.fullmatch(text.strip())
    if match is None and text.strip() not in ends:
        raise Refused(400, f"{text[:60]!r} is neither earliest, latest, nor a message ID such as 12:7")
    ledger, entry = ends[text.strip()] if match is None else (int(match[1]), int(match[2]))
    body = {"ledgerId": ledger, "entryId": entry, "partitionIndex": -1, "batchIndex": -1, "excluded": False}
    return Outgoing("POST", "/resetcursor", body)


_ALL_SUBSCRIPTIONS = ("subscription", "partitioned subscription")
_ALL_TOPICS = ("topic", "partitioned")
_AGE = Field("Older than (seconds)", "3600")

ACTIONS = (
    Action(
        "skip",
        "Skip messages",
        "Marks the next messages as acknowledged. The subscription never gets them.",
        ("subscription",),
        _counted("/skip", COUNT_MAX),
        Field("Number of messages", "1"),
    ),
    Action(
        "clear-backlog",
        "Clear backlog",
        "Marks all messages as acknowledged. The subscription never gets them.",
        _ALL_SUBSCRIPTIONS,
        _plain("POST", "/skip_all"),
    ),
    Action(
        "reset-cursor",
        "Reset cursor",
        "Moves the subscription to a message. It gets that message and all later ones, again if it had them.",
        ("subscription",),
        _reset,
        Field("Position", "earliest", "text", "earliest, latest, or a message ID such as 12:7"),
    ),
    Action(
        "expire",
        "Expire messages",
        "Marks the messages of a minimum age as acknowledged. The subscription never gets them.",
        _ALL_SUBSCRIPTIONS,
        _counted("/expireMessages", SECONDS_MAX),
        _AGE,
    ),
    Action(
        "unsubscribe",
        "Delete subscription",
        "Deletes the subscription and its backlog. It must have no consumers.",
        _ALL_SUBSCRIPTIONS,
        _plain("DELETE", ""),
        types_name=True,
        removes=True,
    ),
    Action(
        "unload",
        "Unload",
        "Closes the topic and its connections. Clients reconnect at once, and the topic is opened again.",
        _ALL_TOPICS,
        _plain("PUT", "/unload"),
    ),
    Action(
        "compact",
        "Compact",
        "Starts a compaction: readers of the compacted topic get only the last message of each key.",
        _ALL_TOPICS,
        _plain("PUT", "/compaction"),
    ),
    Action(
        "expire-all",
        "Expire messages of all subscriptions",
        "Marks the messages of a minimum age as acknowledged for every subscription.",
        _ALL_TOPICS,
        _counted("/all_subscription/expireMessages", SECONDS_MAX),
        _AGE,
    ),
    Action(
        "delete",
        "Delete topic",
        "Deletes the topic, its subscriptions, and its messages. It must have no producers and no consumers.",
        ("topic",),
        _plain("DELETE", ""),
        types_name=True,
        removes=True,
    ),
    Action(
        "delete-partitioned",
        "Delete topic",
        "Deletes the topic with all its partitions and messages. It must have no producers and no consumers.",
        ("partitioned",),
        _plain("DELETE", "/partitions"),
        types_name=True,
        removes=True,
    ),
    Action(
        "unload-namespace",
        "Unload",
        "Closes all topics of the namespace. Clients reconnect at once, and the topics are opened again.",
        ("namespace",),
        _plain("PUT", "/unload"),
    ),
    Action(
        "clear-namespace-backlog",
        "Clear all backlogs",
        "Marks all messages of all topics of the namespace as acknowledged, for every subscription.",
        ("namespace",),
        _plain("POST", "/clearBacklog"),
        types_name=True,
    ),
    Action(
        "abort-transaction",
        "Abort",
        "Aborts the transaction. No consumer ever gets its messages, and what it acknowledged is delivered again.",
        ("transaction",),
        _plain("POST", ""),
    ),
)
BY_NAME = {action.name: action for action in ACTIONS}
