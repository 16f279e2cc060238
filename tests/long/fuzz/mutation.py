"""Damages bytes at random; the same seed gives the same damage."""

from __future__ import annotations

import random

INTERESTING = (b"\x00", b"\xff", b"\n", b":", b".", b"=", b"{", b'"', b"\xc3\x28", b"\xed\xa0\x80", b"[" * 200)


def mutated(original: bytes, chance: random.Random) -> bytes:
    """Flips bits, drops, inserts, repeats, or exchanges bytes, or cuts off the end; sometimes does nothing."""
    data = bytearray(original)
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at : at + chance.choice((1, 4, 50))]
        elif kind == 2:
            data[at:at] = chance.randbytes(chance.choice((1, 4, 40)))
        elif kind == 3:
            data[at:at] = data[at : at + chance.choice((8, 60, 400))]
        elif kind == 4:
            data[at : at + chance.randrange(4)] = chance.choice(INTERESTING)
        else:
            del data[at:]
    return bytes(data)
