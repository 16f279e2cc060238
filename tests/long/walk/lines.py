"""The command lines of the walk: `lines/*.txt`, a file for each part that needs nothing of the others.

`#` begins a comment. `+` begins a line of `pulsarctl` that prepares something and is not compared. Between braces:
`{broker}` is the broker's ID, `{files}` the directory `files`, and `{ledger:T}` the ledger to which topic T is written.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("lines")
PREPARES = "+ "


@dataclass(frozen=True, slots=True)
class Line:
    part: str
    number: int  # in the file of its part
    text: str
    prepares: bool

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    @property
    def name(self) -> str:
        return f"{self.part}:{self.number}"


def parts() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def lines(part: str) -> list[Line]:
    numbered = enumerate((FOLDER / f"{part}.txt").read_text("utf-8").splitlines(), 1)
    return [
        Line(part, number, text.removeprefix(PREPARES), text.startswith(PREPARES))
        for number, text in numbered
        if text and not text.startswith("#")
    ]
