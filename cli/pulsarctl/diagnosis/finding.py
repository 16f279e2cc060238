"""A finding: one sentence that says what is so, and one command that shows more or repairs it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    PROBLEM = "problem"
    WARNING = "warning"
    OK = "ok"


class Certainty(StrEnum):
    """`LIKELY`: the broker does not report the cause, so it follows from what it does report."""

    EXACT = "exact"
    LIKELY = "likely"


ORDER = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` is stable, for scripts. `command` is empty if there is nothing to do."""

    code: str
    severity: Severity
    sentence: str
    command: str = ""
    certainty: Certainty = Certainty.EXACT
    topic: str = ""
    subscription: str = ""

    def document(self) -> dict[str, Any]:
        """Return every field for `-o json`, null where it has no value."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "certainty": str(self.certainty),
            "topic": self.topic or None,
            "subscription": self.subscription or None,
            "finding": self.sentence,
            "command": self.command or None,
        }


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by severity: problems, warnings, and others, each in the order in which they were found."""
    return sorted(findings, key=lambda finding: ORDER.index(finding.severity))
