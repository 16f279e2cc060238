"""One word on a subscription, and why. Pure."""

from typing import NamedTuple


class Verdict(NamedTuple):
    word: str
    reason: str


class Condition(NamedTuple):
    """What the verdict depends on. Rates are messages per second."""

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


def verdict(of: Condition) -> Verdict:
    if of.messages == 0:
        return OK
    if of.delayed_messages == of.messages:
        return DELAYED
    if of.is_blocked:
        return BLOCKED
    if of.consumers == 0:
        return IDLE
    if of.rate_out <= 0:
        return STALLED
    rates = f"{of.rate_in:.1f} messages/s arrive, {of.rate_out:.1f} leave"
    if of.rate_in == of.rate_out:
        return Verdict("steady", rates)
    return Verdict("growing" if of.rate_in > of.rate_out else "draining", rates)


def seconds_to_empty(of: Condition) -> float | None:
    """At the present rates; None if that never happens. Rates lag behind, so it also needs a consumer."""
    if of.messages == 0:
        return 0.0
    net = of.rate_out - of.rate_in
    return of.messages / net if net > 0 and of.consumers else None
