"""What the tasks of `ops compact` find in their buckets of keys."""

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.compaction.last_places import BUCKETS, Keys, bucket_of


def test_a_bucket_without_the_names_of_its_keys_has_everything_else() -> None:
    found = Keys({"a": (7, 1, -1), "b": (7, 2, -1)}, {7: (3, 3)}, [(7, 0, -1)], (7, 3, 0))
    bare = found.without_names()
    assert not set(bare.last) & set(found.last)
    assert list(bare.last.values()) == list(found.last.values())
    assert (bare.counted, bare.whole, bare.chunked) == (found.counted, found.whole, found.chunked)


def test_a_key_may_be_any_bytes() -> None:
    assert 0 <= bucket_of(b"\xff\xfe") < BUCKETS
    assert bucket_of("ключ") == bucket_of("ключ".encode())
