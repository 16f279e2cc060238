"""Payloads, keys, stamps, and the input of the `perf` commands."""

from itertools import islice
from pathlib import Path

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.perf.payloads import keys_of, letters, lines_of
from pulsarctl.perf.perf_options import OUTSTANDING, window_and_format
from pulsarctl.perf.stamps import Stamps
from tests.support.runner import Cli


def test_keys_count_up_or_are_random() -> None:
    assert list(islice(keys_of(None), 2)) == [None, None]
    assert list(islice(keys_of("autoIncrement"), 3)) == ["0", "1", "2"]
    assert len(set(islice(keys_of("random"), 50))) > 1


def test_a_number_after_o_is_the_window_and_a_word_is_the_format() -> None:
    assert window_and_format(None, None) == (OUTSTANDING, None)
    assert window_and_format(["5", "json"], None) == (5, "json")
    assert window_and_format(["csv"], 7) == (7, "csv")


def test_a_payload_file_is_split_at_its_delimiter() -> None:
    assert lines_of(b"a\nb\n", r"\n") == [b"a", b"b"]
    assert lines_of(b"a--b", "--") == [b"a", b"b"]
    with pytest.raises(UsageProblem, match="no message"):
        lines_of(b"\n", r"\n")


def test_a_stamp_is_known_only_to_its_run() -> None:
    stamps = Stamps(letters(64))
    payload = stamps.payload()
    assert len(payload) == 64
    assert stamps.sent_ns(payload) is not None
    assert Stamps(letters(64)).sent_ns(payload) is None
    assert stamps.sent_ns(b"short") is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("produce", "t", "-r", "fast"), "'fast' is not"),
        (("produce", "t", "-s", "big"), "'big' is not a size"),
        (("produce", "t", "-s", "-1"), "cannot send messages of -1 bytes"),
        (("produce", "t", "-z", "rar"), "unknown compression 'rar'"),
        (("produce", "t", "-mk", "fixed"), "unknown key generation mode 'fixed'"),
        (("produce", "t", "-time", "soon"), "'soon' is not a duration"),
        (("produce", "t", "-time", "-5"), "the duration -5 is negative"),
        (("produce", "t", "--send-timeout", "0"), "cannot use a timeout of 0: the command could wait forever"),
        (("produce", "t", "-o", "5", "--max-outstanding", "6"), "-o is given twice"),
        (("produce", "t", "-o", "json", "-o", "csv"), "-o is given twice"),
        (("produce", "t", "-o", "0"), "a producer needs room for 1 message"),
        (("produce", "t", "-o", "xml"), "unknown output format 'xml'"),
        (("produce", "a", "b", "-t", "3"), "cannot use 2 names for 3 topics"),
        (("produce", "a", "a"), "a name is given twice"),
        (("consume", "t", "-st", "Fast"), "unknown subscription type 'Fast'"),
        (("consume", "t", "-n", "2"), "an Exclusive subscription has one consumer"),
        (("consume", "t", "-sp", "Middle"), "unknown position 'Middle'"),
        (("read", "t", "-m", "first"), "'first' is not a message ID"),
        (("e2e", "t", "-s", "8"), "messages of 8 bytes are too small"),
    ],
)
def test_a_wrong_option_is_a_usage_error_that_names_it(cli_alone: Cli, words: tuple[str, ...], problem: str) -> None:
    outcome = cli_alone("perf", *words)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert problem in outcome.stderr


def test_a_payload_file_that_does_not_exist_is_named(cli_alone: Cli, tmp_path: Path) -> None:
    outcome = cli_alone("perf", "produce", "t", "-f", str(tmp_path / "none.txt"))
    assert outcome.exit_code == 1
    assert "none.txt: No such file" in outcome.stderr


@pytest.mark.parametrize("verb", ["produce", "consume", "read", "e2e"])
def test_without_a_broker_the_error_is_that_of_the_connection(cli_alone: Cli, verb: str) -> None:
    outcome = cli_alone("perf", verb, "t", "--url", "pulsar://127.0.0.1:1", "--timeout", "5s")
    assert outcome.exit_code == 5
    assert "cannot connect to pulsar://127.0.0.1:1" in outcome.stderr
