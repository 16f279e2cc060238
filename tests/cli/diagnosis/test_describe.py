"""`pulsarctl describe`: one page about each kind of thing, on a real broker."""

import json
import re

import pulsar

from tests.cli.publishing import publish
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli


def described(cli: Cli, *words: str) -> list[str]:
    result = cli("describe", *words)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_a_topic_shows_its_health_its_subscriptions_and_its_policies(cli: Cli, client: pulsar.Client) -> None:
    topic = "orders"
    client.subscribe(topic, "billing").close()
    client.subscribe(topic, "audit")
    publish(client, topic, "a", "b")
    assert cli("topics", "set-message-ttl", topic, "-t", "2h").exit_code == 0
    lines = described(cli, "topic", topic)
    words = " ".join("\n".join(lines).split())
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0] == f"Topic         public/default/{topic}"
    assert lines[1] == "Domain        persistent"
    assert "problem in subscription billing: No consumer is connected, and 2 messages wait; the" in words
    rows = [re.sub(r"\d+s", "AGE", line).split() for line in lines if line.startswith(("  audit", "  billing"))]
    assert rows == [
        ["audit", "Exclusive", "1", "2", "AGE", "████████████"],
        ["billing", "Exclusive", "0", "2", "AGE", "████████████"],
    ]
    assert [line.split() for line in lines if "message-ttl" in line] == [["message-ttl", "2h", "topic"]]
    assert "Producers     none" in lines


