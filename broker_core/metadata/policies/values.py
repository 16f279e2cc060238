"""The objects that policies consist of, with the names and checks of Pulsar's JSON forms. Pure.

Each class is one object of Pulsar's admin API (docs, "Namespace policies"). `from_document` reads it, with the default
for a member that is absent or null, and raises `InvalidRequest` or `InvalidValue`; `to_document` writes all of
it. Rates are per second unless there is a period; -1 and 0 both mean unlimited.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from broker_core.config.frozen import frozen
from broker_core.config.retention import check_retention
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.metadata.policies.json_values import (
    Reader,
    int32,
    mapping,
    name_or_none,
    number,
    string,
    truth,
    whole_number,
)
from broker_core.storage.log.retention import Retention

PARTITIONED, NON_PARTITIONED = "partitioned", "non-partitioned"
HOLD, REFUSE, EVICT = "producer_request_hold", "producer_exception", "consumer_backlog_eviction"
NO_SUBSCRIPTIONS, CAUGHT_UP = "delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"


def member(name: str, read: Reader, default: Any) -> Any:
    """Declares a field of a policy object: its name in JSON and its reader."""
    return dataclasses.field(default=default, metadata={"json": name, "read": read})


@frozen
class PolicyObject:
    """Base of the objects; its fields are made by `member`."""

    @classmethod
    def from_document(cls, document: Any, name: str = "the policy") -> Self:
        """Reads the object; unknown members are ignored."""
        members = mapping(document, name)
        values: dict[str, Any] = {}
        for field in _members(cls):
            value = members.get(field.metadata["json"])
            if value is not None:
                values[field.name] = field.metadata["read"](value, field.metadata["json"])
        return cls(**values)

    def to_document(self) -> dict[str, Any]:
        """Writes the object without the members that are None, as Pulsar does."""
        members = {field.metadata["json"]: getattr(self, field.name) for field in _members(type(self))}
        return {name: value for name, value in members.items() if value is not None}


def _members(kind: type[PolicyObject]) -> list[dataclasses.Field[Any]]:
    """The fields of the JSON form."""
    return [field for field in dataclasses.fields(kind) if field.metadata]


UNSUBSCRIBED_MS = 10 * 60 * 1000  # as long as the open ledger of such a topic lasts in Pulsar


@frozen
class RetentionPolicy(PolicyObject):
    """The retention of acknowledged messages: `minutes` and `mb`, -1 for no limit, both 0 for not at all.

    They are deleted when either limit is exceeded. Refused if only one is 0, or if one is below -1.
    `open_ledger_seconds` is the broker's default without a policy: the newest acknowledged messages stay readable for
    that time.
    """

    minutes: int = member("retentionTimeInMinutes", int32, 0)
    mb: int = member("retentionSizeInMB", whole_number, 0)
    open_ledger_seconds: int = 0

    def __post_init__(self) -> None:
        check_retention(self.minutes, self.mb)

    @property
    def limits(self) -> Retention:
        """The limits for the storage: milliseconds and bytes."""
        return Retention(
            -1 if self.minutes < 0 else self.minutes * 60_000,
            -1 if self.mb < 0 else self.mb << 20,
            0 if self.minutes else self.open_ledger_seconds * 1000,
        )

    def limits_of(self, *, subscribed: bool) -> Retention:
        """Return `limits`, with at least `UNSUBSCRIBED_MS` for a topic without durable subscriptions.

        That depends on the topic, not on a policy, so `applied=true` does not show it (as in Pulsar).
        """
        limits = self.limits
        if subscribed or limits.time_ms < 0 or limits.time_ms > UNSUBSCRIBED_MS:
            return limits
        return Retention(UNSUBSCRIBED_MS, -1)


@frozen
class PublishRate(PolicyObject):
    """The messages and bytes that the producers of a topic may publish per second."""

    messages: int = member("publishThrottlingRateInMsg", int32, -1)
    bytes: int = member("publishThrottlingRateInByte", whole_number, -1)


@frozen
class DispatchRate(PolicyObject):
    """`relative`: on top of the current publish rate. A period of 0 s, which some tools send, means 1 s."""

    messages: int = member("dispatchThrottlingRateInMsg", int32, 0)
    bytes: int = member("dispatchThrottlingRateInByte", whole_number, 0)
    relative: bool = member("relativeToPublishRate", truth, False)
    period_seconds: int = member("ratePeriodInSecond", int32, 0)


@frozen
class SubscribeRate(PolicyObject):
    """The rate at which a consumer may subscribe."""

    per_consumer: int = member("subscribeThrottlingRatePerConsumer", int32, -1)
    period_seconds: int = member("ratePeriodInSecond", int32, 30)


@frozen
class BacklogQuota(PolicyObject):
    """`size` in bytes or `seconds` of age, no limit if 0 or less; the type of the quota says which one applies."""

    size: int = member("limitSize", whole_number, 0)
    seconds: int = member("limitTime", int32, 0)
    policy: str | None = member("policy", name_or_none(HOLD, REFUSE, EVICT), None)

    def __post_init__(self) -> None:
        if self.policy is None:
            raise InvalidRequest("the attribute policy cannot be null")

    @classmethod
    def from_document(cls, document: Any, name: str = "backlogQuota") -> Self:
        """Accepts `limit`, the former name of `limitSize`: tools still send it, even as a string."""
        if isinstance(document, Mapping) and document.get("limitSize") is None:
            document = {**document, "limitSize": document.get("limit")}
        return super(BacklogQuota, cls).from_document(document, name)  # noqa: UP008  # slots make a new class

    def to_document(self) -> dict[str, Any]:
        return {"limit": self.size, "limitSize": self.size, "limitTime": self.seconds, "policy": self.policy}


@frozen
class Persistence(PolicyObject):
    """Copies of an entry; stored and shown without effect, because there is one machine."""

    ensemble: int = member("bookkeeperEnsemble", int32, 2)
    write_quorum: int = member("bookkeeperWriteQuorum", int32, 2)
    ack_quorum: int = member("bookkeeperAckQuorum", int32, 2)
    mark_delete_rate: float = member("managedLedgerMaxMarkDeleteRate", number, 0.0)

    def __post_init__(self) -> None:
        sizes = (self.ensemble, self.write_quorum, self.ack_quorum)
        if min(sizes) <= 0 or sorted(sizes, reverse=True) != list(sizes):
            named = "Bookkeeper Ensemble ({}) >= WriteQuorum ({}) >= AckQuorum ({})".format(*sizes)
            raise InvalidRequest(named)


@frozen
class AutoTopicCreation(PolicyObject):
    """`kind` is `partitioned` or `non-partitioned`; None or "" if no topic is created."""

    allowed: bool = member("allowAutoTopicCreation", truth, False)
    kind: str | None = member("topicType", string, None)
    partitions: int | None = member("defaultNumPartitions", int32, None)

    def __post_init__(self) -> None:
        wrong = self._wrong() if self.allowed else None
        if wrong is not None:
            raise InvalidValue(f"Invalid configuration for autoTopicCreationOverride. the detail is {wrong}")

    def _wrong(self) -> str | None:
        if self.kind not in (PARTITIONED, NON_PARTITIONED):
            return f"Unknown topic type [{self.kind or 'null'}]"
        if self.kind == NON_PARTITIONED:
            refused = "[defaultNumPartitions] is not allowed to be set when the type is non-partition."
            return None if self.partitions is None else refused
        if self.partitions is None:
            return "[defaultNumPartitions] cannot be null when the type is partitioned."
        return "[defaultNumPartitions] cannot be less than 1 for partition type." if self.partitions < 1 else None


@frozen
class AutoSubscriptionCreation(PolicyObject):
    """Whether consumers create missing subscriptions."""

    allowed: bool = member("allowAutoSubscriptionCreation", truth, False)


@frozen
class DelayedDelivery(PolicyObject):
    """A `max_delay_ms` of 0 means no limit."""

    tick_ms: float = member("tickTime", whole_number, 0)  # the configuration can have a fraction
    active: bool = member("active", truth, False)
    max_delay_ms: int = member("maxDeliveryDelayInMillis", whole_number, 0)

    @classmethod
    def from_document(cls, document: Any, name: str = "delayedDelivery") -> Self:
        """Accepts `maxDelayInMillis`, as some tools call the maximum delay."""
        if isinstance(document, Mapping) and document.get("maxDeliveryDelayInMillis") is None:
            document = {**document, "maxDeliveryDelayInMillis": document.get("maxDelayInMillis")}
        return super(DelayedDelivery, cls).from_document(document, name)  # noqa: UP008  # slots make a new class

    def to_document(self) -> dict[str, Any]:
        ticks = int(self.tick_ms) if self.tick_ms == int(self.tick_ms) else self.tick_ms
        return {"tickTime": ticks, "active": self.active, "maxDeliveryDelayInMillis": self.max_delay_ms}


@frozen
class InactiveTopics(PolicyObject):
    """Whether inactive topics are deleted, and after how many seconds; `mode`: what makes a topic inactive."""

    mode: str | None = member("inactiveTopicDeleteMode", name_or_none(NO_SUBSCRIPTIONS, CAUGHT_UP), None)
    max_inactive_seconds: int = member("maxInactiveDurationSeconds", int32, 0)
    delete: bool = member("deleteWhileInactive", truth, False)
