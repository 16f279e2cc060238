"""Marker messages of replicated subscriptions (PIP-33): entries that brokers write for one another, never for clients.

A cluster that wants a snapshot writes a `SnapshotRequest`. Every other cluster answers with a `SnapshotResponse`, which
names its position. When all have answered, the first one writes a `SnapshotMarker` for itself: a subscription past
its position here is past those of the others. A subscription that passes a snapshot sends their positions as an
`Update`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from broker_core.wire.errors import EntryError
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.pulsar_markers_pb2 import (
    REPLICATED_SUBSCRIPTION_SNAPSHOT,
    REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST,
    REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE,
    REPLICATED_SUBSCRIPTION_UPDATE,
    ClusterMessageId,
    MarkersMessageIdData,
    ReplicatedSubscriptionsSnapshot,
    ReplicatedSubscriptionsSnapshotRequest,
    ReplicatedSubscriptionsSnapshotResponse,
    ReplicatedSubscriptionsUpdate,
)
from broker_core.wire.texts import with_readable_texts

M = TypeVar("M", bound=Message)
PRODUCER = "pulsar.marker"
_BITS, _SIGN = (1 << 64) - 1, 1 << 63
EntryPosition = tuple[int, int]  # ledger and entry
Positions = Mapping[str, EntryPosition]  # by cluster


class SnapshotRequest(NamedTuple):
    snapshot_id: str
    source: str


class SnapshotResponse(NamedTuple):
    """The end of the topic in `cluster` before it answered."""

    snapshot_id: str
    cluster: str
    position: EntryPosition


class SnapshotMarker(NamedTuple):
    """A subscription that is past `position` here is past `elsewhere` in the other clusters."""

    snapshot_id: str
    position: EntryPosition
    elsewhere: Positions


class Update(NamedTuple):
    """A subscription is past these positions."""

    subscription: str
    elsewhere: Positions


Marker = SnapshotRequest | SnapshotResponse | SnapshotMarker | Update


def encode_request(marker: SnapshotRequest, now_ms: int) -> bytes:
    """Return a marker for all other clusters."""
    payload = ReplicatedSubscriptionsSnapshotRequest(snapshot_id=marker.snapshot_id, source_cluster=marker.source)
    return _entry(REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST, payload.SerializeToString(), now_ms)


def encode_response(marker: SnapshotResponse, asker: str, now_ms: int) -> bytes:
    """Return a response for the cluster that asked."""
    payload = ReplicatedSubscriptionsSnapshotResponse(
        snapshot_id=marker.snapshot_id, cluster=_at(marker.cluster, marker.position)
    )
    return _entry(REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE, payload.SerializeToString(), now_ms, (asker,))


def encode_snapshot(marker: SnapshotMarker, own: str, now_ms: int) -> bytes:
    """Return a snapshot for this cluster only: its name is the only one to replicate to."""
    payload = ReplicatedSubscriptionsSnapshot(
        snapshot_id=marker.snapshot_id,
        local_message_id=_encoded(marker.position),
        clusters=[_at(cluster, position) for cluster, position in marker.elsewhere.items()],
    )
    return _entry(REPLICATED_SUBSCRIPTION_SNAPSHOT, payload.SerializeToString(), now_ms, (own,))


def encode_update(marker: Update, now_ms: int) -> bytes:
    """Return a marker for all other clusters."""
    payload = ReplicatedSubscriptionsUpdate(
        subscription_name=marker.subscription,
        clusters=[_at(cluster, position) for cluster, position in marker.elsewhere.items()],
    )
    return _entry(REPLICATED_SUBSCRIPTION_UPDATE, payload.SerializeToString(), now_ms)


def parse_marker(entry: bytes) -> Marker | None:
    """Return None for an entry that is not a marker of replicated subscriptions, or that cannot be read.

    Also for the snapshot of another cluster: its position means nothing here.
    """
    try:
        metadata, payload, _ = parse_entry(entry, verify=False)
        parse = _PARSERS.get(metadata.marker_type)
        marker = None if parse is None else parse(payload)
        return None if isinstance(marker, SnapshotMarker) and metadata.HasField("replicated_from") else marker
    except (EntryError, DecodeError):
        return None


def _read(message: M, payload: bytes) -> M:
    """Raises `DecodeError`."""
    message.ParseFromString(payload)
    if not message.IsInitialized():
        raise DecodeError("a required field is missing")
    return with_readable_texts(message)


def _request(payload: bytes) -> Marker:
    request = _read(ReplicatedSubscriptionsSnapshotRequest(), payload)
    return SnapshotRequest(request.snapshot_id, request.source_cluster)


def _response(payload: bytes) -> Marker:
    response = _read(ReplicatedSubscriptionsSnapshotResponse(), payload)
    return SnapshotResponse(response.snapshot_id, response.cluster.cluster, _position(response.cluster.message_id))


def _snapshot(payload: bytes) -> Marker:
    snapshot = _read(ReplicatedSubscriptionsSnapshot(), payload)
    return SnapshotMarker(snapshot.snapshot_id, _position(snapshot.local_message_id), _positions(snapshot.clusters))


def _update(payload: bytes) -> Marker:
    update = _read(ReplicatedSubscriptionsUpdate(), payload)
    return Update(update.subscription_name, _positions(update.clusters))


_PARSERS: dict[int, Callable[[bytes], Marker]] = {
    REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST: _request,
    REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE: _response,
    REPLICATED_SUBSCRIPTION_SNAPSHOT: _snapshot,
    REPLICATED_SUBSCRIPTION_UPDATE: _update,
}


def _entry(kind: int, payload: bytes, now_ms: int, replicate_to: Sequence[str] = ()) -> bytes:
    metadata = MessageMetadata(
        producer_name=PRODUCER, sequence_id=0, publish_time=now_ms, marker_type=kind, replicate_to=replicate_to
    )
    return build_entry(metadata, payload)


def _at(cluster: str, position: EntryPosition) -> ClusterMessageId:
    return ClusterMessageId(cluster=cluster, message_id=_encoded(position))


def _encoded(position: EntryPosition) -> MarkersMessageIdData:
    """The IDs as unsigned numbers; Pulsar writes an entry ID of -1 in this way, too."""
    return MarkersMessageIdData(ledger_id=position[0] & _BITS, entry_id=position[1] & _BITS)


def _position(message_id: MarkersMessageIdData) -> EntryPosition:
    return _signed(message_id.ledger_id), _signed(message_id.entry_id)


def _signed(number: int) -> int:
    return number - (_SIGN << 1) if number & _SIGN else number


def _positions(clusters: Iterable[ClusterMessageId]) -> dict[str, EntryPosition]:
    return {str(cluster.cluster): _position(cluster.message_id) for cluster in clusters}
