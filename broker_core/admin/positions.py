"""Positions in request bodies (Pulsar's MessageId and ResetCursorData). Pure.

-1:-1 is before everything and 2^63-1:2^63-1 behind everything, as in Pulsar.
"""

from collections.abc import Mapping
from typing import Any

from broker_core.errors import InvalidRequest
from broker_core.json_values import whole_number
from broker_core.storage.position import LATEST, Position


def read_position(body: Mapping[str, Any]) -> Position:
    """Reads Pulsar's ResetCursorData: the next to be read, or with `excluded` the one before that."""
    if body.get("ledgerId") is None or body.get("entryId") is None:
        raise InvalidRequest("a message id with ledgerId and entryId is needed")
    found = Position(whole_number(body["ledgerId"], "ledgerId"), whole_number(body["entryId"], "entryId"))
    return found.next if body.get("excluded") and found < LATEST else found
