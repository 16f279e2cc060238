"""Long answers, written in turns and kept in pieces."""

import asyncio
import json
from typing import Any

import pytest

from broker_core.rates.long_text import LIST_SLICE, PIECE_BYTES, Json, LongText, plain, sliced_json

VALUES: tuple[Any, ...] = (
    {"a": {"b": {"c": [1, None, "ü\n"]}, 'q"': {}}, "d": 1.5, "e": {}, "f": [], "g": "\ud800"},
    {"deep": {"er": {"and": {"deeper": {"still": {"on": True}}}}}},
    list(range(3 * LIST_SLICE + 1)),
    [{"a": 1}] * (2 * LIST_SLICE),
    [],
    {},
    None,
    "text",
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_json_in_turns_is_what_json_writes_at_once(value: Any) -> None:
    whole = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
    assert asyncio.run(sliced_json(value)).__bytes__() == whole


def test_encoded_json_is_inserted_unchanged() -> None:
    value = {"subscriptions": {"s": Json.of({"x": 1})}}
    assert bytes(asyncio.run(sliced_json(value))) == b'{"subscriptions":{"s":{"x":1}}}'


def test_a_list_of_encoded_json_is_written_one_by_one_and_is_plain_again() -> None:
    value = {"versions": [Json.of({"x": 1}), Json.of("text")]}
    assert bytes(asyncio.run(sliced_json(value))) == b'{"versions":[{"x":1},"text"]}'
    assert plain(value) == {"versions": [{"x": 1}, "text"]}


def test_others_run_while_much_json_is_written() -> None:
    async def passes() -> int:
        writing = asyncio.ensure_future(sliced_json({"partitions": {str(n): {"x": [n] * 20} for n in range(10_000)}}))
        passes = 0
        while not writing.done():
            await asyncio.sleep(0)
            passes += 1
        return passes

    assert asyncio.run(passes()) >= 3


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_a_plain_value_is_what_a_client_reads(value: Any) -> None:
    assert plain(value) == json.loads(bytes(asyncio.run(sliced_json(value))))


def test_encoded_json_is_plain_again() -> None:
    assert plain({"subscriptions": {"s": Json.of({"x": 1})}}) == {"subscriptions": {"s": {"x": 1}}}


def test_a_long_text_is_taken_piece_by_piece() -> None:
    text = LongText()
    lines = [b"%d\n" % number * 100 for number in range(3000)]
    for line in lines:
        text.add(line)
    assert len(text) == sum(map(len, lines))
    pieces = list(text.taken())
    assert b"".join(pieces) == b"".join(lines)
    assert max(map(len, pieces)) < PIECE_BYTES + max(map(len, lines))
