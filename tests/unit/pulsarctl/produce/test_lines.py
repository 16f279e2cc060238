"""Bytes are split into lines, whatever the chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsarctl.errors import CliError
from pulsarctl.produce import lines
from pulsarctl.produce.lines import runs_of_lines


def lines_of(*chunks: bytes) -> list[bytes]:
    left = list(chunks)
    return [line for run in runs_of_lines(lambda _size: left.pop(0) if left else b"") for line in run]


def test_a_line_ends_at_the_newline_and_nowhere_else() -> None:
    assert lines_of(b"a\r\nb\rc\x0b\x0c\x85\xe2\x80\xa8d\0e\n") == [b"a\r", b"b\rc\x0b\x0c\x85\xe2\x80\xa8d\0e"]


def test_an_empty_line_is_a_line() -> None:
    assert lines_of(b"\n\na\n") == [b"", b"", b"a"]


def test_a_last_line_without_newline_counts() -> None:
    assert lines_of(b"a\nb") == [b"a", b"b"]


def test_nothing_follows_a_final_newline() -> None:
    assert lines_of(b"a\n") == [b"a"]


def test_an_empty_stream_has_no_lines() -> None:
    assert lines_of() == []


def test_bytes_that_are_not_text_are_kept() -> None:
    assert lines_of(b"\xff\xfe\n") == [b"\xff\xfe"]


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=20))
def test_any_split_gives_the_same_lines(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert lines_of(*chunks) == expected


def test_an_endless_line_is_refused_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 10)
    with pytest.raises(CliError, match="line 3: it is longer than 10 bytes"):
        lines_of(b"a\nb\n", b"x" * 6, b"x" * 6)
