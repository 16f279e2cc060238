"""Why a subscription delivers nothing: one rule for each cause, in the order in which to look. Pure."""

from collections.abc import Callable, Iterator

from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.evidence import HEALTHY_MS, Document, SubscriptionEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import age, command, entries, listed, plural, short
from pulsarctl.values.times import utc

Rule = Callable[[SubscriptionEvidence], Iterator[Finding]]
LEVELS = {"Subscription": "the subscription", "Topic": "the topic", "Broker": "the broker"}


def explain(subscription: SubscriptionEvidence) -> list[Finding]:
    """The findings of each rule; never empty."""
    return [finding for rule in RULES for finding in rule(subscription)] or [_nothing_wrong(subscription)]


def unreadable(one: SubscriptionEvidence) -> Iterator[Finding]:
    failure = one.stats.get("readFailure")
    if failure:
        yield one.found(
            "unreadable",
            Severity.PROBLEM,
            f"The broker cannot read the next entry: {failure}.",
            command("brokers", "damage"),
        )


def no_consumer(one: SubscriptionEvidence) -> Iterator[Finding]:
    if one.backlog and not one.consumers and not one.only_markers:
        acked = one.count("lastAckedTimestamp")  # 0 after consumers left Apache Pulsar, and after a start of ours
        when = f"was {age(one.topic.now_ms - acked)} ago" if acked else "is not reported"
        yield one.found(
            "no-consumer",
            Severity.PROBLEM,
            f"No consumer is connected, and {_waiting(one)}; the last acknowledgment {when}.",
            command("subscriptions", "peek", short(one.topic.topic), one.name),
        )


def blocked(one: SubscriptionEvidence) -> Iterator[Finding]:
    """Pulsar stops delivery to a Shared or Key_Shared subscription, or to one of its consumers."""
    topic = short(one.topic.topic)
    if one.stats.get("blockedSubscriptionOnUnackedMsgs"):
        yield one.found(
            "subscription-blocked",
            Severity.PROBLEM,
            f"Delivery is blocked until consumers acknowledge: {plural(one.count('unackedMessages'), 'message')} of "
            "the subscription are unacknowledged, which is its limit.",
            command("topics", "get-max-unacked-messages-per-subscription", topic, "-ap"),
        )
    names = [str(each.get("consumerName")) for each in one.receiving if each.get("blockedConsumerOnUnackedMsgs")]
    if names:
        every = len(names) == len(one.receiving)
        verb = "is" if len(names) == 1 else "are"
        yield one.found(
            "consumer-blocked",
            Severity.PROBLEM if every else Severity.WARNING,
            f"{_consumers(names)} {verb} blocked until unacknowledged messages are acknowledged: the limit of a "
            "consumer is reached.",
            command("topics", "get-max-unacked-messages-per-consumer", topic, "-ap"),
        )


def no_permits(one: SubscriptionEvidence) -> Iterator[Finding]:
    """A consumer without permits has a full receiver queue: its application does not receive."""
    idle = [
        each
        for each in one.receiving
        if int(each.get("availablePermits") or 0) <= 0
        and not each.get("blockedConsumerOnUnackedMsgs")
        and not _receives(one, each)
    ]
    if not (idle and one.backlog and one.has_undelivered):
        return
    every = len(idle) == len(one.receiving)
    held = sum(int(each.get("unackedMessages") or 0) for each in idle)
    verb = "has" if len(idle) == 1 else "have"
    holds = f" and {'holds' if len(idle) == 1 else 'hold'} {plural(held, 'unacknowledged message')}" if held else ""
    yield one.found(
        "no-permits",
        Severity.PROBLEM if every else Severity.WARNING,
        f"{_consumers([str(each.get('consumerName')) for each in idle])} {verb} no permits{holds}: the application "
        "does not receive the messages in its queue.",
        command("topics", "stats", short(one.topic.topic)),
    )


def delayed(one: SubscriptionEvidence) -> Iterator[Finding]:
    count = one.count("msgDelayed")
    if not count or not one.backlog:
        return
    every = count >= one.backlog
    due = one.oldest.deliver_at_ms if one.oldest else 0
    when = f"; the oldest one is due on {utc(due)[:19]}Z" if due > one.topic.now_ms else ""
    which = "Every entry of the backlog is delayed" if every else f"{count:,} of {entries(one.backlog)} are delayed"
    yield one.found(
        "delayed",
        Severity.PROBLEM if every else Severity.WARNING,
        f"{which}{when}.",
        command("subscriptions", "peek", short(one.topic.topic), one.name),
    )


def key_stuck(one: SubscriptionEvidence) -> Iterator[Finding]:
    """The hash of a key moved to another consumer, which must wait until the first one acknowledges (PIP-379).

    That a hash drains does not mean that a message waits for it. It is certain if the broker has held one back, or if
    the oldest entry has such a key and others wait to be sent again.
    """
    for consumer in one.consumers:
        hashes = consumer.get("drainingHashes") or []
        if not hashes and not consumer.get("drainingHashesCount"):
            continue
        number = len(hashes) or int(consumer["drainingHashesCount"])
        held = int(consumer.get("drainingHashesUnackedMessages") or 0)
        drained = {each.get("hash") for each in hashes}
        is_oldest = one.oldest is not None and not drained.isdisjoint(one.oldest.key_hashes)
        key = f" (the oldest one has the key '{one.oldest.key}')" if one.oldest is not None and is_oldest else ""
        has_held_back = any(int(each.get("blockedAttempts") or 0) for each in hashes)
        yield one.found(
            "key-stuck",
            Severity.PROBLEM if one.has_undelivered else Severity.WARNING,
            f"Messages of {plural(number, 'key hash', 'key hashes')} wait until consumer "
            f"'{consumer.get('consumerName')}' acknowledges {plural(held, 'earlier message')} with the same "
            f"{'hash' if number == 1 else 'hashes'}{key}.",
            command("subscriptions", "peek", short(one.topic.topic), one.name),
            exact=has_held_back or (is_oldest and one.count("msgInReplay") > 0),
        )


