"""A million unacknowledged messages on one Shared subscription: memory when pending, redelivered, half acknowledged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import peak_resident_mb, resident_mb
from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect
from tests.support.raw_client import RawClient

MESSAGES = 1_000_000
PAYLOAD = bytes(100)
IDS_PER_ACK = 1000
TOPIC = "persistent://public/default/unacked"
SETTINGS = (
    "maxUnackedMessagesPerConsumer=0",
    "maxUnackedMessagesPerSubscription=0",
    "keepAliveIntervalSeconds=600",  # the consumers read nothing while the messages are published
)


def unacked(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "unacked"), *SETTINGS) as process:
        idle = resident_mb(process.pid)
        first, second = joined(process), joined(process)
        publish(process)
        held = take(first, MESSAGES // 2) + take(second, MESSAGES // 2)
        loaded = resident_mb(process.pid)
        started = time.monotonic()
        first.close()
        second.send(client_commands.flow(1, MESSAGES))
        held = held[MESSAGES // 2 :] + take(second, MESSAGES // 2)
        dealt_again, given_back = time.monotonic() - started, resident_mb(process.pid)
        acknowledge(second, sorted(held)[::2])
        holes, peak = resident_mb(process.pid), peak_resident_mb(process.pid)
        second.close()
    scratch_dir(directory, "unacked")
    return (
        f"{MESSAGES:,} unacknowledged messages of {len(PAYLOAD)} bytes on a Shared subscription: {loaded:.0f} MB "
        f"resident ({idle:.0f} MB before); half of them given back and dealt again in {dealt_again:.1f} s: "
        f"{given_back:.0f} MB; every other one acknowledged: {holes:.0f} MB; {peak:.0f} MB at most"
    )


def joined(process: BrokerProcess) -> RawClient:
    client = RawClient(process.service_url)
    client.send(client_commands.subscribe(1, TOPIC, "s", 1, sub_type=CommandSubscribe.Shared))
    client.expect(BaseCommand.SUCCESS)
    client.send(client_commands.flow(1, MESSAGES // 2))
    return client


def publish(process: BrokerProcess) -> None:
    client = connect(process.service_url)
    producer = client.create_producer(TOPIC, block_if_queue_full=True, max_pending_messages=5000)
    for _ in range(MESSAGES):
        producer.send_async(PAYLOAD, lambda *_: None)
    producer.flush()
    client.close()


def take(client: RawClient, count: int) -> list[tuple[int, int]]:
    """Positions of the next `count` messages, in order of arrival."""
    return list(islice(positions(client), count))


def positions(client: RawClient) -> Iterator[tuple[int, int]]:
    while True:
        item = client.next(60.0)
        if isinstance(item, MessageFrame):
            yield item.message.message_id.ledgerId, item.message.message_id.entryId


def acknowledge(client: RawClient, held: list[tuple[int, int]]) -> None:
    for start in range(0, len(held), IDS_PER_ACK):
        ids = [pb.MessageIdData(ledgerId=ledger, entryId=entry) for ledger, entry in held[start : start + IDS_PER_ACK]]
        client.send(client_commands.acknowledge(1, ids, request_id=start))
        client.expect(BaseCommand.ACK_RESPONSE, 60.0)
