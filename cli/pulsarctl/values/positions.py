"""Positions in a topic: the one grammar of `--from`, `--to`, and the bounds of the Spark source. Pure.

    earliest | latest | L:E[:P[:B]] | TIME | -N (last N messages of each partition) | +N | index:N

`message_ids` reads L:E, and `times` reads TIME, which includes -10m and @-10m.
"""

import re
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem
from pulsarctl.values.message_ids import MessageId, message_id_in
from pulsarctl.values.times import parse_time_ms

GRAMMAR = (
    "use earliest, latest, LEDGER:ENTRY[:PARTITION[:BATCH]], -10m (ten minutes ago), 2026-01-31T08:00:00Z, "
    "1767225600000 (ms), -N (the last N), +N, or index:N"
)


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first message."""


@dataclass(frozen=True, slots=True)
class Latest:
    """After the last message."""


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first message published at or after a time, in milliseconds since the epoch."""

    publish_time_ms: int


@dataclass(frozen=True, slots=True)
class LastMessages:
    """The last `count` messages."""

    count: int


@dataclass(frozen=True, slots=True)
class AfterMessages:
    """After the first `count` messages."""

    count: int


@dataclass(frozen=True, slots=True)
class AtIndex:
    """The message with this index, which the broker counts in each partition."""

    index: int


Position = Earliest | Latest | MessageId | AtTime | LastMessages | AfterMessages | AtIndex


def parse_position(text: str, now_ms: int) -> Position:
    """`now_ms` is what `-1h` counts from. Raises `UsageProblem` with the grammar."""
    lowered = text.strip().lower()
    if lowered == "earliest":
        return Earliest()
    if lowered == "latest":
        return Latest()
    if message_id := message_id_in(lowered):
        return message_id
    if re.fullmatch(r"-\d+", lowered):
        return LastMessages(int(lowered[1:]))
    if re.fullmatch(r"\+\d+", lowered):
        return AfterMessages(int(lowered[1:]))
    if re.fullmatch(r"index:\d+", lowered):
        return AtIndex(int(lowered.removeprefix("index:")))
    try:
        return AtTime(parse_time_ms(text, now_ms))
    except UsageProblem as error:
        if lowered.startswith("@"):
            raise
        raise UsageProblem(f"'{text}' is not a position", hint=GRAMMAR) from error
