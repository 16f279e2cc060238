"""Positions in a topic as one types them: one grammar for `--from`, `--to`, seeks and new subscriptions. Pure.

    earliest | latest | L:E[:P[:B]] | @TIME | @-DURATION | -N (last N messages of each partition) | +N | index:N

TIME is what `times` reads.
"""

import re
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem
from pulsarctl.values.times import parse_time_ms

_MESSAGE_ID = re.compile(r"(\d+):(-1|\d+)(?::(-1|\d+))?(?::(-1|\d+))?")


@dataclass(frozen=True, slots=True)
class Earliest:
    pass


@dataclass(frozen=True, slots=True)
class Latest:
    pass


@dataclass(frozen=True, slots=True)
class AtMessage:
    """`partition` and `batch_index` are -1 when not said."""

    ledger_id: int
    entry_id: int
    partition: int = -1
    batch_index: int = -1


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first message published at or after this (milliseconds since the epoch)."""

    publish_time_ms: int


@dataclass(frozen=True, slots=True)
class LastMessages:
    count: int


@dataclass(frozen=True, slots=True)
class AfterMessages:
    count: int


@dataclass(frozen=True, slots=True)
class AtIndex:
    """The broker's own count of messages in the partition."""

    index: int


Position = Earliest | Latest | AtMessage | AtTime | LastMessages | AfterMessages | AtIndex


def parse_position(text: str, now_ms: int) -> Position:
    """`now_ms` is what `@-1h` counts from. Raises `UsageProblem` with the grammar."""
    lowered = text.strip().lower()
    if lowered == "earliest":
        return Earliest()
    if lowered == "latest":
        return Latest()
    if found := _MESSAGE_ID.fullmatch(lowered):
        return AtMessage(*(int(number) for number in found.groups("-1")))
    if lowered.startswith("@"):
        return AtTime(parse_time_ms(text, now_ms))
    if re.fullmatch(r"-\d+", lowered):
        return LastMessages(int(lowered[1:]))
    if re.fullmatch(r"\+\d+", lowered):
        return AfterMessages(int(lowered[1:]))
    if re.fullmatch(r"index:\d+", lowered):
        return AtIndex(int(lowered.removeprefix("index:")))
    raise UsageProblem(
        f"'{text}' is not a position",
        hint="write earliest, latest, LEDGER:ENTRY[:PARTITION[:BATCH]], @TIME, @-1h, -N (the last N), +N or index:N",
    )
