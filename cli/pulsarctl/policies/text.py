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
    "maxDeliveryDelayInMillis": ("longest delay", MILLISECONDS),
    "bookkeeperEnsemble": ("ensemble", None),
    "bookkeeperWriteQuorum": ("write quorum", None),
    "bookkeeperAckQuorum": ("ack quorum", None),
    "managedLedgerMaxMarkDeleteRate": ("mark-delete rate", None),
    "inactiveTopicDeleteMode": ("mode", None),
    "maxInactiveDurationSeconds": ("after", SECONDS),
    "dispatchThrottlingRateInMsg": ("messages", RATE),
    "dispatchThrottlingRateInByte": ("bytes", BYTE_RATE),
    "publishThrottlingRateInMsg": ("messages", RATE),
    "publishThrottlingRateInByte": ("bytes", BYTE_RATE),
    "subscribeThrottlingRatePerConsumer": ("subscribes", RATE),
    "ratePeriodInSecond": ("per", SECONDS),
    "topicType": ("type", None),
    "defaultNumPartitions": ("partitions", None),
    "splitCooldownSeconds": ("split cooldown", SECONDS),
    "mergeCooldownSeconds": ("merge cooldown", SECONDS),
    "mergeWindowSeconds": ("merge window", SECONDS),
    "rebucketCooldownSeconds": ("rebucket cooldown", SECONDS),
    "splitBytesRateInThreshold": ("split above bytes in", BYTE_RATE),
    "splitBytesRateOutThreshold": ("split above bytes out", BYTE_RATE),
    "mergeBytesRateInThreshold": ("merge below bytes in", BYTE_RATE),
    "mergeBytesRateOutThreshold": ("merge below bytes out", BYTE_RATE),
}
ABSENT_AT_0 = {"maxDeliveryDelayInMillis", "managedLedgerMaxMarkDeleteRate"}
SWITCHES = {"active", "deleteWhileInactive", "allowAutoTopicCreation", "allowAutoSubscriptionCreation"}
THROTTLES = {key for key in FIELDS if "ThrottlingRate" in key}  # 0 and -1 mean no limit
RELATIVE = "relativeToPublishRate"
AT_0 = {
    "message-ttl": "no expiry",
    "compaction-threshold": "never",
    "subscription-expiration-time": "never",
    "deduplication-snapshot-interval": "off",
}


def policy_text(name: str, value: Any) -> str:
    """The text for the body that sets policy `name`, such as `time 1d, size 10.0 GiB`. It says what is in force, so
    that different bodies may have the same text: `no limit` for a rate of 0 and of -1, `off` for any switched off.
    """
    if not isinstance(value, dict):
        return _scalar(name, value)
    if any(value.get(key) is False for key in SWITCHES):
        return "off"
    if value.keys() & THROTTLES and not any((value.get(key) or 0) > 0 for key in THROTTLES):
        return "no limit"
    is_on = any(value.get(key) for key in SWITCHES)
    return ", ".join([*(["on"] if is_on else []), *_fields(value)])


def member_text(name: str, value: Any) -> str:
    """The text for one member of such a body, such as `1d`."""
    if name in THROTTLES and value <= 0:
        return "no limit"
    return _shown(value, FIELDS.get(name, (name, None))[1])


def _scalar(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if name.startswith("max-") and value <= 0:
        return "no limit"
    if value == 0 and name in AT_0:
        return AT_0[name]
    return _shown(value, SCALARS.get(name))


def _fields(document: dict[str, Any]) -> list[str]:
    texts = []
    for key, value in document.items():
        if key in SWITCHES or (key in ABSENT_AT_0 and not value) or (key in THROTTLES and (value or 0) <= 0):
            continue
        if key == RELATIVE:
            if value:
                texts.append("on top of the publish rate")
            continue
        label, unit = FIELDS.get(key, (key, None))
        texts.append(f"no {label} limit" if _is_unlimited(value, unit) else f"{label} {_shown(value, unit)}")
    return texts


def _is_unlimited(value: Any, unit: int | None) -> bool:
    return unit is not None and value < 0


def _shown(value: Any, unit: int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if unit is None:
        return f"{value:,}" if isinstance(value, int) else str(value)
    if _is_unlimited(value, unit):
        return "no limit"
    if unit in MILLISECONDS_IN:
        return human_duration(value * MILLISECONDS_IN[unit])
    if unit == RATE:
        return f"{value:,}"
    return human_size(value << 20 if unit == MEBIBYTES else value)
