"""Scalable topics in files: what is planned, what is sent, and what brokers without them get."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.state.conftest import Write
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli

ROOT = "/admin/v2/scalable/shop/a"
ORDERS = f"{ROOT}/orders"
DECLARED: dict[str, Any] = {
    "segments": 4,
    "properties": {"owner": "me"},
    "policies": {"auto-scale-policy": {"maxSegments": 8, "splitBytesRateInThreshold": "50M"}},
}


class Broker:
    """A broker of Pulsar 5.0 with the scalable topics in `records`, of which it lists one more that it has deleted."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.changes: list[tuple[str, str, Any]] = []

    def __call__(self, request: Request) -> Reply:
        path = request.path
        if request.method != "GET":
            self.changes.append((request.method, path, json.loads(request.body) if request.body else None))
            return Reply(204)
        answers: dict[str, Any] = {
            "/admin/v2/clusters": ["own"],
            "/admin/v2/tenants/shop": {"allowedClusters": ["own"]},
            "/admin/v2/namespaces/shop": ["shop/a"],
            "/admin/v2/namespaces/shop/a": {"scalableTopicAutoScalePolicy": {"enabled": False}},
            ROOT: [f"topic://shop/a/{name}" for name in (*self.records, "deleted")],
            **{f"{ROOT}/{name}": record for name, record in self.records.items()},
        }
        return Reply(body=answers[path]) if path in answers else Reply(404, {"reason": "not found"})


def record(segments: int, policy: Any = None) -> dict[str, Any]:
    active = {str(number): {"state": "ACTIVE"} for number in range(1, segments + 1)}
    return {"segments": {"0": {"state": "SEALED"}} | active, "properties": {"owner": "me"}, "autoScalePolicy": policy}


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def cli(broker: Broker, tmp_path: Path) -> Iterator[Cli]:
    with HttpStub(broker) as stub:
        yield Cli(tmp_path, stub.url)


def document(topic: Any, **more: Any) -> dict[str, Any]:
    return {"namespaces": {"shop/a": {}}, "scalable-topics": {"shop/a/orders": topic}, **more}


def test_a_topic_is_created_with_its_segments_and_then_gets_its_policy(cli: Cli, broker: Broker, write: Write) -> None:
    done = cli("apply", "-f", write(document(DECLARED)))
    assert done.stdout.splitlines() == [
        "  + scalable topic topic://shop/a/orders",
        "      + segments                    4",
        "      + properties.owner            me",
        "      + policies.auto-scale-policy  maxSegments 8, split above bytes in 50.0 MiB",
        "Plan: 1 to create, 0 to change, 0 to delete.",
    ]
    assert (done.exit_code, done.stderr) == (0, "applied 1 change\n")
    assert broker.changes == [
        ("PUT", f"{ORDERS}?numInitialSegments=4", {"owner": "me"}),
        ("POST", f"{ORDERS}/autoScalePolicy", {"maxSegments": 8, "splitBytesRateInThreshold": 50 << 20}),
    ]


def test_the_number_of_segments_of_a_topic_that_exists_is_not_compared(cli: Cli, broker: Broker, write: Write) -> None:
    broker.records["orders"] = record(7, {"maxSegments": 8})
    document_of_orders = document(DECLARED | {"policies": {"auto-scale-policy": {"maxSegments": 8}}})
    assert cli("diff", "-f", write(document_of_orders)).exit_code == 0


def test_policies_that_the_file_leaves_out_stay_without_prune(cli: Cli, broker: Broker, write: Write) -> None:
    broker.records["orders"] = record(1, {"maxSegments": 8})
    file = write(document({"policies": {}}, scope=["shop/a"]))
    assert cli("diff", "-f", file).exit_code == 0
    assert cli("apply", "-f", file, "--prune", "--yes").exit_code == 0
    of_namespace = "/admin/v2/namespaces/shop/a/scalableTopicAutoScalePolicy"
    paths = (of_namespace, f"{ORDERS}/autoScalePolicy")
    assert broker.changes == [("DELETE", path, None) for path in paths]


def test_other_properties_are_refused(cli: Cli, broker: Broker, write: Write) -> None:
    broker.records["orders"] = record(1)
    refused = cli("apply", "-f", write(document({"properties": {"owner": "you"}})))
    line = "  ! scalable topic topic://shop/a/orders has other properties, and Pulsar cannot change them: "
    assert (refused.exit_code, broker.changes) == (6, [])
    assert refused.stdout.splitlines()[0] == f"{line}delete it first, with its messages"


def test_prune_deletes_the_topics_that_a_scope_leaves_out(cli: Cli, broker: Broker, write: Write) -> None:
    broker.records["orders"] = record(1)
    file = write({"scope": ["shop/a"], "namespaces": {"shop/a": {}}})
    assert cli("apply", "-f", file).exit_code == 0
    assert broker.changes == []
    assert cli("apply", "-f", file, "--prune", "--yes").exit_code == 0
    assert broker.changes[0] == ("DELETE", f"{ORDERS}?force=false", None)


def test_an_export_has_the_active_segments_and_the_policies(cli: Cli, broker: Broker) -> None:
    broker.records["orders"] = record(3, {"maxSegments": 8})
    exported = yaml.safe_load(cli("export", "-n", "shop/a").stdout)
    policies = {"auto-scale-policy": {"maxSegments": 8}}
    topic = {"segments": 3, "properties": {"owner": "me"}, "policies": policies}
    assert exported["scalable-topics"] == {"topic://shop/a/orders": topic}
    assert exported["namespaces"]["shop/a"]["policies"] == {"scalable-topic-auto-scale-policy": {"enabled": False}}


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("persistent://shop/a/x", {}, "is not the name of a scalable topic"),
        ("shop/a/x", {"segments": 0}, "expected 1 or more, got 0"),
        ("shop/a/x", {"partitions": 2}, "unknown key of a scalable topic 'partitions'"),
        ("shop/a/x", {"policies": {"auto-scale-policy": {"maxSegment": 1}}}, "did you mean 'maxSegments'?"),
    ],
)
def test_a_mistake_is_found_before_a_request(
    cli_alone: Cli, write: Write, name: str, settings: dict[str, Any], said: str
) -> None:
    refused = cli_alone("diff", "-f", write({"scalable-topics": {name: settings}}))
    assert (refused.exit_code, said in refused.stderr) == (2, True)


def test_a_namespace_of_a_scalable_topic_must_exist(cli: Cli, write: Write) -> None:
    refused = cli("apply", "-f", write({"scalable-topics": {"shop/b/x": {}}}))
    assert (refused.exit_code, "  ! namespace shop/b does not exist" in refused.stdout) == (6, True)


def test_a_broker_without_scalable_topics_is_named(tmp_path: Path, broker: Broker, write: Write) -> None:
    def older(request: Request) -> Reply:
        is_about_them = request.path.startswith(ROOT)
        return Reply(404, {"reason": "HTTP 404 Not Found"}) if is_about_them else broker(request)

    with HttpStub(older) as stub:
        cli = Cli(tmp_path, stub.url)
        exported = cli("export", "-n", "shop/a")
        refused = cli("apply", "-f", write(document({})))
    assert (exported.exit_code, exported.stderr, "scalable-topics" in exported.stdout) == (0, "", False)
    said = "cannot create scalable topic topic://shop/a/orders: this broker has no scalable topics"
    assert (refused.exit_code, said in refused.stderr) == (3, True)
