import pytest

from broker_core.wire.message import checksum
from broker_core.wire.topics_hash import topics_hash

A, B = "persistent://public/default/a", "persistent://public/default/b"


@pytest.mark.parametrize(("topics", "expected"), [([], "00000000"), ([A], "e4a876e3"), ([A, B], "c7559e98")])
def test_the_golden_hashes(topics: list[str], expected: str) -> None:
    assert topics_hash(topics) == expected


def test_the_checksum_is_written_low_byte_first() -> None:
    assert topics_hash(["123456789"]) == "839206e3"


def test_the_order_does_not_matter() -> None:
    assert topics_hash(["b", "a"]) == topics_hash(["a", "b"]) == checksum(b"a,b").to_bytes(4, "little").hex()


def test_names_are_sorted_by_utf_16_units() -> None:
    beyond_the_first_plane, late_in_it = "\U0001f600", "\uff00"
    joined = f"{beyond_the_first_plane},{late_in_it}".encode()
    assert topics_hash([late_in_it, beyond_the_first_plane]) == checksum(joined).to_bytes(4, "little").hex()
