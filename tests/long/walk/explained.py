"""Differences that have a reason: `explained.toml`, from which a table of docs/reference/compatibility.md is made.

A reason names the pairs that it explains and patterns that the whole line and both answers match, so that a difference
of another kind in the same line is not explained.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.long.walk.lines import Line

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
    text: str  # for docs/reference/compatibility.md
    lines: tuple[re.Pattern[str], ...]
    theirs: re.Pattern[str]
    ours: re.Pattern[str]
    apart_from: re.Pattern[str]
    after: Callable[[str], Hashable]
    sometimes: bool  # not every walk has the difference

    def explains(self, line: Line, between: Between, one: str, other: str) -> bool:
        return (
            between.subject == self.between
            and any(pattern.fullmatch(line.text) for pattern in self.lines)
            and self.theirs.search(one) is not None
            and self.ours.search(other) is not None
            and self.after(self.apart_from.sub("", one)) == self.after(self.apart_from.sub("", other))
        )


def _words(answer: str) -> Hashable:
    """Without layout: names and values in any order, and none of the names of Java's classes."""
    return tuple(sorted(word for word in re.findall(r"[\w*][-\w./:*]*", answer) if not word.endswith("Impl")))


def _status(answer: str) -> Hashable:
    """The exit code, and the status if the tool shows it."""
    found = re.search(r"\((\d{3}) for ", answer)
    return answer.partition("\n")[0], found and found[1]


def _nothing(_answer: str) -> Hashable:
    return None


_AFTER: dict[str, Callable[[str], Hashable]] = {"": _nothing, "layout": _words, "status": _status}


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
            re.compile(table.get("apart_from", "(?!)")),
            _AFTER[table.get("after", "layout" if "apart_from" in table else "")],
            table.get("sometimes", False),
        )
        for name, table in tables.items()
    )


def reason_for(line: Line, between: Between, one: str, other: str) -> str | None:
    """The name of the first reason that explains the difference."""
    found = (reason.name for reason in reasons() if reason.explains(line, between, one, other))
    return next(found, None)
