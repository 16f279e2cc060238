"""Durations and sizes mean the same as in pulsar-admin; an error lists the units."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.values.quantities import human_size, parse_duration, parse_seconds, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("-1", -1),
        ("10s", 10),
        ("5m", 300),
        ("2H", 7200),
        ("7d", 604_800),
        ("1w", 604_800),
        ("1y", 31_536_000),
        ("500ms", 0.5),
        ("1d12h", 129_600),
        ("PT30M", 1800),
        ("P1DT2H", 93_600),
    ],
)
def test_a_duration_is_parsed_to_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "1x", "h", "1.5h", "10 s", "P", "--5", "m5"])
def test_an_invalid_duration_is_refused_and_the_units_are_listed(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_duration(text)
    assert "10s" in str(caught.value.hint)


def test_a_fraction_of_a_second_is_rounded_up() -> None:
    assert parse_seconds("500ms") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("10K", 10_240), ("5m", 5 << 20), ("1GiB", 1 << 30), ("2tb", 2 << 40), ("-1", -1)],
)
def test_a_size_is_parsed_to_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "10X", "1.5G", "K"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_size(text)


def test_sizes_are_shown_in_binary_units() -> None:
    assert [human_size(size) for size in (0, 1023, 1536, 5 << 30, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 GiB",
        "3.0 TiB",
    ]
