"""The policies set at one level, a namespace or a topic, and the policies in force that all levels result in. Pure."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.errors import BrokerError
from broker_core.metadata.policies.json_values import OnBad, mapping, refuse
from broker_core.metadata.policies.topic_policies import CLUSTER, POLICIES, STRATEGY_OF_AUTO_UPDATE, TopicPolicies
from broker_core.metadata.policies.values import PolicyObject


class PolicySet:
    """The policies that are set, by their field in `TopicPolicies`; immutable."""

    __slots__ = ("_values",)

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - POLICIES.keys()
        if unknown:
            raise TypeError(f"there is no policy called {', '.join(sorted(unknown))}")
        self._values = {field: value for field, value in values.items() if value is not None}

    def get(self, field: str) -> Any:
        """The value, or None if this level does not set it."""
        return self._values.get(field)

    def changed(self, **values: Any) -> "PolicySet":
        """A copy with some policies set; None removes one."""
        return PolicySet(**{**self._values, **values})

    @property
    def is_empty(self) -> bool:
        return not self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolicySet) and self._values == other._values

    def __hash__(self) -> int:
        raise TypeError("a PolicySet has no hash")

    def __repr__(self) -> str:
        return f"PolicySet({self._values!r})"

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._values.items())

    def to_document(self, cluster: str) -> dict[str, Any]:
        """Return only the policies that are set, under the names of Pulsar's `Policies`."""
        document: dict[str, Any] = {}
        for field, value in self._values.items():
            *outer, last = (cluster if name == CLUSTER else name for name in POLICIES[field].path)
            place = document
            for name in outer:
                place = place.setdefault(name, {})
            place[last] = as_json(value)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any], cluster: str, on_bad: OnBad = refuse) -> "PolicySet":
        """`on_bad` gets each invalid value; the default raises the error (400 or 412)."""
        values = {}
        for field, declared in POLICIES.items():
            try:
                value = _find(document, declared.path, cluster)
                if value is not None and value != "":  # tools send "" for an enum that is not set
                    values[field] = declared.read(value, declared.path[0])
            except BrokerError as error:
                on_bad(declared.path[0], error)
        return cls(**values)


NOTHING_SET = PolicySet()


def _find(document: Mapping[str, Any], path: tuple[str, ...], cluster: str) -> Any:
    member: Any = document
    for name in path:
        if member is None or member == "":
            return None
        member = mapping(member, path[0]).get(cluster if name == CLUSTER else name)
    return member


def as_json(value: Any) -> Any:
    """A policy's value as its REST body shows it."""
    if isinstance(value, PolicyObject):
        return value.to_document()
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def configured(config: BrokerConfig) -> TopicPolicies:
    """The policies that the configuration alone gives."""
    return TopicPolicies(**{field: declared.configured(config) for field, declared in POLICIES.items()})


def resolve(levels: Iterable[PolicySet], base: TopicPolicies) -> TopicPolicies:
    """The policies in force; `levels` go from the innermost (topic) outward, then the configured ones decide."""
    values: dict[str, Any] = {}
    for level in reversed(tuple(levels)):
        values.update(level)
    if "schema_auto_update" in values:
        values.setdefault("schema_compatibility_strategy", STRATEGY_OF_AUTO_UPDATE[values["schema_auto_update"]])
    return dataclasses.replace(base, **values) if values else base
