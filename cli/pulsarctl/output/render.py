"""The output of the commands in each format; `streams` writes it.

Data goes to stdout; errors, notices, and everything else go to stderr. `auto` is a table on a terminal and text
elsewhere, so that a pipe never gets a table. Text is what `pulsar-admin` prints (`pretty.py`). All formats use the same
value.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output import colors, pretty, streams
from pulsarctl.output.terminal_text import escaped, escaped_cell, one_line

HOME, CLEAR_LINE, CLEAR_BELOW, NEW_LINE = "\x1b[H", "\x1b[K", "\x1b[J", "\r\n"  # of xterm and its relatives
# The other screen, without a cursor, and whose lines end at the edge.
BEGIN_SCREEN, END_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Output(StrEnum):
    AUTO = "auto"
    TABLE = "table"
    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"


class Table(NamedTuple):
    """Rows for a terminal; `-o name` prints the first column.

    `numbers`: the columns that are aligned on the right. `states`: the column whose words have colors.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    numbers: frozenset[str] = frozenset()
    states: str = ""


def names(column: str, values: Sequence[str]) -> Table:
    """The table of a plain list of names."""
    return Table((column,), [(value,) for value in values])


def resolve(output: Output) -> Output:
    """The format that `auto` stands for: a table if stdout is a terminal, or text."""
    if output is not Output.AUTO:
        return output
    return Output.TABLE if streams.is_terminal(sys.stdout) else Output.TEXT


def show(value: Any, output: Output, *, table: Table | None = None, as_map: bool = False) -> None:
    """Writes one result.

    `value` is the broker's response (JSON types), and `table` is the same for a terminal. `as_map`: `pulsar-admin`
    prints this object as lines of key and value, not as JSON.
    """
    line_end = "\n"
    shown = table or (_table_of(value) if output is Output.TABLE else None)
    match resolve(output):
        case Output.JSON:
            text = json.dumps(value, indent=2, ensure_ascii=False)
        case Output.JSONL:
            items = _lines_of(value, table)
            text = "\n".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items)
        case Output.YAML:
            text, line_end = _yaml(value), ""
        case Output.NAME:
            text = "\n".join(_names_of(value, table))
        case Output.TABLE if shown is not None:
            _show_table(shown)
            return
        case _:
            text = pretty.lines_of_map(value) if as_map else pretty.text(value)
    if text:
        streams.out(text + line_end)


def line(text: str) -> None:
    """Prints one line of data."""
    streams.out(one_line(text) + "\n")


def text(lines: str) -> None:
    """Several lines of data, whose line breaks do not come from names."""
    streams.out(lines + "\n")


