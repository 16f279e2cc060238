"""The screen of `top`: what is shown, and what keys do to it."""

import io
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pulsarctl.commands.top.snapshots import Refresher
from pulsarctl.diagnosis import overview
from pulsarctl.diagnosis.overview import History, Row, TopicsSnapshot, View
from pulsarctl.errors import CliError
from pulsarctl.output import colors, render
from pulsarctl.output.keyboard import Keyboard
from pulsarctl.output.terminal_text import escaped_cell
from pulsarctl.values.names import namespace_of
from pulsarctl.values.times import utc

if TYPE_CHECKING:
    from rich.console import JustifyMethod

KEY_SECONDS = 0.2  # the longest time until a new size of the terminal is seen
HELP = (
    "q quit",
    "t topics",
    "s subscriptions",
    "c consumers",
    "< > sort by",
    "r reverse",
    "space refresh",
    "up/down scroll",
)
VIEW_OF_KEY = {"t": overview.TOPICS, "s": overview.SUBSCRIPTIONS, "c": overview.CONSUMERS}
STEPS = {"up": -1, "down": 1, "page-up": -10, "page-down": 10}
NAME_WIDTH = 12  # the minimum for a column of names
GAP = 1  # between columns


@dataclass
class Screen:
    """The state of the screen. `sort` is the field of a column of the view."""

    view: View
    sort: str
    reverse: bool = False
    first: int = 0  # the row at the top
    error: str = ""
    now: TopicsSnapshot | None = None
    rows: list[Row] = field(default_factory=list)
    history: History = field(default_factory=History)
    _before: TopicsSnapshot | None = None

    def update(self, arrived: TopicsSnapshot | CliError) -> None:
        """After an error, the last rows stay."""
        if isinstance(arrived, CliError):
            self.error = arrived.message
            return
        self._before, self.now, self.error = self.now, arrived, ""
        self._compute()
        self.history.add(self.rows, overview.RATE[self.view.title])

    def press(self, key: str) -> bool:
        """Handles a key, and returns whether it changes the screen."""
        if key in VIEW_OF_KEY:
            self._look_at(VIEW_OF_KEY[key])
        elif key in ("<", ">"):
            fields = [column.field for column in self.view.columns]
            self.sort = fields[(fields.index(self.sort) + (1 if key == ">" else -1)) % len(fields)]
        elif key == "r":
            self.reverse = not self.reverse
        elif key in STEPS:
            self.first = max(0, min(len(self.rows) - 1, self.first + STEPS[key]))
        else:
            return False
        return True

    def lines(self, width: int, height: int) -> str:
        """The whole screen, at most `height` lines. The keys are at the bottom, with an error above."""
        below = [*textwrap.wrap(escaped_cell(self.error), width), *_packed(HELP, width)]
        if self.now is None:
            return "\n".join([*(below if self.error else ["waiting for the broker", *below])][:height])
        namespace = _only_namespace(self.now)
        parts = [utc(self.now.time_ms)[11:19], namespace, *overview.summary(self.now, self.rows, self.view)]
        above = [*_packed(filter(None, parts), width), ""]
        ordered = overview.ordered(self.rows, self.view.column(self.sort), reverse=self.reverse)
        room = max(2, height - len(above) - len(below))  # for the heading and a row
        shown = ordered[self.first : self.first + room - 1]
        table = _table(self.view, self.sort, shown, self.history, width, f"{namespace}/" if namespace else "")
        return "\n".join([*above, *table[:room], *below][:height])

    def _look_at(self, view: View) -> None:
        self.view, self.sort, self.first, self.reverse = view, overview.SORT[view.title], 0, False
        self.history = History()
        self._compute()

    def _compute(self) -> None:
        self.rows = [] if self.now is None else overview.rows(self.view, self._before, self.now)


def run(screen: Screen, refresher: Refresher, frames: int | None) -> None:
    """Until `q`, or for a number of snapshots."""
    refresher.start()
    try:
        with Keyboard() as keyboard:
            render.full_screen(begin=True)
            try:
                _loop(screen, refresher, keyboard, frames)
            finally:
                render.full_screen(begin=False)
    finally:
        refresher.stop()


