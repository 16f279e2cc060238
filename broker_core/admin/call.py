"""One admin request as handlers see it, and their answers; knows nothing of the HTTP library.

Path parts arrive encoded. A topic is decoded once, form style. A subscription is decoded twice, the second time form
style, because tools encode it once or twice (`sub%2Fa` and `sub%252Fa` both mean `sub/a`; Pulsar's Java tools send a
space as `%2B`). A handler returns None (204), an `Answer`, or any value that JSON can hold (200).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, unquote_plus

from broker_core.errors import InvalidName, InvalidRequest
from broker_core.metadata.policies.json_values import whole_number
from broker_core.names import SCALABLE, SEGMENT, NamespaceName, TopicName, parse_topic

if TYPE_CHECKING:
    from broker_core.admin.body_memory import Share
    from broker_core.broker import Broker
    from broker_core.rates.long_text import LongText
    from broker_core.security.principal import Principal
    from broker_core.security.sessions import Sessions

_ESCAPED = "backslashreplace"  # escapes lone surrogates, in the same way as JSON
JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain"


@dataclass(frozen=True, slots=True)
class Answer:
    """A long body is sent only once."""

    status: int
    body: bytes | LongText = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


class Call(NamedTuple):
    """`parts`: the variable parts of the path by name, raw; `query`: decoded, the first of equal names.

    `pairs`: the whole query, where a name can be repeated. `headers` compares names without case. `memory`: to be asked
    before reading something large. `principal`: who sends it; None while authentication is switched off. `client`: its
    address. `is_secure`: it came over TLS. `is_private`: nothing between client and broker can read it.
    `method`, `path`: as sent. `sessions`: those of the console; None for a call that did not come over HTTP.
    `listener`: of the address by which it came (`bindAddresses`).
    """

    broker: Broker
    parts: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    headers: Mapping[str, str]
    memory: Share
    pairs: Sequence[tuple[str, str]] = ()
    principal: Principal | None = None
    client: str = ""
    is_private: bool = False
    is_secure: bool = False
    method: str = ""
    path: str = ""
    sessions: Sessions | None = None
    listener: str = ""

    def part(self, name: str) -> str:
        return self.check_length(unquote(self.parts[name]), name)

    def check_length(self, text: str, kind: str) -> str:
        """Returns the name; raises `InvalidName` if it is longer than clients may use."""
        most = self.broker.config.commands.max_name_length
        if len(text) > most:
            raise InvalidName(f"the {kind} in the path has more than {most} characters (maxNameLength)")
        return text

    def namespace(self) -> NamespaceName:
        cluster = (self.part("cluster"),) if "cluster" in self.parts else ()
        return NamespaceName.of(self.part("tenant"), *cluster, self.part("namespace"))

    def topic(self) -> TopicName:
        """The topic in the path, or the segment of a scalable one; raises `InvalidName`."""
        return self.segment() if "descriptor" in self.parts else self.topic_of(self.parts["domain"])

    def segment(self) -> TopicName:
        """The segment in the path; raises `InvalidName`."""
        topic = self.topic_of(SCALABLE)
        try:
            return parse_topic(f"{SEGMENT}://{topic.namespace}/{topic.local}/{self.part('descriptor')}")
        except InvalidName:
            raise InvalidName("Segment name is not valid") from None

    def topic_of(self, domain: str) -> TopicName:
        """Like `topic`, for a path without a domain."""
        namespace = self.namespace()
        full_name = f"{domain}://{namespace}/{unquote_plus(self.parts['topic'])}"
        self.check_length(full_name, "topic")
        try:
            topic = parse_topic(full_name)
        except InvalidName:
            raise InvalidName("Topic name is not valid") from None
        if topic.namespace != namespace:  # a slash in the topic would make it a name of four parts
            raise InvalidName("Topic name is not valid")
        return topic

    def subscription(self) -> str:
        return self.check_length(unquote_plus(unquote(self.parts["subscription"])), "subscription")

    def values(self, name: str) -> list[str]:
        """Every value of a name in the query."""
        return [value for key, value in self.pairs if key == name]

    def flag(self, name: str, default: bool = False) -> bool:
        text = self.query.get(name)
        return default if text is None else text.lower() == "true"

    def number(self, name: str) -> int:
        """A part of the path that must be a number."""
        return whole_number(self.part(name), name)

    def json(self) -> Any:
        """The body; None if it is absent or null, whatever its content type."""
        if not self.body.strip():
            return None
        bounds = self.broker.config.http
        openings = self.body.count(b"[") + self.body.count(b"{")
        if openings + self.body.count(b",") > bounds.max_json_values:
            raise InvalidRequest(f"the request body has more than {bounds.max_json_values} values (httpMaxJsonValues)")
        try:
            value = json.loads(self.body)
        except ValueError as error:
            raise InvalidRequest(f"the request body is not JSON: {error}") from None
        except RecursionError:
            raise _too_deep(bounds.max_json_depth) from None
        if openings > bounds.max_json_depth and is_deeper(value, bounds.max_json_depth):
            raise _too_deep(bounds.max_json_depth)
        return value

    def json_object(self) -> dict[str, Any]:
        """The body as an object; empty if it is absent, null, or an empty string (tools send all three)."""
        value = self.json()
        if value is None or value == "":
            return {}
        if not isinstance(value, dict):
            raise InvalidRequest("the request body must be a JSON object")
        return value


def _too_deep(most: int) -> InvalidRequest:
    return InvalidRequest(f"the request body is nested more than {most} deep (httpMaxJsonDepth)")


def is_deeper(value: Any, most: int) -> bool:
    """Whether arrays and objects are nested more than `most` deep. It does not recurse: recursion has a limit, too."""
    level = [value]
    for _ in range(most + 1):
        level = [inner for container in level if isinstance(container, list | dict) for inner in _members(container)]
    return bool(level)


def _members(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


Handler = Callable[[Call], Awaitable[Any]]


def text(content: str) -> Answer:
    return Answer(200, content.encode(), TEXT_TYPE)


def warned(answer: Answer, text: str) -> Answer:
    """`answer` with a sentence for the user, sent as Kubernetes does: in the header `Warning`, with code 299."""
    ascii_only = text.encode("ascii", "backslashreplace").decode()
    quoted = ascii_only.replace("\\", r"\\").replace('"', r"\"")
    return replace(answer, headers=(*answer.headers, ("Warning", f'299 - "{quoted}"')))


def json_answer(content: Any, status: int = 200) -> Answer:
    """A lone surrogate, which a client may have sent as `\\ud800`, is written the same way."""
    return Answer(status, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors=_ESCAPED))
