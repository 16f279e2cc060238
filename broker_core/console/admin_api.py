"""The console's view of its host: the admin API, called with the rights of the user of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from broker_core.errors import InvalidName
from broker_core.names import PARTITION_SUFFIX, parse_topic

ROOT = "/admin/v2"
TRANSACTIONS = "/admin/v3/transactions"
NOTHING: Mapping[str, str] = {}


class Refused(Exception):
    """The admin API refuses; `str(error)` is its reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Reply:
    """`value`: the JSON value of the body; `content` and `headers` of a message. Names of headers are in lower case."""

    value: Any = None
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A subscription with a backlog, as one row of a list of many."""

    topic: str
    subscription: str
    backlog: int
    consumers: int
    rate_out: float
    unacked: int


@dataclass(frozen=True, slots=True)
class Backlogs:
    """The largest backlogs, and how many subscriptions have one in how many topics. `heading` says what they count."""

    largest: Sequence[Waiting]
    subscriptions: int
    topics: int
    heading: str


class AdminApi(Protocol):
    async def ask(self, method: str, path: str, query: Mapping[str, str] = NOTHING, body: Any = None) -> Reply:
        """One request, as the user. Raises `Refused`."""

    async def ask_all(self, paths: Sequence[str], query: Mapping[str, str] = NOTHING) -> Sequence[Reply | Refused]:
        """GETs side by side, in the order of the paths."""

    async def backlogs(self, namespace: str, most: int) -> Backlogs:
        """The largest backlogs of a namespace, or of all if it is empty, from one look. Raises `Refused`."""


def part(name: str) -> str:
    """A segment of a path."""
    return quote(name, safe="", errors="surrogatepass")


def namespace_path(namespace: str) -> str:
    return "/".join(map(part, namespace.split("/")))


@dataclass(frozen=True, slots=True)
class TopicName:
    """A full name, `persistent://tenant/namespace/topic`, in its parts."""

    domain: str
    namespace: str
    local: str

    @classmethod
    def parse(cls, text: str) -> TopicName:
        """Takes the short forms, too. Raises `Refused`."""
        try:
            named = parse_topic(text)
        except InvalidName:
            reason = f"{text!r} is not the name of a topic, such as persistent://tenant/namespace/topic"
            raise Refused(412, reason) from None
        return cls(named.domain, str(named.namespace), named.local)

    def __str__(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.domain}/{namespace_path(self.namespace)}/{part(self.local)}"

    @property
    def schema_path(self) -> str:
        return f"{ROOT}/schemas/{namespace_path(self.namespace)}/{part(self.local)}"

    @property
    def tenant(self) -> str:
        return self.namespace.partition("/")[0]

    @property
    def scalable(self) -> TopicName | None:
        """The scalable topic itself, or that of a segment; None for other topics."""
        whole = parse_topic(str(self)).base
        return TopicName(whole.domain, str(whole.namespace), whole.local) if whole.is_scalable else None

    def partition(self, number: int) -> TopicName:
        return TopicName(self.domain, self.namespace, f"{self.local}{PARTITION_SUFFIX}{number}")

    def subscription_path(self, subscription: str) -> str:
        """Encoded twice, because brokers decode it twice."""
        return f"{self.path}/subscription/{part(part(subscription))}"
