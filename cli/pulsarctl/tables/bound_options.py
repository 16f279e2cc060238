"""The options `start` and `end`: one bound for all partitions, or a JSON object of bounds by partition.

A partition is named by its index, or by its full name.
"""

import json
from collections.abc import Mapping, Sequence

from pulsarctl.errors import UsageProblem
from pulsarctl.tables.bounds import FIRST, LAST, Bound, Bounds
from pulsarctl.values.clock import now_ms
from pulsarctl.values.json_text import parse_json
from pulsarctl.values.message_ids import MessageId
from pulsarctl.values.names import readable_topic
from pulsarctl.values.positions import AtTime, Earliest, Latest, parse_position
from pulsarctl.values.times import utc


def start_of(name: str, text: str) -> Bounds:
    return _bounds(name, text, FIRST)


def end_of(name: str, text: str) -> Bounds:
    return _bounds(name, text, LAST)


def fixed(name: str, text: str, now: int) -> str:
    """The same bounds, whenever they are read: what is some time before `now` is a time. Raises `UsageProblem`."""
    if text.lstrip().startswith("{"):
        return json.dumps(
            {key: fixed(name, text_of_bound, now) for key, text_of_bound in _by_partition(name, text).items()}
        )
    position = parse_position(text, now)
    return f"@{utc(position.publish_time_ms)}" if isinstance(position, AtTime) else text


def continued(text: str, done: Mapping[str, str], partitions: Sequence[str]) -> str:
    """The bounds of a later run: where the one before ended, and `text` where it had nothing to read."""
    named = text.lstrip().startswith("{")
    begun = _by_partition("start", text) if named else dict.fromkeys(partitions, text)
    return json.dumps({_partition(key): text_of_bound for key, text_of_bound in begun.items()} | dict(done))


def _bounds(name: str, text: str, anywhere: Bound) -> Bounds:
    if not text.lstrip().startswith("{"):
        return Bounds(_bound(name, text, anywhere))
    texts = _by_partition(name, text)
    return Bounds(
        anywhere, {_partition(key): _bound(name, text_of_bound, anywhere) for key, text_of_bound in texts.items()}
    )


def _by_partition(name: str, text: str) -> dict[str, str]:
    try:
        return {key: str(text_of_bound) for key, text_of_bound in parse_json(text).items()}
    except ValueError as error:
        raise UsageProblem(
            f"option {name}: the JSON cannot be read: {error}", hint='use {"0": "7:3", "1": "@TIME"}'
        ) from error


def _partition(key: str) -> str:
    return key if key.isdecimal() else readable_topic(key)


def _bound(name: str, text: str, anywhere: Bound) -> Bound:
    match parse_position(text, now_ms()):
        case Earliest():
            return FIRST
        case Latest():
            return LAST
        case MessageId(ledger_id=ledger_id, entry_id=entry_id, batch_index=batch_index):
            return Bound((ledger_id, entry_id), batch_index)
        case AtTime(publish_time_ms=time_ms):
            return Bound(anywhere.position, time_ms=time_ms)
    raise UsageProblem(f"option {name}: '{text}' depends on what is read", hint="use LEDGER:ENTRY or @TIME")
