"""The same command lines through pulsar-admin and `pulsarctl`, each on Apache Pulsar and on this broker.

    python -m tests.long.walk --only topics --only schemas
    python -m tests.long.walk --again

Compares the four answers of each line, and looks up what differs in `explained.toml`. The answers go to
`build/walk/answers.json`, and how they compare to `build/walk/results.json`. Fails if a difference has no reason, or a
reason no difference.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.long.walk import summary
from tests.long.walk.comparison import Comparison, compare
from tests.long.walk.explained import reasons
from tests.long.walk.lines import Line, lines, parts
from tests.long.walk.walking import Pair, walk

FOLDER = Path("build/walk")
Answers = dict[str, dict[str, Pair]]  # by the name of a line and the name of a tool


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the answers of two tools on two brokers.")
    parser.add_argument("--only", action="append", choices=parts(), help="Walk this part only.")
    parser.add_argument("--again", action="store_true", help="Compare the answers of earlier walks again.")
    options = parser.parse_args()
    chosen = [line for part in options.only or parts() for line in lines(part)]
    answers = _kept()
    if not options.again:
        _walk(chosen, answers)
    compared = [compare(line, **answers[line.name]) for line in chosen if not line.prepares]
    _keep("results", [each.as_json() for each in compared])
    if not options.only:
        summary.write(compared)
    return _report(compared, whole=not options.only)


def _walk(chosen: list[Line], answers: Answers) -> None:
    """Fills in `answers`, and keeps what there is if the walk is stopped."""
    try:
        with tempfile.TemporaryDirectory(prefix="walk-") as folder:
            for tool, line, pair in walk(chosen, Path(folder)):
                answers.setdefault(line.name, {})[tool] = pair
    finally:
        _keep(
            "answers", {name: {tool: asdict(pair) for tool, pair in pairs.items()} for name, pairs in answers.items()}
        )


def _kept() -> Answers:
    file = FOLDER / "answers.json"
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {name: {tool: Pair.read(pair) for tool, pair in pairs.items()} for name, pairs in kept.items()}


def _keep(name: str, value: object) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _report(compared: list[Comparison], whole: bool) -> int:
    unexplained = [each for each in compared if each.unexplained]
    for each in unexplained:
        sys.stdout.write(each.shown())
    used = {reason for each in compared for reason in each.reasons}
    unused = {each.name for each in reasons() if not each.sometimes} - used if whole else set()
    for name in sorted(unused):
        sys.stdout.write(f"the reason {name} explains nothing\n")
    for name in sorted(used):
        sys.stdout.write(f"{sum(name in each.reasons for each in compared):5} lines: {name}\n")
    equal = sum(each.is_equal for each in compared)
    counts = f"{len(compared)} lines: {equal} equal four ways, {len(compared) - equal - len(unexplained)} explained"
    sys.stdout.write(f"{counts}, {len(unexplained)} not explained\n")
    return bool(unexplained or unused)


if __name__ == "__main__":
    sys.exit(main())
