"""Numbers, sizes, and times as pages show them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def number(value: Any) -> float:
    """A number of the admin API; 0 for what is none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def count(value: Any) -> str:
    return f"{int(number(value)):,}"


def counted(total: int, noun: str) -> str:
    """Return a count such as `1 topic` or `2 topics`."""
    return f"{total:,} {noun}{'' if total == 1 else 's'}"


def rate(value: Any) -> str:
    return f"{number(value):,.1f}"


def size(value: Any) -> str:
    amount = float(max(number(value), 0))
    for unit in _UNITS[:-1]:
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"


def duration(seconds: float) -> str:
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def moment(milliseconds: Any) -> str:
    """UTC; a dash for 0, which means never."""
    value = number(milliseconds)
    if not 0 < value < 253_402_300_800_000:  # the year 10000
        return "-"
    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
