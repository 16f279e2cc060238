"""What a reader could not read: an error, or left out and counted if the user allows it.

A run that continues an earlier one, of a stream, a lake, or an incremental export, loses messages if the broker trims
them between the two. The broker does not say what it trimmed. It keeps the ledger of the last entry that was read as
long as that ledger has other entries to keep, so a run is sure of its beginning only while that ledger exists.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsarctl.errors import CliError
from pulsarctl.tables.ack_holes import LedgerPosition
from pulsarctl.values.message_ids import parse_message_id

HINT = "keep messages longer (retention); --allow-loss continues without them (the option fail_on_data_loss of a table)"
Tell = Callable[[str], None]

log = logging.getLogger(__name__)


class DataLoss(CliError):
    """The message names the topic and the entries."""

    code = "data-loss"


@dataclass
class LeftOut:
    """What the parts of a run do not have.

    `incomplete`: chunked messages whose first chunks are gone or before the start. `gone`: a text for each gap.
    """

    incomplete: int = 0
    gone: list[str] = field(default_factory=list)

    def skip(self) -> None:
        self.incomplete += 1

    def add(self, other: "LeftOut") -> None:
        self.incomplete += other.incomplete
        self.gone += other.gone


def warn(gone: str) -> None:
    """Warns of a gap, for readers whose caller counts none."""
    log.warning("%s; they are skipped", gone)


def gone_after(topic: str, stats: Mapping[str, Any], read: LedgerPosition) -> str | None:
    """What may be gone between an earlier run, which ended with the entry `read`, and the `internalStats` of now.

    A subscription that has acknowledged up to that entry keeps what follows, whatever the ledgers are.
    """
    ledgers, last = _ledgers(stats), _last(stats)
    acknowledged = {parse_message_id(cursor["markDeletePosition"]).position for cursor in stats["cursors"].values()}
    nothing_since = last == read or (read[1] < 0 and 0 <= last[0] < read[0]) or read in acknowledged
    if nothing_since or any(ledger_id <= read[0] for ledger_id in ledgers):
        return None
    return f"ledger {read[0]} of {topic} is gone, and it may have had entries after {read[0]}:{read[1]}"


def gone_between(
    known: Mapping[str, Mapping[str, Any]],
    read: Mapping[str, LedgerPosition],
    vanished: Iterable[str],
    doing: str,
    *,
    allowed: bool,
) -> list[str]:
    """A text for each partition in `read`, the ends of an earlier run, that may have lost messages since.

    `known` has the `internalStats` of each partition, and `vanished` a text for each that is not there. Raises
    `DataLoss`, which says that it cannot do what `doing` names, unless loss is `allowed`.
    """
    texts = [gone_after(name, stats, read[name]) for name, stats in known.items() if name in read]
    gone = [text for text in texts if text is not None] + list(vanished)
    if gone and not allowed:
        raise DataLoss(f"cannot {doing}: {gone[0]}", hint=HINT)
    return gone


def end_of(stats: Mapping[str, Any]) -> LedgerPosition:
    """The last entry, or the place before the first one of a newer ledger, which outlives the older ledgers.

    With an open transaction, it is the last entry before the first one of the transaction.
    """
    if not is_all_visible(stats):
        return parse_message_id(stats["visibleEnd"]).position
    return max(_last(stats), (max(_ledgers(stats), default=-1), -1))


def is_all_visible(stats: Mapping[str, Any]) -> bool:
    """Whether readers get everything; messages after the first one of an open transaction come later."""
    return "visibleEnd" not in stats or parse_message_id(stats["visibleEnd"]).position >= _last(stats)


def _ledgers(stats: Mapping[str, Any]) -> list[int]:
    """The IDs. A topic without a ledger lists one with the ID -1."""
    return [ledger["ledgerId"] for ledger in stats["ledgers"] if ledger["ledgerId"] >= 0]


def _last(stats: Mapping[str, Any]) -> LedgerPosition:
    return parse_message_id(stats["lastConfirmedEntry"]).position
