"""The position at which the replication of a topic to a new cluster begins (`replicationStartAt`). Pure."""

from __future__ import annotations

import re

from broker_core.errors import InvalidConfiguration
from broker_core.storage.records.position import EARLIEST, LATEST, Position

_POSITION = re.compile(r"(\d{1,18}):(\d{1,18})")


def start_position(text: str) -> Position:
    """Raises `InvalidConfiguration` unless it is `latest`, `earliest`, or `ledger:entry`."""
    if text in ("latest", "earliest"):
        return LATEST if text == "latest" else EARLIEST
    match = _POSITION.fullmatch(text)
    if match is None:
        raise InvalidConfiguration(f"replicationStartAt must be latest, earliest, or ledger:entry, not '{text}'")
    return Position(int(match[1]), int(match[2]))
