"""Markers of replicated subscriptions as bytes."""

from typing import Any

import pytest

from broker_core.wire.markers import (
    Marker,
    SnapshotMarker,
    SnapshotRequest,
    SnapshotResponse,
    Update,
    encode_request,
    encode_response,
    encode_snapshot,
    encode_update,
    parse_marker,
)
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

EXAMPLES = [
    (encode_request(SnapshotRequest("id", "west"), 7), SnapshotRequest("id", "west"), 10, []),
    (
        encode_response(SnapshotResponse("id", "west", (1, 2)), "east", 7),
        SnapshotResponse("id", "west", (1, 2)),
        11,
        ["east"],
    ),
    (
        encode_snapshot(SnapshotMarker("id", (3, 4), {"east": (1, 2)}), "west", 7),
        SnapshotMarker("id", (3, 4), {"east": (1, 2)}),
        12,
        ["west"],
    ),
    (encode_update(Update("s", {"east": (1, 2)}), 7), Update("s", {"east": (1, 2)}), 13, []),
]


@pytest.mark.parametrize(("entry", "marker", "kind", "to"), EXAMPLES)
def test_a_marker_survives_a_round_trip_and_goes_where_pulsar_sends_it(
    entry: bytes, marker: Marker, kind: int, to: list[str]
) -> None:
    metadata = parse_entry(entry).metadata
    assert parse_marker(entry) == marker
    assert (metadata.producer_name, metadata.sequence_id, metadata.publish_time) == ("pulsar.marker", 0, 7)
    assert (metadata.marker_type, list(metadata.replicate_to)) == (kind, to)


def test_the_payload_of_an_update_is_that_of_pulsar() -> None:
    payload = parse_entry(encode_update(Update("sub", {"cb": (21, 18)}), 7)).payload
    assert payload == bytes.fromhex("0a03737562120a0a026362120408151012")


def test_an_entry_id_of_minus_one_is_read_as_pulsar_writes_it() -> None:
    entry = encode_response(SnapshotResponse("id", "west", (5, -1)), "east", 7)
    assert parse_marker(entry) == SnapshotResponse("id", "west", (5, -1))


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        ({}, b""),
        ({"marker_type": 21}, b""),
        ({"marker_type": 13}, b"\xff"),
        ({"marker_type": 13}, b""),
    ],
    ids=["message", "of a transaction", "no protobuf", "without a name"],
)
def test_what_is_no_marker_is_none(fields: dict[str, Any], payload: bytes) -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, **fields)
    assert parse_marker(build_entry(metadata, payload)) is None


def test_the_snapshot_of_another_cluster_means_nothing_here() -> None:
    metadata = parse_entry(EXAMPLES[2][0]).metadata
    metadata.replicated_from = "east"
    assert parse_marker(build_entry(metadata, parse_entry(EXAMPLES[2][0]).payload)) is None
