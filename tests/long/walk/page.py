"""Writes a section of docs/reference/compatibility.md: the differences that `make walk` found, with their reasons.

The reasons are data of the walk, and so is the summary of its last whole run.
"""

import json
import re
from pathlib import Path

from tests.long.walk.explained import Reason, reasons
from tests.long.walk.summary import FILE

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "compatibility.md"
PLACE = re.compile(r"(?<=<!-- begin: written by make docs, about make walk -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)
SUBJECTS = {
    "brokers": "This broker and Apache Pulsar",
    "tools": "`pulsarctl` and pulsar-admin",
}


def main() -> None:
    PAGE.write_text(PLACE.sub(lambda _: section(), PAGE.read_text("utf-8")), encoding="utf-8")


def section() -> str:
    found = json.loads(FILE.read_text("utf-8"))
    head = (
        f"`make walk` runs {found['lines']} command lines. {found['equal']} of them have four equal answers once IDs,"
        f" times, and addresses are left out; the other {found['lines'] - found['equal']} differ for these reasons:"
    )
    return "\n\n".join([head, *(_table(subject, found["reasons"]) for subject in SUBJECTS)])


def _table(subject: str, counts: dict[str, int]) -> str:
    rows = [f"| {reason.text} | {counts.get(reason.name, 0)} |" for reason in _sorted(subject, counts)]
    return "\n".join([f"| {SUBJECTS[subject]} | lines |", "|---|---|", *rows])


def _sorted(subject: str, counts: dict[str, int]) -> list[Reason]:
    chosen = [reason for reason in reasons() if reason.between == subject]
    return sorted(chosen, key=lambda reason: (-counts.get(reason.name, 0), reason.name))


if __name__ == "__main__":
    main()
