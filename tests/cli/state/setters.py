"""Every setter of policies in the REST API, from their declarations, and hostile values for each."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from hypothesis import strategies as st

from broker_core.admin import policy_places, quotas
from broker_core.admin.shapes import of_policy, shape_of
from broker_core.metadata.policies.values import DispatchRate
from pulsarctl.state import settings
from tests.cli.state.samples import OF_NAMESPACES, OF_TOPICS

NUMBERS = st.sampled_from([-(2**63), -(2**31), -5, -1, 0, 7, 2**31 - 1, 2**63 - 1, 2**64, 0.5, "3"])
LINES = ["a\nb", "\r", "\x07", "\x85", "\u2028", "\ufeff", "\uffff"]
YAML = ["", "on", "null", "1", "1.5", " a ", "#c", "a: b", "<<", "*a", "'", '"', "\\", "${x}", "$${"]
TEXTS = st.sampled_from(["a", "ä/ö", "😀", "%2F", "..", *LINES, *YAML])
LISTS = st.lists(st.sampled_from(["Shared", "Exclusive", "standalone", "west", "", "ä"]), max_size=3)


@dataclass(frozen=True, slots=True, eq=False)
class Setter:
    """`path` and `read` are those of setting and reading, below the path of the namespace or topic.

    `name`: of the policy in a file, if files have it. `part`: the member of the policy that the setter sets.
    `unset`: what a GET may show if nothing is set.
    """

    level: str
    field: str
    method: str
    path: str
    read: str
    name: str = ""
    unset: tuple[Any, ...] = (None, ["standalone"])
    part: str = ""

    def send(self, base: str, value: Any) -> bool:
        """Whether the broker accepts the value."""
        if self.path.endswith("="):  # the value is in the query
            return bool(asked(f"{base}/{self.path}{in_path(str(value))}", self.method) == 0)
        return bool(asked(f"{base}/{self.path}", self.method, value) == 0)

    def values(self) -> st.SearchStrategy[Any]:
        shape = shape_of(DispatchRate) if self.field == "dispatch_rates" else of_policy(self.field)
        samples = (OF_NAMESPACES if self.level == "namespaces" else OF_TOPICS).get(self.name, [])
        if shape["type"] != "object":
            return of_shape(shape) | st.sampled_from(samples or [None])
        members = {key: of_shape(one) | st.none() for key, one in shape["properties"].items()}
        some = st.fixed_dictionaries({}, optional=members)
        complete = [one.get(self.part) if self.part else one for one in samples]
        return some | st.builds(dict.__or__, st.sampled_from([one for one in complete if one] or [{}]), some)


def of_shape(shape: dict[str, Any]) -> st.SearchStrategy[Any]:
    by_type: dict[str, st.SearchStrategy[Any]] = {
        "integer": NUMBERS,
        "number": NUMBERS,
        "boolean": st.sampled_from([True, False, "true"]),
        "string": TEXTS,
        "array": LISTS,
    }
    return by_type[shape["type"]]


def _of(level: str, place: policy_places.PolicyPlace) -> Setter:
    table = settings.NAMESPACE if level == "namespaces" else settings.TOPIC
    name, unset = next(
        ((one.name, one.unset) for one in table.values() if place.name in (one.path, one.read)), ("", None)
    )
    return Setter(level, place.field, place.write, place.name, place.name, name, (None, {}, place.unset, unset))


SETTERS = (
    *(_of("namespaces", place) for place in policy_places.NAMESPACE),
    *(_of("topics", place) for place in policy_places.TOPIC),
    *(
        Setter(
            level,
            field,
            "POST",
            f"backlogQuota?backlogQuotaType={kind}",
            "backlogQuotaMap",
            settings.QUOTA,
            ({},),
            kind,
        )
        for level in ("namespaces", "topics")
        for kind, field in quotas.FIELDS.items()
    ),
    Setter("topics", "ttl_seconds", "POST", "messageTTL?messageTTL=", "messageTTL", "message-ttl"),
    Setter(
        "topics",
        "subscription_expiration_minutes",
        "POST",
        "subscriptionExpirationTime?subscriptionExpirationTime=",
        "subscriptionExpirationTime",
        "subscription-expiration-time",
    ),
    Setter("namespaces", "replication_clusters", "POST", "replication", "replication", "replication-clusters"),
    Setter("topics", "replication_clusters", "POST", "replication", "replication", "replication-clusters"),
    Setter("topics", "dispatch_rates", "POST", "s/dispatchRate", "s/dispatchRate"),
)


def asked(url: str, method: str = "GET", body: Any = None) -> Any:
    """The answer, or the status of a refusal. Fails if the broker does."""
    text = None if method == "GET" else json.dumps(body).encode()
    try:
        with urlopen(Request(url, text, {"Content-Type": "application/json"}, method=method), timeout=10) as answer:
            return json.loads(answer.read() or b"null") if method == "GET" else 0
    except HTTPError as error:
        assert error.code < 500, (method, url, body)
        return error.code


def in_path(text: str) -> str:
    return quote(text, safe="")
