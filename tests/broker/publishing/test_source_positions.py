"""Replicators that tell their copies apart by the positions that these have in their own cluster."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/copied"
NAME = "pulsar.repl.east-->standalone"
DEDUPLICATING = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True, inactive_minutes=0))
NOWHERE = (1 << 64) - 1


def copy(ledger: int, entry: int, *, sequence_id: int = 7, source: str = "east", **fields: Any) -> bytes:
    described = {
        "replicated_from": source,
        "properties": [pb.KeyValue(key="__MSG_PROP_REPL_SOURCE_POSITION", value=f"{ledger}:{entry}")],
        **fields.pop("metadata", {}),
    }
    return send(sequence_id, b"%d:%d" % (ledger, entry), metadata=described, **fields)


def chunk(ledger: int, entry: int, number: int) -> bytes:
    described = {"uuid": "u", "chunk_id": number, "num_chunks_from_msg": 2, "total_chunk_msg_size": 20}
    return copy(ledger, entry, metadata=described, is_chunk=True)


def connected(broker: EmbeddedBroker, name: str = NAME) -> RawClient:
    raw = RawClient(broker.service_url, handshake=False)
    raw.send(client_commands.connect("raw", supports_source_positions=True))
    assert raw.expect(BaseCommand.CONNECTED).feature_flags.supports_repl_dedup_by_lid_and_eid
    raw.ask(producer(TOPIC, producer_name=name, user_provided_producer_name=True), BaseCommand.PRODUCER_SUCCESS)
    return raw


def replicate(broker: EmbeddedBroker, *frames: bytes) -> list[Any]:
    """Sends the frames as a replicator and returns their receipts."""
    with connected(broker) as raw:
        raw.send(b"".join(frames))
        return [raw.expect(BaseCommand.SEND_RECEIPT) for _ in frames]


def answered(receipts: list[Any]) -> list[tuple[int, int, bool]]:
    """Sequence ID, highest sequence ID, and whether the copy was stored before."""
    return [(one.sequence_id, one.highest_sequence_id, one.message_id.ledgerId == NOWHERE) for one in receipts]


def test_receipts_name_the_position_in_the_other_cluster() -> None:
    with EmbeddedBroker() as broker:
        found = answered(replicate(broker, copy(3, 0), copy(3, 1), copy(5, 0)))
        assert found == [(3, 0, False), (3, 1, False), (5, 0, False)]


def test_the_receipt_of_a_marker_names_no_position() -> None:
    marker = send(0, b"m", metadata={"marker_type": 10, "replicated_from": "east"}, marker=True)
    with EmbeddedBroker() as broker:
        assert answered(replicate(broker, copy(3, 0), marker)) == [(3, 0, False), (0, 1 << 63, False)]


def test_a_position_is_stored_once_whatever_its_sequence_id() -> None:
    with EmbeddedBroker(config=DEDUPLICATING) as broker:
        frames = copy(3, 0), copy(3, 4), copy(3, 4), copy(3, 2), copy(4, 0, sequence_id=1)
        assert [again for *_, again in answered(replicate(broker, *frames))] == [False, False, True, True, False]


def test_positions_of_two_clusters_are_not_compared() -> None:
    with EmbeddedBroker(config=DEDUPLICATING) as broker:
        replicate(broker, copy(9, 0))
        with connected(broker, "pulsar.repl.north-->standalone") as raw:
            raw.send(copy(3, 0, source="north"))
            assert raw.expect(BaseCommand.SEND_RECEIPT).message_id.ledgerId != NOWHERE


def test_each_chunk_counts() -> None:
    with EmbeddedBroker(config=DEDUPLICATING) as broker:
        frames = chunk(3, 0, 0), chunk(3, 0, 0), chunk(3, 1, 1), chunk(3, 1, 1)
        assert [again for *_, again in answered(replicate(broker, *frames))] == [False, True, False, True]


@pytest.mark.parametrize("crashes", [False, True])
def test_positions_survive_a_restart_and_a_long_absence(tmp_path: Path, crashes: bool) -> None:
    data = tmp_path / "data"
    with EmbeddedBroker(data, config=DEDUPLICATING) as broker:
        replicate(broker, copy(3, 0), copy(3, 1))
        loaded(broker, TOPIC).deduplication.forget_inactive()
        if crashes:
            shutil.copytree(data, tmp_path / "crashed")
    with EmbeddedBroker(tmp_path / "crashed" if crashes else data, config=DEDUPLICATING) as broker:
        loaded_again = replicate(broker, copy(3, 1), copy(3, 2))
        assert [again for *_, again in answered(loaded_again)] == [True, False]


def test_a_copy_without_a_position_is_refused_and_not_stored() -> None:
    with EmbeddedBroker() as broker, connected(broker) as raw:
        raw.send(send(5, b"x", metadata={"replicated_from": "east"}))
        refused = raw.expect(BaseCommand.SEND_ERROR)
        assert (refused.sequence_id, refused.error) == (5, pb.PersistenceError)
        assert loaded(broker, TOPIC).ledger.entries == 0
