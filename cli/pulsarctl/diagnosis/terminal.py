"""Findings as text for a terminal of 80 columns. Pure."""

import textwrap
from collections.abc import Iterator, Sequence

from pulsarctl.diagnosis.finding import Certainty, Finding
from pulsarctl.diagnosis.words import short
from pulsarctl.output.terminal_text import one_line

WIDTH = 80
LABEL_WIDTH = 9  # `problem` and two spaces, with `warning` as long


def lines(findings: Sequence[Finding], area: str = "") -> Iterator[str]:
    """One paragraph for each finding, under a heading for each topic and subscription.

    `area` is the heading of findings that belong to neither.
    """
    place = ""
    for finding in findings:
        here = _place(finding) or area
        if here != place:
            yield from ([here] if not place else ["", here])
            place = here
        yield from _finding(finding)


def _place(finding: Finding) -> str:
    subscription = f", subscription {finding.subscription}" if finding.subscription else ""
    return one_line(f"{short(finding.topic)}{subscription}")


def _finding(finding: Finding) -> Iterator[str]:
    indent = " " * (LABEL_WIDTH + 2)
    likely = " (likely)" if finding.certainty is Certainty.LIKELY else ""
    label = f"  {finding.severity:<{LABEL_WIDTH}}"
    yield from textwrap.wrap(
        one_line(finding.sentence) + likely,
        WIDTH,
        initial_indent=label,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    if finding.command:
        yield f"{indent}{finding.command}"  # one line, to copy
