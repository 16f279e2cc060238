"""Differences that have a reason: `explained.toml`, from which a table of docs/compatibility.md is made.

A reason names the pairs that it explains and patterns that the whole line and both answers match, so that a difference
of another kind in the same line is not explained.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.walk.lines import Line

FILE = Path(__file__).with_name("explained.toml")


class Between(StrEnum):
    """What is compared: one side is Apache Pulsar or pulsar-admin, the other is ours."""

    BROKERS_BY_PULSAR_ADMIN = "brokers, asked by pulsar-admin"
    BROKERS_BY_PULSARCTL = "brokers, asked by pulsarctl"
    TOOLS_ON_PULSAR = "tools on Apache Pulsar"
    TOOLS_HERE = "tools on this broker"

    @property
    def subject(self) -> str:
        return self.partition(",")[0].partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Reason:
    name: str
    between: str  # "brokers" or "tools"
    text: str  # for docs/compatibility.md
    lines: tuple[re.Pattern[str], ...]
    theirs: re.Pattern[str]
    ours: re.Pattern[str]
    after_sorting: bool

    def explains(self, line: Line, between: Between, one: str, other: str) -> bool:
        return (
            between.subject == self.between
            and any(pattern.fullmatch(line.text) for pattern in self.lines)
            and self.theirs.search(one) is not None
            and self.ours.search(other) is not None
            and (not self.after_sorting or _sorted(one) == _sorted(other))
        )


def _sorted(answer: str) -> list[str]:
    return sorted(line.rstrip(",") for line in answer.splitlines())


@cache
def reasons() -> tuple[Reason, ...]:
    tables = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(
        Reason(
            name,
            table["between"],
            table["text"],
            tuple(re.compile(pattern) for pattern in table["lines"]),
            re.compile(table.get("theirs", ""), re.DOTALL),
            re.compile(table.get("ours", ""), re.DOTALL),
            table.get("after") == "sorting",
        )
        for name, table in tables.items()
    )


def reason_for(line: Line, between: Between, one: str, other: str) -> str | None:
    """The name of the first reason that explains the difference."""
    found = (reason.name for reason in reasons() if reason.explains(line, between, one, other))
    return next(found, None)
