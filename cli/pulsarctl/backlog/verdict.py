"""One word on a subscription, and why. Pure."""

from typing import NamedTuple


class Verdict(NamedTuple):
    word: str
    reason: str


class Condition(NamedTuple):
    """The facts that the verdict depends on. Rates are messages per second."""

    messages: int
    delayed_messages: int
    consumers: int
    is_blocked: bool
    rate_in: float
    rate_out: float


OK = Verdict("ok", "no backlog")
DELAYED = Verdict("delayed", "every message waits for its delivery time")
BLOCKED = Verdict("blocked", "its consumers hold as many unacknowledged messages as the broker allows")
IDLE = Verdict("no consumer", "nothing consumes it")
STALLED = Verdict("stalled", "it has consumers, but they acknowledge nothing")


def verdict(condition: Condition) -> Verdict:
    if condition.messages == 0:
        return OK
    if condition.delayed_messages == condition.messages:
        return DELAYED
    if condition.is_blocked:
        return BLOCKED
    if condition.consumers == 0:
        return IDLE
    if condition.rate_out <= 0:
        return STALLED
    rates = f"{condition.rate_in:.1f} messages/s arrive, {condition.rate_out:.1f} leave"
    if condition.rate_in == condition.rate_out:
        return Verdict("steady", rates)
    return Verdict("growing" if condition.rate_in > condition.rate_out else "draining", rates)


def seconds_to_empty(condition: Condition) -> float | None:
    """At the present rates; None if that never happens. Rates lag behind, so it also needs a consumer."""
    if condition.messages == 0:
        return 0.0
    net = condition.rate_out - condition.rate_in
    return condition.messages / net if net > 0 and condition.consumers else None
