"""Recorded sessions between official clients and a broker, as golden files.

A file repeats: direction (`>` client to broker, `<` broker to client), size (u32 big-endian), and the bytes from the
socket. `record.py` writes them.
"""

import struct
from pathlib import Path
from typing import NamedTuple

GOLDEN = Path(__file__).parent / "golden"
TO_BROKER, TO_CLIENT = b">", b"<"
HEADER = struct.Struct(">cI")


class Chunk(NamedTuple):
    direction: bytes
    data: bytes


def write_session(path: Path, chunks: list[Chunk]) -> None:
    path.write_bytes(b"".join(HEADER.pack(direction, len(data)) + data for direction, data in chunks))


def read_session(path: Path) -> list[Chunk]:
    recorded = path.read_bytes()
    chunks = []
    position = 0
    while position < len(recorded):
        direction, size = HEADER.unpack_from(recorded, position)
        position += HEADER.size
        chunks.append(Chunk(direction, recorded[position : position + size]))
        position += size
    return chunks


def stream(name: str, direction: bytes) -> bytes:
    """Everything that one side sent in the golden session `name`."""
    return b"".join(chunk.data for chunk in read_session(GOLDEN / f"{name}.bin") if chunk.direction == direction)


def session_names() -> list[str]:
    return sorted(path.stem for path in GOLDEN.glob("*.bin"))
