"""Jobs of `ops` and scalable topics: those of a namespace, and what a job cannot do, in one sentence each."""

import json
from contextlib import closing
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli
from tests.support.scalable_topic import ScalableTopic

ORDERS = "topic://public/default/orders"
SEGMENT = {"segmentId": 0, "hashRange": {"start": 0, "end": 65535}, "state": "ACTIVE", "createdAtEpoch": 0}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("compact", ORDERS), f"cannot compact {ORDERS}: Pulsar does not compact scalable topics"),
        (("import", "./files", ORDERS), f"cannot write to {ORDERS}: jobs do not write to scalable topics"),
        (("replay", "dead", ORDERS), f"cannot write to {ORDERS}: jobs do not write to scalable topics"),
        (
            ("offload", ORDERS, "--to", "file:///store"),
            f"cannot set the store of {ORDERS}: a scalable topic has the offload policy of its namespace",
        ),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(cli_alone: Cli, words: tuple[str, ...], error: str) -> None:
    done = cli_alone("ops", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"error: {error}\n" in done.stderr


@pytest.fixture
def namespace(pulsar_broker: EmbeddedBroker, client: pulsar.Client, request: pytest.FixtureRequest) -> str:
    """It has `returns` with a message, and the scalable topic `clicks` with three; `keeps` has read none of them."""
    name = f"public/{request.node.name}"
    with closing(ScalableTopic(pulsar_broker, "").admin()) as admin:
        admin.namespaces.create(name)
    client.subscribe(f"{name}/returns", "keeps").close()
    producer = client.create_producer(f"{name}/returns")
    producer.send(b"x")
    producer.close()
    clicks = ScalableTopic.create(pulsar_broker, "clicks", namespace=name)
    clicks.subscribe("keeps")
    clicks.publish(0, ["a", "b"])
    clicks.split(0)
    clicks.publish(1, ["a"])
    return name


def test_the_backlog_of_a_namespace_or_pattern_has_scalable_topics_as_a_whole(cli: Cli, namespace: str) -> None:
    returns, clicks = (f"persistent://{namespace}/returns", 1), (f"topic://{namespace}/clicks", 3)
    for target, counted in (
        (namespace, [returns, clicks]),
        (f"{namespace}/*", [returns, clicks]),
        (f"{namespace}/cl*", [clicks]),
        (f"topic://{namespace}/*", [clicks]),
        (f"persistent://{namespace}/*", [returns]),
    ):
        done = cli("-o", "json", "ops", "backlog", target)
        found = [(one["topic"], one["messages"]) for one in json.loads(done.stdout)["subscriptions"]]
        assert (found, done.stderr) == (counted, ""), target


def test_the_offload_of_a_namespace_takes_the_segments_of_its_scalable_topics(
    cli: Cli, namespace: str, tmp_path: Path
) -> None:
    done = cli("-o", "json", "ops", "offload", namespace, "--to", f"file://{tmp_path}/store")
    sealed = {one["topic"]: one["ledgers"] for one in json.loads(done.stdout)}
    assert sealed == {
        f"persistent://{namespace}/returns": 0,
        f"segment://{namespace}/clicks/0000-ffff-0": 1,
        f"segment://{namespace}/clicks/0000-7fff-1": 0,
        f"segment://{namespace}/clicks/8000-ffff-2": 0,
    }, done.stderr
    restored = json.loads(cli("-o", "json", "ops", "restore", namespace).stdout)
    assert {one["topic"]: one["ledgers"] for one in restored} == sealed


def answer_of_apache_pulsar(request: Request) -> Reply:
    """It has scalable topics, but does not tell about the ledgers of a segment."""
    if "/persistent/" in request.path:
        return Reply(body=[])
    if "/segments/" in request.path:
        return Reply(404, {"reason": "HTTP 404 Not Found"})
    return Reply(
        body=["topic://public/default/orders"] if request.path.endswith("default") else {"segments": {"0": SEGMENT}}
    )


def test_a_broker_that_does_not_tell_about_segments_is_named_as_the_reason(tmp_path: Path) -> None:
    with HttpStub(answer_of_apache_pulsar) as stub:
        done = Cli(tmp_path, stub.url)("ops", "verify", ORDERS)
    assert done.exit_code == 3
    assert "only pulsarctl's broker tells which ledgers and messages a segment has" in done.stderr


def test_scalable_topics_of_a_namespace_are_left_out_if_the_broker_does_not_tell_about_segments(
    tmp_path: Path,
) -> None:
    with HttpStub(answer_of_apache_pulsar) as stub:
        done = Cli(tmp_path, stub.url)("-o", "json", "ops", "offload", "public/default")
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])
    assert done.stderr == (
        "the scalable topics of public/default are left out: "
        "only pulsarctl's broker tells which ledgers and messages a segment has\n"
    )
