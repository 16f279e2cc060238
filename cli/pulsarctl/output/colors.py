"""The colors of the output. They only repeat what the words say already.

`--color` decides. Without it, a terminal gets colors unless `NO_COLOR` is set (no-color.org) or `TERM` is `dumb`.
"""

import os
from enum import StrEnum
from typing import TextIO


class Color(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


HEADING = "bold"
LABELS = {"error": "bold red", "warning": "bold yellow", "hint": "cyan"}  # the first word of a line on stderr
SIGNS = {"+": "green", "~": "yellow", "-": "red", "!": "bold red"}  # of the lines of a plan
STATES = {  # the word says it, too; those in capitals are of Nagios plugins
    "problem": "bold red",
    "warning": "yellow",
    "ok": "green",
    "healthy": "green",
    "active": "green",
    "sealed": "dim",
    "CRITICAL": "bold red",
    "WARNING": "yellow",
    "OK": "green",
    "UNKNOWN": "magenta",
}

_chosen = Color.AUTO  # of this process, or in tests of the command line that runs


def choose(color: Color) -> None:
    global _chosen
    _chosen = color


def are_wanted(stream: TextIO | None) -> bool:
    """Whether text for `stream` is to be painted."""
    if _chosen is not Color.AUTO:
        return _chosen is Color.ALWAYS
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream is not None and stream.isatty() and not plain


def painted(text: str, style: str) -> str:
    """`text` in the control sequences of a rich style; the text must be safe for a terminal already."""
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)
