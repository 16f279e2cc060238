"""One injury to one file, drawn from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from broker_core.storage.records import ledger_file

PAGE = 4096
KINDS = (
    "journal",
    "sealed ledger",
    "open ledger",
    "index",
    "compacted",
    "delayed",
    "sqlite",
    "other",
)


@dataclass(frozen=True)
class Injury:
    kind: str
    file: Path  # relative to the directory
    what: str


def kind_of(path: Path) -> str:
    if path.suffix == ".ledger":
        return "sealed ledger" if path.read_bytes().endswith(ledger_file.TRAILER_MAGIC) else "open ledger"
    if path.parent.name == "delayed":
        return "delayed"
    if path.name.startswith("metadata.sqlite"):
        return "sqlite"
    return {".journal": "journal", ".compacted": "compacted"}.get(path.suffix, "other")


def injure(directory: Path, seed: int) -> Injury:
    """Damages a file of the kind that the seed selects, or of the next existing kind."""
    draw = random.Random(seed)
    files: dict[str, list[Path]] = {}
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        files.setdefault(kind_of(path), []).append(path)
    files["index"] = files.get("sealed ledger", [])
    kind = next(kind for kind in [*KINDS[seed % len(KINDS) :], *KINDS] if files.get(kind))
    path = draw.choice(files[kind])
    how = draw.choice([flip, flip, truncate, delete, zero]) if kind != "index" else draw.choice([flip, zero])
    what = how(path, _where(kind, path, draw), draw)
    return Injury(kind, path.relative_to(directory), what)


def _where(kind: str, path: Path, draw: random.Random) -> int:
    """An offset that matters: outside preallocated space, and for an index inside the index."""
    data = path.read_bytes()
    first, stop = 0, len(data.rstrip(b"\0"))
    if kind == "index":
        first = ledger_file.TRAILER.unpack(data[-ledger_file.TRAILER.size :])[0]
    elif kind == "sealed ledger":
        stop = ledger_file.TRAILER.unpack(data[-ledger_file.TRAILER.size :])[0]
    return draw.randrange(first, max(first + 1, stop))


def flip(path: Path, at: int, draw: random.Random) -> str:
    bit = draw.randrange(8)

    def change(data: bytearray) -> None:
        if data:
            data[at] ^= 1 << bit

    return _changed(path, change, f"bit {bit} of byte {at} flipped")


def truncate(path: Path, at: int, draw: random.Random) -> str:
    def change(data: bytearray) -> None:
        del data[at:]

    return _changed(path, change, f"truncated to {at} bytes")


def zero(path: Path, at: int, draw: random.Random) -> str:
    start = at - at % PAGE

    def change(data: bytearray) -> None:
        data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))

    return _changed(path, change, f"page at {start} zeroed")


def delete(path: Path, at: int, draw: random.Random) -> str:
    path.unlink()
    return "deleted"


def _changed(path: Path, change: Callable[[bytearray], None], what: str) -> str:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return what
