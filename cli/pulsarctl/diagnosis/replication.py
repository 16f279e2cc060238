"""Why a topic is not replicated to another cluster. Pure."""

from collections.abc import Iterator

from pulsarctl.diagnosis.evidence import TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import command, entries, short


def explain(evidence: TopicEvidence) -> Iterator[Finding]:
    """Apache Pulsar does not report the reason, and a replicator that just starts is not connected, either."""
    for cluster, stats in sorted((evidence.stats.get("replication") or {}).items()):
        reason, backlog = str(stats.get("lastError") or ""), int(stats.get("replicationBacklog") or 0)
        waiting = f"{entries(backlog)} {'waits' if backlog == 1 else 'wait'}"
        if reason:
            yield evidence.finding(
                "not-replicated",
                Severity.PROBLEM,
                f"Nothing is replicated to cluster {cluster}, and {waiting}: {reason}.",
                command("clusters", "get", cluster),
            )
        elif backlog and not stats.get("connected"):
            yield evidence.finding(
                "not-replicated",
                Severity.WARNING,
                f"Cluster {cluster} is not connected, and {waiting}.",
                command("topics", "stats", short(evidence.topic)),
                exact=False,
            )
