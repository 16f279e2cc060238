"""What the admin API says about single segments: ledgers, messages, and tiered storage."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.requests import Requests
from tests.support.condition import wait_until
from tests.support.offloaded_topic import in_directory
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish

X = "scalable/public/default/x"
WHOLE = "segments/public/default/x/0000-ffff-0"
SECONDS = 10
EVERYTHING = {"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}


def fill(client: RawClient, descriptor: str, count: int) -> tuple[int, int]:
    """Returns the position of the last message."""
    client.ask(producer(f"segment://public/default/x/{descriptor}"), BaseCommand.PRODUCER_SUCCESS)
    last = publish(client, count)[-1]
    return last.ledgerId, last.entryId


def test_a_segment_has_the_ledgers_statistics_and_messages_of_a_topic(admin: Requests, client: RawClient) -> None:
    admin("PUT", X)
    ledger, entry = fill(client, "0000-ffff-0", 3)
    stats = admin("GET", f"{WHOLE}/internalStats").json
    assert (stats["lastConfirmedEntry"], [one["ledgerId"] for one in stats["ledgers"]]) == (f"{ledger}:2", [ledger])
    assert admin("GET", f"{WHOLE}/internal-info").json["ledgers"][0]["ledgerId"] == ledger
    assert admin("GET", f"{WHOLE}/stats").json["msgInCounter"] == 3
    assert admin("GET", f"{WHOLE}/messageid/0").json["entryId"] == 0
    assert admin("GET", f"{WHOLE}/ledger/{ledger}/entry/{entry}").status == 200


def test_a_segment_that_the_topic_does_not_have_is_not_found(admin: Requests) -> None:
    admin("PUT", X)
    for path in ("internalStats", "stats", "internal-info", "messageid/0", "ledger/0/entry/0", "offload"):
        assert admin("GET", f"segments/public/default/x/0000-7fff-1/{path}").status == 404, path
        assert admin("GET", f"segments/public/default/x/nothing/{path}").status == 412, path


@pytest.fixture
def offloading(tmp_path: Path) -> Iterator[Requests]:
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, offload=in_directory(tmp_path))) as broker:
        yield Requests(broker)


def offload(admin: Requests, descriptor: str) -> list[bool]:
    """Which ledgers of the segment are in tiered storage then."""
    path = f"segments/public/default/x/{descriptor}"
    assert admin("PUT", f"{path}/offload", EVERYTHING).status == 204
    wait_until(lambda: admin("GET", f"{path}/offload").json["status"] != "RUNNING", SECONDS)
    assert admin("GET", f"{path}/offload").json["status"] == "SUCCESS"
    return [ledger["offloaded"] for ledger in admin("GET", f"{path}/internalStats").json["ledgers"]]


def test_all_of_a_sealed_segment_is_offloaded(offloading: Requests) -> None:
    offloading("PUT", X)
    with RawClient(offloading.embedded.service_url) as client:
        fill(client, "0000-ffff-0", 3)
    assert offload(offloading, "0000-ffff-0") == [False], "it takes messages"
    assert offloading("POST", f"{X}/split/0").status == 204
    assert offload(offloading, "0000-ffff-0") == [True]
    assert offloading("POST", f"{WHOLE}/offload/restore").json == {"segment://public/default/x/0000-ffff-0": 1}
