"""Warns of an admin URL and a service URL that belong to two clusters: messages go to the wrong one."""

from pulsarctl.shell.call import Call
from pulsarctl.values.names import namespace_of

TIMEOUT_SECONDS = 2.0  # for each of two answers that the command can do without


def warn_of_two_clusters(call: Call, topic: str) -> None:
    """Asks both only if the addresses come from two sources."""
    if call.settings.has_one_source or call.settings.quiet:
        return
    from pulsarctl.diagnosis.checkup.broker_rules import cluster
    from pulsarctl.diagnosis.finding import Severity
    from pulsarctl.facts.broker import owners

    names = owners(call.settings, namespace_of(topic), TIMEOUT_SECONDS)
    finding = None if names is None else cluster(*names)
    if finding is not None and finding.severity is not Severity.OK:
        call.notice(f"warning: {finding.sentence[:1].lower()}{finding.sentence[1:].removesuffix('.')}")
