"""The findings of `doctor` in one area, as text and as documents. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulsarctl.diagnosis import terminal
from pulsarctl.diagnosis.finding import Finding, Severity, worst_first
from pulsarctl.diagnosis.words import plural


@dataclass(frozen=True, slots=True)
class Area:
    """Findings in the order in which they were found."""

    name: str
    findings: tuple[Finding, ...]

    def without(self, codes: Iterable[str]) -> "Area":
        skipped = set(codes)
        return replace(self, findings=tuple(finding for finding in self.findings if finding.code not in skipped))


def lines(areas: Sequence[Area]) -> Iterator[str]:
    """A heading for each area, its findings with the worst first, and a summary at the end."""
    for area in areas:
        if area.findings:
            yield from terminal.lines(worst_first(area.findings), area.name)
            yield ""
    yield summary(areas)


def documents(areas: Sequence[Area]) -> list[dict[str, Any]]:
    return [{"area": area.name, **finding.document()} for area in areas for finding in worst_first(area.findings)]


def summary(areas: Sequence[Area]) -> str:
    counts = {severity: sum(finding.severity is severity for finding in _all(areas)) for severity in Severity}
    problems, warnings = counts[Severity.PROBLEM], counts[Severity.WARNING]
    return f"{plural(problems, 'problem')}, {plural(warnings, 'warning')}"


def worst(areas: Sequence[Area]) -> Severity:
    return next((finding.severity for finding in worst_first(_all(areas))), Severity.OK)


def _all(areas: Sequence[Area]) -> list[Finding]:
    return [finding for area in areas for finding in area.findings]
