"""The table in docs/reference/compatibility.md: the tests of each client for each feature, and how many of them passed.

`make test-clients ARGS=--write-docs` writes it; `python -m tests.clients.compatibility_table` uses the last run.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.clients.catalogue import CLIENTS, FEATURES, HERE, SourceFile, source_files
from tests.clients.tool_chains import PASSED, RESULTS, Outcome

PAGE = HERE.parent.parent / "docs" / "reference" / "compatibility.md"
BEGIN = "<!-- begin: written by make test-clients ARGS=--write-docs -->"
END = "<!-- end -->"


def last_run() -> list[Outcome]:
    return [Outcome(**outcome) for outcome in json.loads(RESULTS.read_text(encoding="utf-8"))]


def write_page(outcomes: Iterable[Outcome]) -> None:
    """Writes the table of a run between the two marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(outcomes)}\n{END}{after}", encoding="utf-8")


def table(outcomes: Iterable[Outcome]) -> str:
    """The table as Markdown. The Python tests are part of `make test`, so they are named and not counted."""
    passed = {(outcome.client, outcome.test) for outcome in outcomes if outcome.result == PASSED}
    files = source_files()
    lines = ["| feature | " + " | ".join(CLIENTS) + " |", "|---" * (len(CLIENTS) + 1) + "|"]
    for feature, title in FEATURES.items():
        cells = [cell(feature, [file for file in files if file.client == client], passed) for client in CLIENTS]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(feature: str, files: list[SourceFile], passed: set[tuple[str, str]]) -> str:
    return ", ".join(entry(file, passed) for file in files if feature in file.features)


def entry(file: SourceFile, passed: set[tuple[str, str]]) -> str:
    """`[SeekTest](../../tests/clients/java/…/SeekTest.java) 12`, or `10 of 12` when two of twelve failed."""
    total = len(file.tests)
    link = Path(os.path.relpath(HERE / file.path, PAGE.parent)).as_posix()
    name = f"[{file.path.name.partition('.')[0]}]({link})"
    if file.client == "Python":
        return name
    good = sum((file.client, test) in passed for test in run_names(file))
    return f"{name} {good if good == total else f'{good} of {total}'}"


def run_names(file: SourceFile) -> list[str]:
    """The names that the tool chain reports for the tests of a file; in Java, with the class name."""
    return [f"{file.path.stem}.{test}" if file.client.startswith("Java") else test for test in file.tests]


def counts_in_page() -> Mapping[str, int]:
    """Path below tests/clients -> the number of its tests on the page; 0 for Python."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    found = re.findall(r"\(\.\./\.\./tests/clients/([^)]+)\)(?: (?:\d+ of )?(\d+))?", text)
    return {path: int(count or 0) for path, count in found}


if __name__ == "__main__":
    write_page(last_run())
