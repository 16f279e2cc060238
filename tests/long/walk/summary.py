"""The counts of the last whole walk, which docs/reference/compatibility.md quotes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.long.walk.comparison import Comparison

FILE = Path(__file__).with_name("summary.json")


def write(compared: Sequence[Comparison]) -> None:
    names = sorted({name for each in compared for name in each.reasons})
    summary = {
        "lines": len(compared),
        "equal": sum(each.is_equal for each in compared),
        "unexplained": sum(bool(each.unexplained) for each in compared),
        "reasons": {name: sum(name in each.reasons for each in compared) for name in names},
    }
    FILE.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
