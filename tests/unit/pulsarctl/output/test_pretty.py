"""Text output is that of pulsar-admin; the expected text is what pulsar-admin 4.0 printed."""

from typing import Any

import pytest

from pulsarctl.output import pretty


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ok", "ok"),
        (["a", "b"], "a\nb"),
        ([], ""),
        (None, "null"),
        (120, "120"),
        (False, "false"),
        ({}, "{ }"),
        (
            {"adminRoles": [], "allowedClusters": ["standalone"]},
            '{\n  "adminRoles" : [ ],\n  "allowedClusters" : [ "standalone" ]\n}',
        ),
        (
            {"ledgers": [{"ledgerId": 7, "offloaded": False}, {"ledgerId": 8, "offloaded": False}], "x": {}},
            '{\n  "ledgers" : [ {\n    "ledgerId" : 7,\n    "offloaded" : false\n  }, {\n'
            '    "ledgerId" : 8,\n    "offloaded" : false\n  } ],\n  "x" : { }\n}',
        ),
        ({"grüße": "a/b"}, '{\n  "grüße" : "a/b"\n}'),
    ],
)
def test_a_value_is_written_as_in_pulsar_admin(value: Any, expected: str) -> None:
    assert pretty.text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0"),
        (12.5, "12.5"),
        (1234567.0, "1234567.0"),
        (1.0e7, "1.0E7"),
        (41234567.8, "4.12345678E7"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (-2.5e8, "-2.5E8"),
    ],
)
def test_a_rate_is_written_like_a_java_double(value: float, expected: str) -> None:
    assert pretty.text(value) == expected


def test_a_map_is_written_as_lines_of_key_and_value() -> None:
    assert pretty.lines_of_map({"admin": ["produce", "consume"], "n": 1}) == "admin    [produce, consume]\nn    1"
