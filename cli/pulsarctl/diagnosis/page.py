"""A description made for reading: facts, and tables of what belongs to it, at 80 columns. Pure."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pulsarctl.diagnosis.finding import Finding, Severity, worst_first
from pulsarctl.diagnosis.words import plural
from pulsarctl.output.terminal_text import one_line

WIDTH = 80
LABEL_WIDTH = 14
BAR_WIDTH = 12
CELL_MIN = 16
NUMBER = re.compile(r"[\d,]+")
HEALTHY = "healthy"
HEALTH = f"{'Health':<{LABEL_WIDTH}}"  # before the state of the page, in its line

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """A table. A page without its rows says `nothing`."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    nothing: str = "none"


@dataclass(frozen=True, slots=True)
class Page:
    """A diagnosis as it is shown."""

    kind: str
    name: str
    facts: Sequence[Fact]
    sections: Sequence[Section] = ()

    def document(self) -> dict[str, Any]:
        """Return the same words for `-o json`, by label and by column."""
        tables = {
            section.title.lower(): [
                dict(zip(map(str.lower, section.columns), row, strict=True)) for row in section.rows
            ]
            for section in self.sections
        }
        return {"kind": self.kind, "name": self.name} | {label.lower(): text for label, text in self.facts} | tables


def lines(page: Page) -> Iterator[str]:
    """Names are never cut: a line with a long one is longer."""
    for label, text in ((page.kind, page.name), *page.facts):
        indent = " " * LABEL_WIDTH
        yield from textwrap.wrap(
            one_line(text),
            WIDTH,
            initial_indent=f"{label:<{LABEL_WIDTH}}",
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
    for section in page.sections:
        yield ""
        yield from _section(section)


def health(findings: Sequence[Finding]) -> str:
    """The worst finding in words, and the number of the others."""
    bad = [finding for finding in worst_first(findings) if finding.severity is not Severity.OK]
    if not bad:
        return HEALTHY
    first, others = bad[0], len(bad) - 1
    where = f" in subscription {first.subscription}" if first.subscription else ""
    more = f" And {plural(others, 'more finding')}." if others else ""
    return f"{first.severity}{where}: {first.sentence}{more}"


def bar(part: int, total: int) -> str:
    """A part of the largest value; one cell at least if there is any."""
    cells = 0 if total <= 0 or part <= 0 else max(1, round(BAR_WIDTH * part / total))
    return "█" * cells


def _section(section: Section) -> Iterator[str]:
    if not section.rows:
        yield f"{section.title:<{LABEL_WIDTH}}{section.nothing}"
        return
    yield section.title
    rows = [tuple(map(one_line, row)) for row in section.rows]
    grid = [line for row in (section.columns, *rows) for line in _wrapped(row, _widest_column(section))]
    widths = [max(len(row[index]) for row in grid) for index in range(len(section.columns))]
    are_numbers = [all(NUMBER.fullmatch(row[index]) for row in rows) for index in range(len(section.columns))]
    for row in grid:
        cells = zip(row, widths, are_numbers, strict=True)
        yield (
            "  " + "  ".join(f"{text:{'>' if is_number else '<'}{width}}" for text, width, is_number in cells).rstrip()
        )


def _widest_column(section: Section) -> dict[int, int]:
    """The width of the widest column, by index, if the table is wider than a page."""
    widths = [max(len(row[index]) for row in (section.columns, *section.rows)) for index in range(len(section.columns))]
    widest = widths.index(max(widths))
    others = sum(widths) - widths[widest] + 2 * len(widths)
    return {widest: max(CELL_MIN, WIDTH - others)} if widths[widest] + others > WIDTH else {}


def _wrapped(row: tuple[str, ...], widths: dict[int, int]) -> Iterator[tuple[str, ...]]:
    """The lines of a row. Only a word that is wider than its column is broken."""
    cells = [_cell_lines(text, widths.get(index)) for index, text in enumerate(row)]
    for line in range(max(map(len, cells))):
        yield tuple(cell[line] if line < len(cell) else "" for cell in cells)


def _cell_lines(text: str, width: int | None) -> list[str]:
    if width is None:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
