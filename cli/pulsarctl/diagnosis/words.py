"""Numbers, ages, and commands in the sentences of findings. Pure."""

import shlex
from collections.abc import Sequence

from pulsarctl.values.quantities import human_duration

PERSISTENT = "persistent://"
NAMES_MAX = 3


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 entry`, `2,000 entries`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def entries(count: int) -> str:
    return plural(count, "entry", "entries")


def age(milliseconds: int) -> str:
    """The two largest units, from seconds up: `2h 5m`."""
    full_seconds = max(0, milliseconds) // 1000 * 1000
    return " ".join(human_duration(full_seconds).split()[:2])


def listed(names: Sequence[str]) -> str:
    """`'a', 'b', and 2 more`."""
    shown = [f"'{name}'" for name in names[:NAMES_MAX]]
    if len(names) > NAMES_MAX:
        return ", ".join([*shown, f"and {len(names) - NAMES_MAX} more"])
    return " and ".join(shown) if len(shown) < NAMES_MAX else f"{shown[0]}, {shown[1]}, and {shown[2]}"


def short(topic: str) -> str:
    """The topic without the domain that every command assumes."""
    return topic.removeprefix(PERSISTENT)


def command(*words: str) -> str:
    """A command line to copy."""
    return shlex.join(["pulsarctl", *words])
