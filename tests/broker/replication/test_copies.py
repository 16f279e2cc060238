"""Which entries are for another cluster, and how long a replicator pauses."""

from typing import Any

import pytest

from broker_core.config.replication import ReplicationConfig
from broker_core.errors import InvalidConfiguration
from broker_core.publishing.replication import SOURCE_POSITION
from broker_core.rates.backoff import MOST_SECONDS, Backoff
from broker_core.replication.copies import copy_of, stays_here
from broker_core.replication.start_position import start_position
from broker_core.storage.records.position import EARLIEST, LATEST, Position
from broker_core.testing import EmbeddedBroker
from broker_core.wire.frame import FrameDecoder
from broker_core.wire.message import add_checksum, build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.send import SendRun
from tests.support.clusters import config_of


def metadata(**fields: Any) -> MessageMetadata:
    return MessageMetadata(producer_name="p", sequence_id=5, publish_time=1_700_000_000_000, **fields)


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        ({}, False),
        ({"replicated_from": "south"}, True),
        ({"marker_type": 10}, False),
        ({"marker_type": 12, "replicate_to": ["west"]}, True),
        ({"marker_type": 13, "replicated_from": "south"}, True),
        ({"marker_type": 21}, True),
        ({"replicate_to": ["east", "west"]}, False),
        ({"replicate_to": ["west"]}, True),
        ({"replicate_to": ["__local__"]}, True),
    ],
)
def test_which_entries_stay(fields: dict[str, Any], stays: bool) -> None:
    assert stays_here(metadata(**fields), "east") is stays


def test_bytes_that_no_release_knows_survive_in_a_copy() -> None:
    unknown = b"\xfa\x3e\x03abc"  # field 1007
    encoded = metadata().SerializeToString() + unknown
    entry = add_checksum(len(encoded).to_bytes(4, "big") + encoded + b"payload")
    copy = copy_of(
        entry, metadata(), Position(3, 4), source="west", producer_id=1, names_position=True, schema_version=b"v"
    )
    [run] = FrameDecoder(1 << 20).feed(copy.frame)
    assert isinstance(run, SendRun) and run.sequence_ids == [5]
    found = parse_entry(run.entry(0))
    assert unknown in found.metadata.SerializeToString() and found.payload == b"payload"
    assert (found.metadata.replicated_from, found.metadata.schema_version) == ("west", b"v")
    assert [(one.key, one.value) for one in found.metadata.properties] == [(SOURCE_POSITION, "3:4")]


def test_a_copy_replaces_the_schema_version_of_its_original() -> None:
    original = metadata(schema_version=b"old")
    copy = copy_of(
        build_entry(original, b""),
        original,
        Position(0, 0),
        source="west",
        producer_id=1,
        names_position=False,
        schema_version=b"new",
    )
    [run] = FrameDecoder(1 << 20).feed(copy.frame)
    assert isinstance(run, SendRun)
    assert parse_entry(run.entry(0)).metadata.schema_version == b"new"


def test_pauses_double_up_to_a_minute_and_start_over_after_progress() -> None:
    backoff = Backoff()
    pauses = [backoff.next_seconds() for _ in range(14)]
    assert 0.05 <= pauses[0] <= 0.1 and MOST_SECONDS / 2 <= pauses[-1] <= MOST_SECONDS
    backoff.reset()
    assert backoff.next_seconds() <= 0.1


@pytest.mark.parametrize(("text", "position"), [("latest", LATEST), ("earliest", EARLIEST), ("12:7", Position(12, 7))])
def test_where_replication_begins(text: str, position: Position) -> None:
    assert start_position(text) == position


@pytest.mark.parametrize("text", ["", "first", "1", "1:", "-1:0"])
def test_other_places_to_begin_are_refused(text: str) -> None:
    with pytest.raises(InvalidConfiguration, match="replicationStartAt must be"):
        start_position(text)


def test_a_broker_does_not_start_with_another_place_to_begin() -> None:
    config = config_of("west", replication=ReplicationConfig(start_at="first"))
    with pytest.raises(InvalidConfiguration, match="replicationStartAt must be"):
        EmbeddedBroker(config=config).start()
