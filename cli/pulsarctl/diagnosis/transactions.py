"""What waits for an open transaction: the later messages of a topic, and acknowledged messages. Pure."""

from collections.abc import Iterator

from pulsarctl.diagnosis.evidence import SubscriptionEvidence, TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.open_transactions import NEW_MS, OpenTransaction
from pulsarctl.diagnosis.words import command, entries, plural

LIST = command("transactions", "slow-transactions", "-t", "10s")


def explain(evidence: TopicEvidence) -> Iterator[Finding]:
    """The transaction that holds back the messages after a position."""
    hold = evidence.hold
    if hold is None:
        return
    one = hold.transaction
    what_waits = f"{entries(hold.entries)}: no consumer gets {'it' if hold.entries == 1 else 'them'} before it ends"
    subject = "An open transaction" if one is None else f"{one.words(evidence.now_ms)} and"
    yield evidence.finding(
        "transaction-open",
        severity(one, evidence.now_ms),
        f"{subject} holds back {what_waits}.",
        LIST if one is None else one.next_step(evidence.now_ms),
    )


def acknowledging(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """The transactions that acknowledge messages of a subscription."""
    acks, now_ms = evidence.held_acks, evidence.topic.now_ms
    if acks is None:
        return
    one = acks.known[0]
    others = f", like {plural(acks.count - 1, 'other transaction')}" if acks.count > 1 else ""
    yield evidence.finding(
        "acknowledged-in-transaction",
        severity(one, now_ms),
        f"{one.words(now_ms)} and holds acknowledgments of the subscription{others}: their messages stay in the "
        "backlog until it ends.",
        one.next_step(now_ms),
    )


def severity(transaction: OpenTransaction | None, now_ms: int) -> Severity:
    if transaction is None:
        return Severity.WARNING
    if transaction.is_overdue(now_ms):
        return Severity.PROBLEM
    return Severity.OK if transaction.age_ms(now_ms) < NEW_MS else Severity.WARNING
