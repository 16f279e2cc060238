"""Rules that find transactions that are open for too long. Pure."""

from collections.abc import Iterator, Sequence

from pulsarctl.diagnosis.evidence import TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.open_transactions import OpenTransaction
from pulsarctl.diagnosis.words import entries, listed, plural

LONG_MS = 60_000


def transactions(
    topics: Sequence[TopicEvidence], open_now: Sequence[OpenTransaction], now_ms: int
) -> Iterator[Finding]:
    """Transactions that outlive their time-out, and the oldest that holds back messages. `open_now`: oldest first."""
    names = {evidence.topic for evidence in topics}
    here = [one for one in open_now if not names.isdisjoint({*one.published, *one.acknowledged})]
    for one in here:
        if one.is_overdue(now_ms):
            yield _finding("transaction-overdue", Severity.PROBLEM, one, _held_by(one, topics), now_ms)
    oldest = next((one for one in here if _held_by(one, topics)), None)
    if oldest is not None and oldest.age_ms(now_ms) > LONG_MS and not oldest.is_overdue(now_ms):
        yield _finding("transaction-open", Severity.WARNING, oldest, _held_by(oldest, topics), now_ms)


def _held_by(one: OpenTransaction, topics: Sequence[TopicEvidence]) -> dict[str, int]:
    """By topic, how many entries it holds back."""
    holds = ((evidence.topic, evidence.hold) for evidence in topics)
    return {topic: hold.entries for topic, hold in holds if hold and hold.transaction and hold.transaction.id == one.id}


def _finding(code: str, severity: Severity, one: OpenTransaction, held: dict[str, int], now_ms: int) -> Finding:
    names = listed(sorted(topic.rpartition("/")[2] for topic in held))
    effect = f" and holds back {entries(sum(held.values()))} of {plural(len(held), 'topic')} ({names})" if held else ""
    words = one.words(now_ms) if held else one.words(now_ms).removesuffix(",")
    return Finding(code, severity, f"{words}{effect}.", one.next_step(now_ms))