def comma_separated(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Data as CSV with a heading (RFC 4180, but with the line ends of Unix)."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    streams.out(text.getvalue())


def marked(sign: str, text: str) -> None:
    """Prints one line of data in the color of its sign: `+`, `~`, `-`, or `!`."""
    style = colors.SIGNS.get(sign)
    if style is not None and colors.are_wanted(sys.stdout):
        streams.out_control(colors.painted(one_line(escaped(text)), style) + "\n")
    else:
        line(text)


def labeled(label: str, style: str, text: str) -> None:
    """Prints one line of data after a label, which has a color if the output has colors."""
    if colors.are_wanted(sys.stdout):
        streams.out_control(f"{colors.painted(escaped_cell(label), style)}  {escaped_cell(text)}\n")
    else:
        line(f"{label}  {text}")


def line_with_state(text: str, before: str = "  ") -> None:
    """Prints one line of data. The name of a state after `before`, at its start, is in the color of the state."""
    state = text.removeprefix(before).partition(" ")[0].rstrip(":")
    if text.startswith(before) and state in colors.STATES and colors.are_wanted(sys.stdout):
        rest = one_line(escaped(text.removeprefix(before + state)))
        streams.out_control(f"{before}{colors.painted(state, colors.STATES[state])}{rest}\n")
    else:
        line(text)


def frame(text: str) -> None:
    """A whole screen of text, drawn over the last one. Its cells must be safe for a terminal already."""
    lines = text.split("\n")
    streams.out_control(f"{HOME}{f'{CLEAR_LINE}{NEW_LINE}'.join(lines)}{CLEAR_LINE}{CLEAR_BELOW}")
    streams.flush_out()


def full_screen(*, begin: bool, left: str = "") -> None:
    """Begins or ends the use of the terminal's other screen, on which nothing scrolls. `left` stays after its end."""
    streams.out_control((BEGIN_SCREEN if begin else END_SCREEN) + left)
    streams.flush_out()


def data(chunk: bytes) -> None:
    """Bytes of data, escaped only on a terminal. The caller flushes."""
    streams.out_bytes(chunk)


def pieces(chunks: Sequence[bytes], is_interrupted: Callable[[], bool]) -> tuple[int, Exception | None]:
    """Data whose written pieces are counted; see `streams.out_pieces`."""
    return streams.out_pieces(chunks, is_interrupted)


guard_stdout = streams.guard_out
abandon_stdout = streams.abandon_out
flush = streams.flush_out


def is_structured(output: Output) -> bool:
    """Whether the format is for programs."""
    return output in (Output.JSON, Output.JSONL, Output.YAML)


def notice(text: str) -> None:
    """Prints one line of information that is not data, with secrets masked."""
    text = _forms_masked(text)
    label, colon, rest = text.partition(": ")
    if label in colors.LABELS and colors.are_wanted(sys.stderr):
        shown = one_line(escaped(rest))
        streams.err_control(colors.painted(label + colon.rstrip(), colors.LABELS[label]) + f" {shown}\n")
    else:
        streams.err(one_line(text) + "\n")


def usage(lines: str) -> None:
    """The help of a command that was called without what it needs."""
    streams.err(lines + "\n")


def passed_on(text: str) -> None:
    """A line of a program that the command has started, as that program wrote it."""
    streams.err(text)


def error(problem: CliError, *, as_object: bool) -> None:
    """Prints a line for the error, each detail, and the hint, or one JSON object if the output is JSON."""
    if as_object:
        body = {
            "error": "\n".join([problem.message, *problem.details]),
            "code": problem.code,
            "status": problem.status,
            "reason": problem.reason,
            "hint": problem.hint,
            "request": problem.request,
        }
        members = {name: member for name, member in body.items() if member is not None}
        streams.err(_forms_masked(json.dumps(members, ensure_ascii=False)) + "\n")
        return
    notice(f"error: {problem.message}")
    for detail in problem.details:
        notice(detail)
    if problem.hint:
        notice(f"hint: {problem.hint}")


def _forms_masked(text: str) -> str:
    from pulsarctl.output.redaction import forms_masked  # its patterns take a while to compile

    return forms_masked(text)


class Progress:
    """One line on stderr that overwrites itself. Prints nothing if stderr is not a terminal."""

    def __init__(self, *, quiet: bool = False, every_seconds: float = 0.2) -> None:
        self._is_shown = not quiet and streams.is_terminal(sys.stderr)
        self._every_seconds = every_seconds
        self._next = 0.0
        self._shown = False

    def show(self, text: str) -> None:
        """Shows `text`, at most once in `every_seconds`."""
        if not self._is_shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every_seconds
        self._shown = True
        streams.err_control(f"\r\x1b[K{one_line(escaped(text))}")

    def clear(self) -> None:
        if self._shown:
            streams.err_control("\r\x1b[K")


def stdin_is_terminal() -> bool:
    return streams.is_terminal(sys.stdin)


def read_stdin() -> str:
    """Returns all of stdin. Raises `CliError`."""
    return streams.stdin().read()


def is_watched() -> bool:
    """Whether stderr is a terminal."""
    return streams.is_terminal(sys.stderr)


def can_draw() -> bool:
    """Whether a person sees a screen and can press keys: both stdin and stdout are terminals."""
    return streams.is_terminal(sys.stdin) and streams.is_terminal(sys.stdout)


def can_ask() -> bool:
    """Whether a person can answer a question: both stdin and stderr are terminals."""
    return streams.is_terminal(sys.stdin) and streams.is_terminal(sys.stderr)


def ask(question: str) -> bool:
    """Asks on stderr; y or yes is yes, and every other answer is no."""
    streams.err(f"{one_line(question)} [y/N] ")
    return streams.stdin().readline().strip().lower() in ("y", "yes")


def _names_of(value: Any, table: Table | None) -> Iterable[str]:
    if table is not None:
        return [one_line(str(row[0])) for row in table.rows]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return map(one_line, value)
    raise UsageProblem("cannot print names: this result has none", hint="use -o text or -o json")


def _lines_of(value: Any, table: Table | None) -> list[Any]:
    """The items of a list, or the one value. All but objects become objects: the column of the table, or `value`."""
    items = value if isinstance(value, list) else [value]
    key = table.columns[0].lower().replace(" ", "_") if table is not None else "value"
    return [item if isinstance(item, dict) else {key: item} for item in items]


def _table_of(value: Any) -> Table | None:
    """An object as rows of name and value, whose names are paths, or a list of objects as rows; None for the rest."""
    if isinstance(value, dict):
        return Table(("NAME", "VALUE"), list(_rows_of(value)))
    if not value or not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    columns = list(dict.fromkeys(key for item in value for key in item))
    return Table(tuple(key.upper() for key in columns), [[item.get(key) for key in columns] for item in value])


def _rows_of(value: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if item and isinstance(item, dict):
            yield from _rows_of(item, f"{path}{key}.")
        else:
            yield f"{path}{key}", "-" if item == {} else item


def _yaml(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False))


def _show_table(table: Table) -> None:
    are_colored = colors.are_wanted(sys.stdout)
    states = table.columns.index(table.states) if table.states and are_colored else None
    for number, cells in enumerate(_aligned(table)):
        if number and states is not None:
            cells[states] = _painted_state(cells[states])
        line = "  ".join(cells).rstrip()
        streams.out_control((colors.painted(line, colors.HEADING) if are_colored and not number else line) + "\n")


def _painted_state(cell: str) -> str:
    word = cell.rstrip()
    return colors.painted(word, colors.STATES[word]) + cell[len(word) :] if word in colors.STATES else cell


def _aligned(table: Table) -> Iterator[list[str]]:
    """The heading and the rows. Cells are safe for a terminal, and never cut, because a truncated ID is useless."""
    from rich.cells import cell_len

    grid = [list(table.columns)] + [[escaped_cell(_cell(value)) for value in row] for row in table.rows]
    widths = [max(cell_len(row[index]) for row in grid) for index in range(len(table.columns))]
    are_numbers = [column in table.numbers for column in table.columns]
    for row in grid:
        blanks = [" " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
        cells = zip(row, blanks, are_numbers, strict=True)
        yield [blank + text if is_number else text + blank for text, blank, is_number in cells]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value) or "-"
    return str(value)
