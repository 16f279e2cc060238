"""The hash by which an entry belongs to an entry bucket."""

from typing import Any

import pytest

from broker_core.wire.bucket_hash import bucket_hash
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, MessageMetadata
from tests.support.broker_metadata import add_broker_metadata


def entry(payload: bytes = b"x", **fields: Any) -> bytes:
    return build_entry(MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, **fields), payload)


def hash_of(data: bytes) -> int:
    return bucket_hash(b"before" + data + b"after", 6, 6 + len(data))


@pytest.mark.parametrize(("key", "expected"), [("key-0", 0xF8BF), ("key-1", 0x15A0), ("key-5", 0xC7BE)])
def test_an_entry_without_a_stamp_has_the_low_half_of_the_hash_of_its_key(key: str, expected: int) -> None:
    assert hash_of(entry(partition_key=key)) == expected


def test_a_stamp_precedes_the_key_and_its_lowest_hash_counts() -> None:
    stamped = entry(partition_key="key-0", entry_hash_min=7, entry_hash_max=9)
    assert hash_of(stamped) == hash_of(add_broker_metadata(stamped, BrokerEntryMetadata(index=7))) == 7


def test_a_stamp_of_zero_is_a_stamp() -> None:
    assert hash_of(entry(partition_key="key-0", entry_hash_min=0)) == 0


def test_bytes_like_a_stamp_in_the_payload_are_none() -> None:
    assert hash_of(entry(b"\x88\x02\x07", partition_key="key-0")) == 0xF8BF


def test_an_entry_that_cannot_be_parsed_has_a_hash() -> None:
    assert hash_of(b"\x88\x02") == hash_of(b"")
