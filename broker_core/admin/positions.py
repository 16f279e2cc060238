"""Positions in request bodies (Pulsar's MessageId and ResetCursorData). Pure.

As in Pulsar, -1:-1 is before all messages and 2^63-1:2^63-1 after all messages.
"""

from collections.abc import Mapping
from typing import Any

from broker_core.errors import InvalidRequest
from broker_core.metadata.policies.json_values import mapping, whole_number
from broker_core.storage.records.position import EARLIEST, LATEST, Position

_NAMED = {"earliest": EARLIEST, "latest": LATEST}


def reset_data(body: Any) -> Mapping[str, Any]:
    """The members of Pulsar's ResetCursorData, which may also be the text `earliest` or `latest`.

    Empty for null. Raises `InvalidRequest`.
    """
    if isinstance(body, str):
        if body not in _NAMED:
            raise InvalidRequest(f"Invalid value {body} for the position. Allowed values are [latest, earliest]")
        return {"ledgerId": _NAMED[body].ledger_id, "entryId": _NAMED[body].entry_id}
    return {} if body is None else mapping(body, "the position")


def read_position(body: Mapping[str, Any]) -> Position:
    """Reads Pulsar's ResetCursorData: the next position to be read, or with `excluded` the one before."""
    if body.get("ledgerId") is None or body.get("entryId") is None:
        raise InvalidRequest("a message id with ledgerId and entryId is needed")
    position = Position(whole_number(body["ledgerId"], "ledgerId"), whole_number(body["entryId"], "entryId"))
    return position.next if body.get("excluded") and position < LATEST and _batch_index(body) is None else position


def read_open_bits(body: Mapping[str, Any], most: int) -> int:
    """The open messages of a batch in ResetCursorData, as a bit set without end; 0 if no index is given.

    `most`: maximum number of messages in a batch (`maxMessagesPerBatch`); the set grows with the index.
    """
    index = _batch_index(body)
    if index is not None and index >= most:
        raise InvalidRequest(f"batchIndex must be less than {most} (maxMessagesPerBatch)")
    return 0 if index is None else -1 << index + bool(body.get("excluded"))


def _batch_index(body: Mapping[str, Any]) -> int | None:
    index = whole_number(body.get("batchIndex", -1), "batchIndex")
    return index if index >= 0 else None