def test_a_partitioned_topic_is_summed(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    client.subscribe(topic, "billing").close()
    publish(client, topic, "a", "b")
    found = json.loads(cli("describe", "topic", topic, "-o", "json").stdout)
    assert found["domain"] == "persistent, 2 partitions"
    assert [(one["name"], one["backlog"]) for one in found["subscriptions"]] == [("billing", "2")]


def test_a_subscription_shows_its_backlog_and_its_consumers(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "billing", consumer_name="worker")
    publish(client, topic, "a")
    lines = described(cli, "subscription", topic, "billing")
    assert lines[0] == "Subscription  billing"
    assert lines[1] == f"Topic         public/default/{topic}"
    assert lines[2] == "Type          Exclusive, durable"
    assert [line.split()[0] for line in lines[-2:]] == ["NAME", "worker"]


def test_a_subscription_that_does_not_exist(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    assert cli("describe", "subscription", topic, "absent").exit_code == 3


def test_a_namespace_lists_the_largest_backlog_first_and_where_policies_are_set(
    cli: Cli, client: pulsar.Client
) -> None:
    assert cli("namespaces", "create", "public/described").exit_code == 0
    assert cli("namespaces", "set-retention", "public/described", "-t", "1d", "-s", "10G").exit_code == 0
    for name, values in (("small", "a"), ("large", "abcd")):
        client.subscribe(f"public/described/{name}", "billing").close()
        publish(client, f"public/described/{name}", *values)
    lines = described(cli, "namespace", "public/described")
    assert [line.split() for line in lines if "large" in line or "small" in line] == [
        ["large", "1", "4", "████████████"],
        ["small", "1", "1", "███"],
    ]
    assert "  retention  1d, 10.0 GiB  namespace" in [" ".join(line.split("\t")) for line in lines]


def test_a_namespace_says_that_scalable_topics_are_not_shown(cli: Cli) -> None:
    assert cli("namespaces", "create", "public/segments").exit_code == 0
    assert cli("scalable-topics", "create", "topic://public/segments/orders").exit_code == 0
    assert "1 scalable topic not shown" in cli("describe", "namespace", "public/segments").stderr


def test_a_tenant_lists_its_namespaces(cli: Cli, client: pulsar.Client) -> None:
    assert cli("tenants", "create", "described", "--admin-roles", "ops").exit_code == 0
    assert cli("namespaces", "create", "described/one").exit_code == 0
    assert cli("scalable-topics", "create", "topic://described/one/orders").exit_code == 0
    assert described(cli, "tenant", "described") == [
        "Tenant        described",
        "Admins        ops",
        "Clusters      standalone",
        "",
        "Namespaces",
        "  NAME           TOPICS",
        "  described/one       1",
    ]


def test_the_broker_is_healthy(cli: Cli, client: pulsar.Client) -> None:
    lines = described(cli, "broker")
    assert "Health        healthy" in lines
    assert any(line.split() == ["clusterName", "standalone"] for line in lines)


def rows_of(lines: list[str]) -> dict[str, list[str]]:
    """The words of each policy after its name."""
    start = lines.index("Policies")
    return {words[0]: words[1:] for line in lines[start + 2 :] if (words := line.split())}


def test_every_policy_in_force_is_shown_with_where_it_is_set(cli: Cli, client: pulsar.Client) -> None:
    namespace, topic = "public/in-force", "public/in-force/orders"
    assert cli("namespaces", "create", namespace).exit_code == 0
    publish(client, topic, "a")
    for words in (
        ("namespaces", "set-max-consumers-per-topic", namespace, "-c", "7"),
        ("namespaces", "set-publish-rate", namespace, "-m", "100"),
        ("namespaces", "set-delayed-delivery", namespace, "--enable", "-t", "2s"),
        ("topics", "set-max-unacked-messages-per-consumer", topic, "-m", "9"),
        ("topics", "set-deduplication", topic, "--disable"),
    ):
        assert cli(*words).exit_code == 0, words
    found = rows_of(described(cli, "topic", topic, "--all"))
    assert (found["max-consumers"], found["max-unacked-messages-per-consumer"]) == (["7", "namespace"], ["9", "topic"])
    assert found["publish-rate"][-1] == "namespace"
    assert found["delayed-delivery"][-1] == "namespace"
    assert found["deduplication"] == ["off", "topic"]
    assert found["retention"][-1] == "broker"
    of_namespace = rows_of(described(cli, "namespace", namespace))
    assert of_namespace["max-consumers"] == ["7", "namespace"]
    assert "max-unacked-messages-per-consumer" not in of_namespace


def test_a_default_of_the_broker_is_shown_only_on_request(cli: Cli, client: pulsar.Client) -> None:
    publish(client, "by-default", "a")
    plain = described(cli, "topic", "by-default")
    assert plain[-1] == "Policies      the broker's defaults; --all shows them"
    assert rows_of(described(cli, "topic", "by-default", "--all"))["retention"] == ["none", "broker"]
    assert cli("topics", "set-message-ttl", "by-default", "-t", "2h").exit_code == 0
    assert rows_of(described(cli, "topic", "by-default")) == {"message-ttl": ["2h", "topic"]}


def test_a_policy_that_limits_nothing_says_so(cli: Cli, client: pulsar.Client) -> None:
    namespace, topic = "public/off", "public/off/orders"
    assert cli("namespaces", "create", namespace).exit_code == 0
    publish(client, topic, "a")
    defaults = rows_of(described(cli, "topic", topic, "--all"))
    assert defaults["max-producers"] == defaults["dispatch-rate"] == ["no", "limit", "broker"]
    assert defaults["backlog-quota"] == ["no", "limit", "broker"]
    assert defaults["retention"] == ["none", "broker"]
    assert defaults["inactive-topic-policies"] == ["off", "broker"]
    assert "offload-policies" not in defaults
    assert cli("namespaces", "set-subscribe-rate", namespace, "-sr", "-1").exit_code == 0
    assert cli("namespaces", "set-deduplication", namespace, "--enable").exit_code == 0
    found = rows_of(described(cli, "namespace", namespace, "--all"))
    assert found["subscribe-rate"] == ["no", "limit", "namespace"]
    assert found["deduplication"] == ["on", "namespace"]
    assert found["retention"] == found["message-ttl"] == found["max-producers"] == ["default", "broker"]


def test_a_policy_that_may_not_be_read_is_not_shown_as_unset(cli_alone: Cli) -> None:
    """A client that may produce may not read policies."""
    with HttpStub(_forbidding) as stub:
        topic = rows_of(cli_alone("describe", "topic", "orders", "--admin-url", stub.url).stdout.splitlines())
        namespace = rows_of(
            cli_alone("describe", "namespace", "public/default", "--admin-url", stub.url).stdout.splitlines()
        )
    for found in (topic, namespace):
        assert {tuple(words) for words in found.values()} == {("not", "readable", "unknown")}
        assert {"retention", "message-ttl", "publish-rate"} <= set(found)


def _forbidding(request: Request) -> Reply:
    """Answers what `describe` asks of a topic, but no policies."""
    path = request.path.partition("?")[0]
    if path.endswith("/partitions"):
        return Reply(body={"partitions": 0})
    if path.endswith(("/stats", "/internalStats")):
        return Reply(body={})
    if path.endswith(("persistent/public/default", "scalable/public/default", "/damage")):
        return Reply(body=[])
    return Reply(403, {"reason": "Unauthorized to get policies"})