def _loop(screen: Screen, refresher: Refresher, keyboard: Keyboard, frames: int | None) -> None:
    size, is_new, seen = shutil.get_terminal_size(), True, 0
    while True:
        arrived = refresher.take()
        if arrived is not None:
            screen.update(arrived)
            is_new, seen = True, seen + 1
        if is_new or size != shutil.get_terminal_size():
            size = shutil.get_terminal_size()
            render.frame(screen.lines(size.columns, size.lines))
        if frames is not None and seen >= frames:
            return
        key = keyboard.key(KEY_SECONDS)
        if key == "q":
            return
        if key == " ":
            refresher.hurry()
        is_new = screen.press(key)


def _only_namespace(now: TopicsSnapshot) -> str:
    """The namespace of all topics, or nothing if there are several."""
    namespaces = {namespace_of(topic) for topic in now.topics}
    return namespaces.pop() if len(namespaces) == 1 else ""


def _packed(texts: Iterable[str], width: int) -> list[str]:
    """The texts in lines, with two spaces between them."""
    lines = [""]
    for text in map(escaped_cell, texts):
        if lines[-1] and len(lines[-1]) + 2 + len(text) > width:
            lines.append("")
        lines[-1] += f"  {text}" if lines[-1] else text
    return lines


def _table(view: View, sort: str, shown: Sequence[Row], history: History, width: int, prefix: str) -> list[str]:
    """A table as wide as the screen. Names that do not fit continue on the next line."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    grid = [[escaped_cell(text.removeprefix(prefix)) for text in texts] for texts in overview.texts(view, shown)]
    titles = [f"{column.title} *" if column.field == sort else column.title for column in view.columns]
    widths = [max(map(cell_len, [title, *(row[index] for row in grid)])) for index, title in enumerate(titles)]
    fitting = _fitting(view, sort, widths, width)
    narrowed = _narrowed(view, {index: widths[index] for index in fitting}, width)
    health = view.columns.index(overview.HEALTH)
    for index in fitting:
        justify: JustifyMethod = "right" if view.columns[index].is_number else "left"
        table.add_column(titles[index], justify=justify, width=narrowed[index], overflow="fold")
    table.add_column("", no_wrap=True, width=overview.SAMPLES)
    for row, texts in zip(shown, grid, strict=True):
        cells = (Text(texts[index], colors.STATES[row["health"]] if index == health else "") for index in fitting)
        table.add_row(*cells, Text(history.line(row["key"])))
    output = io.StringIO()
    are_colored = colors.are_wanted(sys.stdout)
    system: Literal["standard"] | None = "standard" if are_colored else None
    Console(file=output, width=width, force_terminal=are_colored, color_system=system).print(table)
    return output.getvalue().rstrip("\n").split("\n")


def _fitting(view: View, sort: str, widths: Sequence[int], width: int) -> list[int]:
    """The columns that fit on the screen, by index: the last ones are left out first, and never the sorted one."""
    kept = list(range(len(view.columns)))
    while len(kept) > 1:
        needed = sum(min(widths[index], NAME_WIDTH) if view.columns[index].is_name else widths[index] for index in kept)
        if needed <= _room(kept, width):
            break
        dropped = [index for index in kept[1:] if view.columns[index].field != sort]
        if not dropped:
            break
        kept.remove(dropped[-1])
    return kept


def _narrowed(view: View, widths: dict[int, int], width: int) -> dict[int, int]:
    """The widths of the columns, of which the widest names have given up what is too much."""
    narrowed = dict(widths)
    names = [index for index in narrowed if view.columns[index].is_name]
    while sum(narrowed.values()) > _room(narrowed, width):
        widest = max(names, key=narrowed.__getitem__)
        if narrowed[widest] <= 1:
            break
        narrowed[widest] -= 1
    return narrowed


def _room(columns: Collection[int], width: int) -> int:
    """What the screen has for these columns, without the bars."""
    return width - overview.SAMPLES - GAP * len(columns)
