"""The payloads and keys of the messages that a measurement sends."""

import random
import time
from collections.abc import Callable, Iterator
from itertools import count, cycle

from pulsarctl.errors import UsageProblem

KEY_MODES = ("autoincrement", "random")
KEYS = 1 << 20  # different random keys
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(size: int) -> bytes:
    """Random letters, which compress about as well as text. The same in each run."""
    return bytes(random.Random(0).choices(LETTERS, k=size))  # noqa: S311  # not a secret


def lines_of(data: bytes, delimiter: str) -> list[bytes]:
    """The messages of a payload file. Raises `UsageProblem` if there are none."""
    separator = delimiter.replace("\\n", "\n").replace("\\t", "\t").encode()
    if not separator:
        raise UsageProblem("the payload delimiter is empty", hint=r"use -e '\n'")
    messages = [part for part in data.split(separator) if part]
    if not messages:
        raise UsageProblem("the payload file has no message")
    return messages


def numbered(bodies: Iterator[bytes]) -> Iterator[bytes]:
    """The messages with `%i` replaced by their number and `%t` by the time, as by pulsar-perf."""
    for number, body in enumerate(bodies):
        yield body.replace(b"%i", b"%d" % number).replace(b"%t", b"%d" % time.time_ns())


def keys_of(mode: str | None) -> Iterator[str | None]:
    """The keys of successive messages. Raises `UsageProblem`."""
    if mode is None:
        return cycle((None,))
    if mode.lower() not in KEY_MODES:
        raise UsageProblem(f"unknown key generation mode '{mode}'", hint="use autoIncrement or random")
    if mode.lower() == "autoincrement":
        return map(str, count())
    return _random_keys(random.Random())  # noqa: S311  # spreads the load, and is not a secret


def _random_keys(source: random.Random) -> Iterator[str]:
    while True:
        yield str(source.randrange(KEYS))


Payload = Callable[[], bytes]  # the payload of the next message