def rate_limited(one: SubscriptionEvidence) -> Iterator[Finding]:
    """The counters never decrease, so only an increase means that delivery is limited now."""
    for level, owner in LEVELS.items():
        names = [f"dispatchThrottled{what}EventsBy{level}Limit" for what in ("Msg", "Bytes")]
        now = sum(one.throttled_now.get(name, 0) for name in names)
        total = sum(one.count(name) for name in names)
        if total and one.backlog and one.has_undelivered:
            yield one.found(
                "rate-limited",
                Severity.PROBLEM if now else Severity.WARNING,
                f"The dispatch rate of {owner} {'holds' if now else 'has held'} messages back "
                f"({plural(total, 'time')} so far).",
                _rate_command(one, level),
                exact=bool(now),
            )


def unacknowledged(one: SubscriptionEvidence) -> Iterator[Finding]:
    if not (one.is_delivered and one.is_stuck):
        return
    holders = [str(each.get("consumerName")) for each in one.consumers if int(each.get("unackedMessages") or 0)]
    who = f"by {_consumers(holders, capital=False)}" if holders else "by its consumers"
    since = f", for {age(one.stuck_ms)}" if one.stuck_ms else ""
    first = f"; the oldest one is {one.oldest.message_id}{since}" if one.oldest else ""
    yield one.found(
        "unacknowledged",
        Severity.WARNING,
        f"{_delivered(one)} delivered and not acknowledged {who}{first}.",
        command("subscriptions", "peek", short(one.topic.topic), one.name),
        exact=one.topic.is_ours,
    )


def ack_holes(one: SubscriptionEvidence) -> Iterator[Finding]:
    ranges = int(one.cursor.get("totalNonContiguousDeletedMessagesRange") or 0)
    if ranges and one.backlog and one.is_stuck:
        first = one.oldest.message_id if one.oldest else f"after {one.cursor.get('markDeletePosition')}"
        later = "a later message is" if ranges == 1 else f"{ranges:,} ranges of later messages are"
        yield one.found(
            "ack-hole",
            Severity.WARNING,
            f"The message {first} is not acknowledged, while {later}; the topic cannot delete anything after it.",
            command("subscriptions", "peek", short(one.topic.topic), one.name),
        )


def expired(one: SubscriptionEvidence) -> Iterator[Finding]:
    count = one.count("totalMsgExpired")
    if count:
        when = one.count("lastExpireTimestamp")
        last = f", last {age(one.topic.now_ms - when)} ago" if when else ""
        yield one.found(
            "expired",
            Severity.WARNING,
            f"{plural(count, 'message')} expired without being acknowledged{last}.",
            command("topics", "get-message-ttl", short(one.topic.topic), "-ap"),
        )


RULES: tuple[Rule, ...] = (
    unreadable,
    no_consumer,
    blocked,
    no_permits,
    delayed,
    key_stuck,
    rate_limited,
    unacknowledged,
    ack_holes,
    expired,
)


def _nothing_wrong(one: SubscriptionEvidence) -> Finding:
    if not one.backlog:
        published = int(one.topic.stats.get("lastPublishTimeStamp") or 0)
        last = f"; the last message was published {age(one.topic.now_ms - published)} ago" if published else ""
        return one.found("no-backlog", Severity.OK, f"Everything is acknowledged{last}.")
    if one.only_markers:
        left = plural(one.backlog, "marker")
        return one.found(
            "no-backlog", Severity.OK, f"Every message is acknowledged; {left} of replicated subscriptions remain."
        )
    rate = float(one.stats.get("msgRateOut") or 0)
    state = f"{_delivered(one)} delivered and not acknowledged yet"
    if not one.is_delivered:
        state = f"{_waiting(one)}, and nothing holds them back"
    return one.found(
        "delivering",
        Severity.OK,
        f"{state}; {rate:,.1f} messages/s are delivered.",
        command("topics", "stats", short(one.topic.topic)),
        exact=False,
    )


def _waiting(one: SubscriptionEvidence) -> str:
    return f"{one.waiting.words} {'waits' if one.waiting.count == 1 else 'wait'}"


def _delivered(one: SubscriptionEvidence) -> str:
    """What is neither delayed nor undelivered, as a subject with its verb."""
    waiting = Backlog(one.waiting.count - one.count("msgDelayed"), one.waiting.is_messages)
    return f"{waiting.words} of the backlog {'is' if waiting.count == 1 else 'are'}"


def _receives(one: SubscriptionEvidence, consumer: Document) -> bool:
    """A consumer of a healthy flow has no permits for a moment."""
    sent = int(consumer.get("lastConsumedTimestamp") or 0)
    return sent > 0 and one.topic.now_ms - sent < HEALTHY_MS


def _consumers(names: list[str], *, capital: bool = True) -> str:
    noun = "consumer" if len(names) == 1 else "consumers"
    return f"{noun.capitalize() if capital else noun} {listed(names)}"


def _rate_command(one: SubscriptionEvidence, level: str) -> str:
    if level == "Broker":
        return command("brokers", "get-runtime-config")
    name = "get-subscription-dispatch-rate" if level == "Subscription" else "get-dispatch-rate"
    return command("topics", name, short(one.topic.topic), "-ap")
