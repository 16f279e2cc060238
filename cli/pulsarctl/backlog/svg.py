"""Bars as inline SVG: no library, no script, colors from CSS variables, and a tooltip on each bar. Pure."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH = 520
ROW = 22
LABEL_WIDTH = 150
NUMBER_WIDTH = 80
PLOT_HEIGHT = 120
AXIS_HEIGHT = 18
LABEL_LETTERS = 22
COLUMN_WIDTH_MAX = 60


class Bar(NamedTuple):
    """`label` is beside or below the bar, and `tip` is what a pointer shows."""

    label: str
    value: int
    tip: str


def rows(name: str, bars: Sequence[Bar]) -> str:
    """One bar below the other, with the label on the left and the number on the right."""
    largest = max((bar.value for bar in bars), default=0) or 1
    scale = (WIDTH - LABEL_WIDTH - NUMBER_WIDTH) / largest
    drawn = "".join(_row(index, bar, bar.value * scale) for index, bar in enumerate(bars))
    return _figure(name, ROW * len(bars), drawn)


def columns(name: str, bars: Sequence[Bar]) -> str:
    """One bar beside the other: a histogram, with the first and the last label below it."""
    largest = max((bar.value for bar in bars), default=0) or 1
    step = min(WIDTH / max(len(bars), 1), COLUMN_WIDTH_MAX)
    drawn = "".join(
        _rect(index * step, PLOT_HEIGHT * (1 - bar.value / largest), step * 0.9, PLOT_HEIGHT * bar.value / largest, bar)
        for index, bar in enumerate(bars)
    )
    axis = f'<line class="axis" x1="0" y1="{PLOT_HEIGHT}" x2="{WIDTH}" y2="{PLOT_HEIGHT}"/>'
    below = PLOT_HEIGHT + 14
    first = _text(0, below, bars[0].label) if bars else ""
    end = max(len(bars) * step, WIDTH / 2)  # the labels do not overlap
    last = _text(end, below, bars[-1].label, anchor="end") if len(bars) > 1 else ""
    return _figure(name, PLOT_HEIGHT + AXIS_HEIGHT, drawn + axis + first + last)


def cells(name: str, lines: Sequence[tuple[str, Sequence[float]]]) -> str:
    """A line of cells for each label. A cell is as strong as its share, from 0 to 1."""
    drawn = "".join(_cells(index, label, shares) for index, (label, shares) in enumerate(lines))
    return _figure(name, ROW * len(lines), drawn)


def _cells(index: int, label: str, shares: Sequence[float]) -> str:
    step = (WIDTH - LABEL_WIDTH) / max(len(shares), 1)
    top = index * ROW
    drawn = "".join(
        f'<rect class="bar" x="{LABEL_WIDTH + cell * step:.1f}" y="{top + 3}" width="{step:.1f}" height="{ROW - 6}" '
        f'fill-opacity="{share:.2f}"><title>{share:.0%}</title></rect>'
        for cell, share in enumerate(shares)
        if share
    )
    return _text(LABEL_WIDTH - 8, top + ROW * 0.7, label, anchor="end") + drawn


def _row(index: int, bar: Bar, width: float) -> str:
    top, middle = index * ROW, index * ROW + ROW * 0.7
    label = bar.label if len(bar.label) <= LABEL_LETTERS else bar.label[: LABEL_LETTERS - 1] + "…"
    return (
        _text(LABEL_WIDTH - 8, middle, label, anchor="end")
        + _rect(LABEL_WIDTH, top + 3, width, ROW - 6, bar)
        + _text(LABEL_WIDTH + width + 6, middle, f"{bar.value:,}", kind="number")
    )


def _rect(x: float, y: float, width: float, height: float, bar: Bar) -> str:
    """At least a line for a small number, and nothing for none."""
    if not bar.value:
        return ""
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{max(height, 1):.1f}"'
    return f'<rect class="bar" {shape}><title>{escape(bar.tip)}</title></rect>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _figure(name: str, height: int, drawn: str) -> str:
    return (
        f'<figure><figcaption>{escape(name)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(name)}">{drawn}</svg></figure>'
    )
