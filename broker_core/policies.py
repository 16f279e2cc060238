"""Policies that a namespace or a topic may have, typed and checked. Pure.

A policy that is not set is None; what is in force comes from the topic, else its namespace, else the broker's
configuration, policy by policy (Pulsar docs, "Topic policies"). The names in documents and in the REST bodies
are those of Pulsar's `Policies` and `RetentionPolicies` objects, and so are the reasons of refusals.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.config import PolicyConfig
from broker_core.errors import InvalidRequest, PreconditionFailed
from broker_core.storage.retention import Retention

RETENTION = "retention_policies"
TTL = "message_ttl_in_seconds"
COMPACTION = "compaction_threshold"

_ONE_LIMIT_IS_ZERO = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has"
    " a non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention"
    " both limits must be set to 0."
)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long acknowledged messages are kept: `minutes` and `mb`, -1 for no limit, both 0 for not at all.

    They go when either limit is exceeded. Raises `InvalidRequest` when only one is 0, or one is below -1.
    """

    minutes: int = 0
    mb: int = 0

    def __post_init__(self) -> None:
        if self.mb < -1:
            raise InvalidRequest("Invalid retention policy: size limit must be >= -1")
        if self.minutes < -1:
            raise InvalidRequest("Invalid retention policy: time limit must be >= -1")
        if (self.minutes == 0) != (self.mb == 0):
            raise InvalidRequest(_ONE_LIMIT_IS_ZERO)

    @property
    def limits(self) -> Retention:
        """As the storage takes it: milliseconds and bytes."""
        return Retention(-1 if self.minutes < 0 else self.minutes * 60_000, -1 if self.mb < 0 else self.mb << 20)

    def to_document(self) -> dict[str, int]:
        return {"retentionTimeInMinutes": self.minutes, "retentionSizeInMB": self.mb}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "RetentionPolicy":
        """Reads Pulsar's `RetentionPolicies`; an absent or null limit is 0, as there."""
        return cls(
            whole_number(document.get("retentionTimeInMinutes") or 0, "retentionTimeInMinutes"),
            whole_number(document.get("retentionSizeInMB") or 0, "retentionSizeInMB"),
        )


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The policies set at one level, a namespace or a topic; None where that level says nothing.

    `ttl_seconds` 0 means never, also where an outer level sets a time; `compaction_threshold` is in bytes.
    """

    retention: RetentionPolicy | None = None
    ttl_seconds: int | None = None
    compaction_threshold: int | None = None

    def __post_init__(self) -> None:
        if self.ttl_seconds is not None and self.ttl_seconds < 0:
            raise PreconditionFailed("Invalid value for message TTL")
        if self.compaction_threshold is not None and self.compaction_threshold < 0:
            raise PreconditionFailed("compactionThreshold must be 0 or more")

    @property
    def is_empty(self) -> bool:
        return self == PolicySet()

    def to_document(self) -> dict[str, Any]:
        """Only what is set."""
        document: dict[str, Any] = {}
        if self.retention is not None:
            document[RETENTION] = self.retention.to_document()
        if self.ttl_seconds is not None:
            document[TTL] = self.ttl_seconds
        if self.compaction_threshold is not None:
            document[COMPACTION] = self.compaction_threshold
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "PolicySet":
        retention, ttl, threshold = (document.get(key) for key in (RETENTION, TTL, COMPACTION))
        return cls(
            None if retention is None else RetentionPolicy.from_document(retention),
            None if ttl is None else whole_number(ttl, TTL),
            None if threshold is None else whole_number(threshold, COMPACTION),
        )


@dataclass(frozen=True, slots=True)
class TopicPolicies:
    """What is in force for one topic; TTL 0 s: for ever; compaction threshold 0 bytes: never."""

    retention: RetentionPolicy
    ttl_seconds: int
    compaction_threshold: int


def resolve(levels: Iterable[PolicySet], defaults: PolicyConfig) -> TopicPolicies:
    """The policies in force; `levels` from the innermost (topic) outwards, `defaults` where none speaks."""
    configured = PolicySet(
        RetentionPolicy(defaults.retention_minutes, defaults.retention_mb),
        defaults.ttl_seconds,
        defaults.compaction_threshold,
    )
    inner_first = (*levels, configured)
    return TopicPolicies(
        next(level.retention for level in inner_first if level.retention is not None),
        next(level.ttl_seconds for level in inner_first if level.ttl_seconds is not None),
        next(level.compaction_threshold for level in inner_first if level.compaction_threshold is not None),
    )


def whole_number(value: Any, name: str) -> int:
    """`value` as Pulsar's JSON reader takes it: fractions are cut off, digits in a string are read."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a whole number, not {value!r}") from None
