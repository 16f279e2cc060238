"""Why a subscription delivers nothing: one rule for each cause, in the order in which to look. Pure."""

from collections.abc import Callable, Iterator

from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.evidence import HEALTHY_MS, Document, SubscriptionEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.transactions import acknowledging
from pulsarctl.diagnosis.words import age, command, entries, listed, plural, short
from pulsarctl.values.times import utc

Rule = Callable[[SubscriptionEvidence], Iterator[Finding]]
LEVELS = {"Subscription": "the subscription", "Topic": "the topic", "Broker": "the broker"}


def explain(subscription: SubscriptionEvidence) -> list[Finding]:
    """The findings of each rule; never empty."""
    return [finding for rule in RULES for finding in rule(subscription)] or [_nothing_wrong(subscription)]


def unreadable(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    failure = evidence.stats.get("readFailure")
    if failure:
        yield evidence.finding(
            "unreadable",
            Severity.PROBLEM,
            f"The broker cannot read the next entry: {failure}.",
            command("brokers", "damage"),
        )


def no_consumer(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    if evidence.backlog and not evidence.consumers and not evidence.only_markers:
        acked = evidence.count("lastAckedTimestamp")  # 0 after consumers left Apache Pulsar, and after a start of ours
        when = f"was {age(evidence.topic.now_ms - acked)} ago" if acked else "is not reported"
        yield evidence.finding(
            "no-consumer",
            Severity.PROBLEM,
            f"No consumer is connected, and {_waiting(evidence)}; the last acknowledgment {when}.",
            command("subscriptions", "peek", short(evidence.topic.topic), evidence.name),
        )


def blocked(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """Pulsar stops delivery to a Shared or Key_Shared subscription, or to one of its consumers."""
    topic = short(evidence.topic.topic)
    if evidence.stats.get("blockedSubscriptionOnUnackedMsgs"):
        yield evidence.finding(
            "subscription-blocked",
            Severity.PROBLEM,
            f"Delivery is blocked until consumers acknowledge: {plural(evidence.count('unackedMessages'), 'message')} "
            "of the subscription are unacknowledged, which is its limit.",
            command("topics", "get-max-unacked-messages-per-subscription", topic, "-ap"),
        )
    names = [
        str(consumer.get("consumerName"))
        for consumer in evidence.receiving
        if consumer.get("blockedConsumerOnUnackedMsgs")
    ]
    if names:
        every = len(names) == len(evidence.receiving)
        verb = "is" if len(names) == 1 else "are"
        yield evidence.finding(
            "consumer-blocked",
            Severity.PROBLEM if every else Severity.WARNING,
            f"{_consumers(names)} {verb} blocked until unacknowledged messages are acknowledged: the limit of a "
            "consumer is reached.",
            command("topics", "get-max-unacked-messages-per-consumer", topic, "-ap"),
        )


def no_permits(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """A consumer without permits has a full receiver queue: its application does not receive."""
    idle = [
        consumer
        for consumer in evidence.receiving
        if int(consumer.get("availablePermits") or 0) <= 0
        and not consumer.get("blockedConsumerOnUnackedMsgs")
        and not _receives(evidence, consumer)
    ]
    if not (idle and evidence.backlog and evidence.has_undelivered):
        return
    every = len(idle) == len(evidence.receiving)
    held = sum(int(consumer.get("unackedMessages") or 0) for consumer in idle)
    verb = "has" if len(idle) == 1 else "have"
    holds = f" and {'holds' if len(idle) == 1 else 'hold'} {plural(held, 'unacknowledged message')}" if held else ""
    yield evidence.finding(
        "no-permits",
        Severity.PROBLEM if every else Severity.WARNING,
        f"{_consumers([str(consumer.get('consumerName')) for consumer in idle])} {verb} no permits{holds}: the "
        "application does not receive the messages in its queue.",
        command("topics", "stats", short(evidence.topic.topic)),
    )


def delayed(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    count = evidence.count("msgDelayed")
    if not count or not evidence.backlog:
        return
    every = count >= evidence.backlog
    due = evidence.oldest.deliver_at_ms if evidence.oldest else 0
    when = f"; the oldest one is due on {utc(due)[:19]}Z" if due > evidence.topic.now_ms else ""
    which = (
        "Every entry of the backlog is delayed" if every else f"{count:,} of {entries(evidence.backlog)} are delayed"
    )
    yield evidence.finding(
        "delayed",
        Severity.PROBLEM if every else Severity.WARNING,
        f"{which}{when}.",
        command("subscriptions", "peek", short(evidence.topic.topic), evidence.name),
    )


def key_stuck(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """The hash of a key moved to another consumer, which must wait until the first one acknowledges (PIP-379).

    That a hash drains does not mean that a message waits for it. It is certain if the broker has held one back, or if
    the oldest entry has such a key and others wait to be sent again.
    """
    for holder in evidence.consumers:
        hashes = holder.get("drainingHashes") or []
        if not hashes and not holder.get("drainingHashesCount"):
            continue
        number = len(hashes) or int(holder["drainingHashesCount"])
        held = int(holder.get("drainingHashesUnackedMessages") or 0)
        drained = {draining.get("hash") for draining in hashes}
        is_oldest = evidence.oldest is not None and not drained.isdisjoint(evidence.oldest.key_hashes)
        key = (
            f" (the oldest one has the key '{evidence.oldest.key}')"
            if evidence.oldest is not None and is_oldest
            else ""
        )
        has_held_back = any(int(draining.get("blockedAttempts") or 0) for draining in hashes)
        yield evidence.finding(
            "key-stuck",
            Severity.PROBLEM if evidence.has_undelivered else Severity.WARNING,
            f"Messages of {plural(number, 'key hash', 'key hashes')} wait until consumer "
            f"'{holder.get('consumerName')}' acknowledges {plural(held, 'earlier message')} with the same "
            f"{'hash' if number == 1 else 'hashes'}{key}.",
            command("subscriptions", "peek", short(evidence.topic.topic), evidence.name),
            exact=has_held_back or (is_oldest and evidence.count("msgInReplay") > 0),
        )


def rate_limited(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """The counters never decrease, so only an increase means that delivery is limited now."""
    for level, owner in LEVELS.items():
        names = [f"dispatchThrottled{measure}EventsBy{level}Limit" for measure in ("Msg", "Bytes")]
        now = sum(evidence.throttled_now.get(name, 0) for name in names)
        total = sum(evidence.count(name) for name in names)
        if total and evidence.backlog and evidence.has_undelivered:
            yield evidence.finding(
                "rate-limited",
                Severity.PROBLEM if now else Severity.WARNING,
                f"The dispatch rate of {owner} {'holds' if now else 'has held'} messages back "
                f"({plural(total, 'time')} so far).",
                _rate_command(evidence, level),
                exact=bool(now),
            )


def unacknowledged(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    if not (evidence.is_delivered and evidence.is_stuck):
        return
    holders = [
        str(consumer.get("consumerName"))
        for consumer in evidence.consumers
        if int(consumer.get("unackedMessages") or 0)
    ]
    if evidence.held_acks is not None and not holders:  # a transaction may hold all of them
        return
    who = f"by {_consumers(holders, capital=False)}" if holders else "by its consumers"
    since = f", for {age(evidence.stuck_ms)}" if evidence.stuck_ms else ""
    first = f"; the oldest one is {evidence.oldest.message_id}{since}" if evidence.oldest else ""
    yield evidence.finding(
        "unacknowledged",
        Severity.WARNING,
        f"{_delivered(evidence)} delivered and not acknowledged {who}{first}.",
        command("subscriptions", "peek", short(evidence.topic.topic), evidence.name),
        exact=evidence.topic.is_ours,
    )


def ack_holes(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    ranges = int(evidence.cursor.get("totalNonContiguousDeletedMessagesRange") or 0)
    if ranges and evidence.backlog and evidence.is_stuck:
        first = evidence.oldest.message_id if evidence.oldest else f"after {evidence.cursor.get('markDeletePosition')}"
        later = "a later message is" if ranges == 1 else f"{ranges:,} ranges of later messages are"
        yield evidence.finding(
            "ack-hole",
            Severity.WARNING,
            f"The message {first} is not acknowledged, while {later}; the topic cannot delete anything after it.",
            command("subscriptions", "peek", short(evidence.topic.topic), evidence.name),
        )


def expired(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    count = evidence.count("totalMsgExpired")
    if count:
        when = evidence.count("lastExpireTimestamp")
        last = f", last {age(evidence.topic.now_ms - when)} ago" if when else ""
        yield evidence.finding(
            "expired",
            Severity.WARNING,
            f"{plural(count, 'message')} expired without being acknowledged{last}.",
            command("topics", "get-message-ttl", short(evidence.topic.topic), "-ap"),
        )


RULES: tuple[Rule, ...] = (
    unreadable,
    no_consumer,
    blocked,
    no_permits,
    delayed,
    key_stuck,
    rate_limited,
    acknowledging,
    unacknowledged,
    ack_holes,
    expired,
)


def _nothing_wrong(evidence: SubscriptionEvidence) -> Finding:
    if not evidence.backlog:
        published = int(evidence.topic.stats.get("lastPublishTimeStamp") or 0)
        last = f"; the last message was published {age(evidence.topic.now_ms - published)} ago" if published else ""
        return evidence.finding("no-backlog", Severity.OK, f"Everything is acknowledged{last}.")
    if evidence.only_markers:
        left = plural(evidence.backlog, "marker")
        return evidence.finding(
            "no-backlog", Severity.OK, f"Every message is acknowledged; {left} of replicated subscriptions remain."
        )
    rate = float(evidence.stats.get("msgRateOut") or 0)
    state = f"{_delivered(evidence)} delivered and not acknowledged yet"
    if not evidence.is_delivered:
        holder = "nothing" if evidence.topic.hold is None else "only an open transaction"
        state = f"{_waiting(evidence)}, and {holder} holds them back"
    return evidence.finding(
        "delivering",
        Severity.OK,
        f"{state}; {rate:,.1f} messages/s are delivered.",
        command("topics", "stats", short(evidence.topic.topic)),
        exact=False,
    )


def _waiting(evidence: SubscriptionEvidence) -> str:
    return f"{evidence.waiting.words} {'waits' if evidence.waiting.count == 1 else 'wait'}"


def _delivered(evidence: SubscriptionEvidence) -> str:
    """The messages that are neither delayed nor undelivered, as a subject with its verb."""
    waiting = Backlog(evidence.waiting.count - evidence.count("msgDelayed"), evidence.waiting.is_messages)
    if evidence.held_acks is not None:
        waiting = Backlog(evidence.count("unackedMessages"), True)
    elif evidence.topic.hold is not None:  # what it holds back is known in entries only
        waiting = Backlog(evidence.backlog - evidence.count("msgDelayed") - evidence.topic.hold.entries, False)
    return f"{waiting.words} of the backlog {'is' if waiting.count == 1 else 'are'}"


def _receives(evidence: SubscriptionEvidence, consumer: Document) -> bool:
    """A consumer of a healthy flow has no permits for a moment."""
    sent = int(consumer.get("lastConsumedTimestamp") or 0)
    return sent > 0 and evidence.topic.now_ms - sent < HEALTHY_MS


def _consumers(names: list[str], *, capital: bool = True) -> str:
    noun = "consumer" if len(names) == 1 else "consumers"
    return f"{noun.capitalize() if capital else noun} {listed(names)}"


def _rate_command(evidence: SubscriptionEvidence, level: str) -> str:
    if level == "Broker":
        return command("brokers", "get-runtime-config")
    name = "get-subscription-dispatch-rate" if level == "Subscription" else "get-dispatch-rate"
    return command("topics", name, short(evidence.topic.topic), "-ap")
