"""The screen of `top`: what is shown, and what keys do to it."""

import io
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from pulsarctl.commands.top.snapshots import Refresher
from pulsarctl.diagnosis import overview
from pulsarctl.diagnosis.overview import History, Row, TopicsSnapshot, View
from pulsarctl.errors import CliError
from pulsarctl.output import colors, render
from pulsarctl.output.keyboard import Keyboard
from pulsarctl.output.terminal_text import escaped_cell
from pulsarctl.values.names import namespace_of
from pulsarctl.values.times import utc

KEY_SECONDS = 0.2  # the longest time until a new size of the terminal is seen
HELP = "q quit  t topics  s subscriptions  c consumers  < > sort by  r reverse  space refresh  up/down scroll"
VIEW_OF_KEY = {"t": overview.TOPICS, "s": overview.SUBSCRIPTIONS, "c": overview.CONSUMERS}
STEPS = {"up": -1, "down": 1, "page-up": -10, "page-down": 10}
NAME_WIDTH = 12  # what is left of a name at least
GAP = 1  # between columns
MARGIN = 5  # lines of the title, the heading, the empty line, the error, and the keys


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
        """The whole screen, at most `height` lines."""
        ordered = overview.ordered(self.rows, self.view.column(self.sort), reverse=self.reverse)
        shown = ordered[self.first : self.first + max(1, height - MARGIN)]
        if self.now is None:
            return f"{self.error or 'waiting for the broker'}\n\n{HELP[:width]}"
        namespace = _only_namespace(self.now)
        parts = [utc(self.now.time_ms)[11:19], namespace, overview.summary(self.now, self.rows, self.view)]
        title = "  ".join(filter(None, parts))
        table = _table(self.view, self.sort, shown, self.history, width, f"{namespace}/" if namespace else "")
        return "\n".join([title[:width], "", *table, escaped_cell(self.error)[:width], HELP[:width]][:height])

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


def _table(view: View, sort: str, shown: Sequence[Row], history: History, width: int, prefix: str) -> list[str]:
    """A table as wide as the screen. Names that do not fit are cut, unlike with `--once`; numbers are not."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    grid = [[text.removeprefix(prefix) for text in texts] for texts in overview.texts(view, shown)]
    titles = [f"{column.title} *" if column.field == sort else column.title for column in view.columns]
    widths = [max(map(len, [title, *(row[index] for row in grid)])) for index, title in enumerate(titles)]
    fitting = _fitting(view, sort, widths, width)
    for index in fitting:
        is_number = view.columns[index].is_number
        least = widths[index] if is_number else NAME_WIDTH
        table.add_column(titles[index], justify="right" if is_number else "left", no_wrap=True, min_width=least)
    table.add_column("", no_wrap=True, min_width=overview.SAMPLES)
    for row, texts in zip(shown, grid, strict=True):
        table.add_row(*(Text(escaped_cell(texts[index])) for index in fitting), Text(history.line(row["key"])))
    output = io.StringIO()
    wants_colors = colors.are_wanted(sys.stdout)
    console = Console(file=output, width=width, force_terminal=wants_colors, no_color=not wants_colors)
    console.print(table)
    return output.getvalue().rstrip("\n").split("\n")


def _fitting(view: View, sort: str, widths: Sequence[int], width: int) -> list[int]:
    """The columns that fit on the screen, by index: the last numbers are left out first, and never the sorted one."""
    kept = list(range(len(view.columns)))
    while len(kept) > 1:
        needed = sum(widths[index] if view.columns[index].is_number else NAME_WIDTH for index in kept)
        if needed + overview.SAMPLES + GAP * len(kept) <= width:
            break
        dropped = [index for index in kept[1:] if view.columns[index].field != sort]
        if not dropped:
            break
        kept.remove(dropped[-1])
    return kept
