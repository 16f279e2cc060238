"""Partitions are chosen as in Pulsar's Java tools."""

import pytest

from pulsarctl.client.routing import Router, java_string_hash


@pytest.mark.parametrize(
    ("text", "hash_code"),
    [
        ("", 0),
        ("a", 97),
        ("key1", 3_288_498),
        ("hello", 99_162_322),
        ("test-key", 999_538_340),  # the sign bit is cleared
        ("polygenelubricants", 0),  # Integer.MIN_VALUE
        ("key-é", 101_943_547),  # UTF-16 units, not bytes
        ("日本語", 25_921_943),
        ("😀", 1_772_899),  # two units
    ],
)
def test_the_hash_is_that_of_a_java_string(text: str, hash_code: int) -> None:
    assert java_string_hash(text) == hash_code


def test_a_key_always_goes_to_the_same_partition() -> None:
    router = Router(4, 1)
    assert {router.partition_for("hello") for _ in range(10)} == {99_162_322 % 4}


def test_without_a_key_partitions_take_turns() -> None:
    router = Router(3, 2, first=2)
    assert [router.partition_for(None) for _ in range(8)] == [2, 2, 0, 0, 1, 1, 2, 2]


def test_an_empty_key_counts_as_no_key() -> None:
    router = Router(2, 1)
    assert [router.partition_for("") for _ in range(4)] == [0, 1, 0, 1]
