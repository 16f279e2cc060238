"""What a command line answered, in a form in which tools and brokers can be compared."""

from __future__ import annotations

import re
from pathlib import Path

from tests.long.real_pulsar.normalised import normalised
from tests.support.runner import Outcome

REASON = re.compile(r"\n\nReason: (.*)", re.DOTALL)  # how pulsar-admin ends what a broker refuses
REFUSED = re.compile(r"^error: (.*?) \(\d{3} for [A-Z]+ http", re.DOTALL | re.MULTILINE)  # and pulsarctl
USAGE = 2
FILES = Path(__file__).with_name("files")
# Times, addresses, and IDs in text.
TEXT = (
    (re.escape(str(FILES)), "FILES"),
    (r"(localhost|127\.0\.0\.1):\d+", r"localhost:PORT"),
    (r"\bin \d+(\.\d+)? ?ms\b", "in N ms"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:?\d\d)", "TIME"),
    (r"SLF4J\(W\).*\n", ""),  # of the JVM's first line
    (r"(essage ID: )\d+:", r"\1L:"),
    (r"(Publish time: |imestamp\S* : |PublishTime\S* : )\d{12,}", r"\1TIME"),
    (r'("[a-zA-Z]*(?:Timestamp|TimeStamp|PublishTime\w*|Date)": )("[^"]+"|[1-9]\d{11,})', r"\1TIME"),
    (r"(rocksdb:/)/\S+?/metadata", r"\1/PATH"),
    (r"(ServicePort\s+)Optional\[\d+\]", r"\1PORT"),
    (r"ServletContainer-[0-9a-f]+", "ServletContainer-ID"),
    (r"timestamp/\d{12,}", "timestamp/TIME"),
)


def compared(outcome: Outcome) -> Outcome:
    """The outcome without what differs from run to run."""
    return Outcome(outcome.exit_code, _text(outcome.stdout), _text(outcome.stderr))


def of_pulsar_admin(outcome: Outcome) -> str:
    """The answer of pulsar-admin in words that hold for `pulsarctl`, too."""
    if outcome.exit_code == 0:
        return f"ok\n{outcome.stdout}"
    reason = REASON.search(outcome.stderr)
    return f"refused: {reason[1].strip()}" if reason else "usage"


def of_pulsarctl(outcome: Outcome) -> str:
    if outcome.exit_code == 0:
        return f"ok\n{outcome.stdout}"
    reason = REFUSED.search(outcome.stderr)
    if reason:
        return f"refused: {reason[1].strip()}"
    return "usage" if outcome.exit_code == USAGE else f"failed: {outcome.stderr.strip()}"


def _text(output: str) -> str:
    output = normalised(output)
    for pattern, replacement in TEXT:
        output = re.sub(pattern, replacement, output)
    return output
