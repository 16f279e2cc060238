"""The grammar of positions."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.values.message_ids import EARLIEST, MessageId
from pulsarctl.values.positions import (
    AfterMessages,
    AtIndex,
    AtTime,
    Earliest,
    LastMessages,
    Latest,
    Position,
    parse_position,
)

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", Earliest()),
        ("Latest", Latest()),
        ("12:34", MessageId(12, 34)),
        ("12:34:5", MessageId(12, 34, 5)),
        ("12:34:-1:7", MessageId(12, 34, -1, 7)),
        ("-1:-1", EARLIEST),
        ("@-1h", AtTime(NOW_MS - 3_600_000)),
        ("@1700000000123", AtTime(1_700_000_000_123)),
        ("@2023-11-14T23:59:59.999999Z", AtTime(1_700_006_399_999)),  # not the next day
        ("@1700000000", AtTime(1_700_000_000_000)),
        ("-1h", AtTime(NOW_MS - 3_600_000)),
        ("-1d12h", AtTime(NOW_MS - 36 * 3_600_000)),
        ("1700000000123", AtTime(1_700_000_000_123)),
        ("2023-11-14", AtTime(1_699_920_000_000)),
        ("2023-11-14T22:13:20Z", AtTime(1_700_000_000_000)),
        ("@2023-11-14", AtTime(1_699_920_000_000)),
        ("@2023-11-14T22:13:20Z", AtTime(1_700_000_000_000)),
        ("@2023-11-14T23:13:20.5+01:00", AtTime(1_700_000_000_500)),
        ("-10", LastMessages(10)),
        ("+10", AfterMessages(10)),
        ("index:42", AtIndex(42)),
    ],
)
def test_a_position_is_parsed(text: str, position: Position) -> None:
    assert parse_position(text, NOW_MS) == position


@pytest.mark.parametrize("text", ["", "soon", "1", "1:2:3:4:5", "@yesterday", "@12345", "index:x", "@-"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_position(text, NOW_MS)
