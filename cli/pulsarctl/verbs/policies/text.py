"""The value of a policy as text, in readable units. Pure."""

from typing import Any

from pulsarctl.values.quantities import human_duration, human_size

# The unit of a policy, or of a field of its document. Any other value has no unit.
SECONDS, MINUTES, MILLISECONDS, SIZE, MEBIBYTES, RATE, BYTE_RATE = range(7)
MILLISECONDS_IN = {SECONDS: 1000, MINUTES: 60_000, MILLISECONDS: 1}
SCALARS = {
    "message-ttl": SECONDS,
    "compaction-threshold": SIZE,
    "deduplication-snapshot-interval": SECONDS,
    "max-message-size": SIZE,
    "subscription-expiration-time": MINUTES,
}
FIELDS = {
    "retentionTimeInMinutes": ("time", MINUTES),
    "retentionSizeInMB": ("size", MEBIBYTES),
    "limitSize": ("size", SIZE),
    "limitTime": ("time", SECONDS),
    "policy": ("then", None),
    "tickTime": ("tick time", MILLISECONDS),
    "active": ("enabled", None),
    "maxDeliveryDelayInMillis": ("longest delay", MILLISECONDS),
    "inactiveTopicDeleteMode": ("mode", None),
    "maxInactiveDurationSeconds": ("after", SECONDS),
    "deleteWhileInactive": ("enabled", None),
    "dispatchThrottlingRateInMsg": ("messages", RATE),
    "dispatchThrottlingRateInByte": ("bytes", BYTE_RATE),
    "publishThrottlingRateInMsg": ("messages", RATE),
    "publishThrottlingRateInByte": ("bytes", BYTE_RATE),
    "subscribeThrottlingRatePerConsumer": ("subscribes", RATE),
    "relativeToPublishRate": ("on top of the publish rate", None),
    "ratePeriodInSecond": ("per", SECONDS),
    "allowAutoTopicCreation": ("enabled", None),
    "allowAutoSubscriptionCreation": ("enabled", None),
    "topicType": ("type", None),
    "defaultNumPartitions": ("partitions", None),
}
ABSENT_AT_0 = {"maxDeliveryDelayInMillis"}


def policy_text(name: str, value: Any) -> str:
    """The text for the body that sets policy `name`, such as `time 1d, size 10.0 GiB`."""
    if not isinstance(value, dict):
        return _shown(value, SCALARS.get(name))
    fields = ((*FIELDS.get(key, (key, None)), one) for key, one in value.items() if one or key not in ABSENT_AT_0)
    return ", ".join(f"{label} {_shown(one, unit)}" for label, unit, one in fields)


def _shown(value: Any, unit: int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    if unit is None:
        return str(value)
    if value < 0:
        return "without limit"
    if unit in MILLISECONDS_IN:
        return human_duration(value * MILLISECONDS_IN[unit])
    if unit == RATE:
        return f"{value:,}"
    return human_size(value << 20 if unit == MEBIBYTES else value)
