"""Verbs that are one request, each against the broker: what is set can be read, and what is wrong is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.support.http_stub import HttpStub, Reply
from tests.support.runner import Cli

NAMESPACE = "public/default"
BUNDLE = "0x00000000_0x40000000"


def done(cli: Cli, *words: str) -> Any:
    """What a command prints, read as JSON."""
    outcome = cli(*words, "-o", "json")
    assert (outcome.exit_code, outcome.stderr) == (0, ""), (words, outcome)
    return json.loads(outcome.stdout) if outcome.stdout else None


def words(line: str) -> list[str]:
    return line.split()


@pytest.mark.parametrize(
    ("set_line", "get_line", "value"),
    [
        ("namespaces set-property {ns} -k a -v b/c", "namespaces get-property {ns} -k a", "b/c"),
        ("namespaces set-clusters {ns} -c standalone", "namespaces get-clusters {ns}", ["standalone"]),
        ("namespaces set-allowed-clusters {ns} -c standalone", "namespaces get-allowed-clusters {ns}", ["standalone"]),
        ("namespaces set-anti-affinity-group {ns} -g g", "namespaces get-anti-affinity-group {ns}", "g"),
        (
            "namespaces set-anti-affinity-group {ns} -g g",
            "namespaces get-anti-affinity-namespaces -p public -c standalone -g g",
            [NAMESPACE],
        ),
        (
            "namespaces set-bookie-affinity-group {ns} -pg fast",
            "namespaces get-bookie-affinity-group {ns}",
            {"bookkeeperAffinityGroupPrimary": "fast"},
        ),
        (
            "namespaces set-subscription-auth-mode {ns} -m prefix",
            "namespaces get-subscription-auth-mode {ns}",
            "Prefix",
        ),
        (
            "namespaces set-dispatcher-pause-on-ack-state-persistent {ns}",
            "namespaces get-dispatcher-pause-on-ack-state-persistent {ns}",
            True,
        ),
        (
            "topicPolicies set-dispatcher-pause-on-ack-state-persistent {t}",
            "topicPolicies get-dispatcher-pause-on-ack-state-persistent {t}",
            True,
        ),
        ("topics set-replication-clusters {t} -c standalone", "topics get-replication-clusters {t}", ["standalone"]),
        ("topics enable-deduplication {t}", "topics get-deduplication {t}", True),
        ("topics disable-deduplication {t}", "topics get-deduplication {t}", False),
        (
            "topics set-replicated-subscription-status {t} -s s -e",
            "topics get-replicated-subscription-status {t} -s s",
            {"persistent://public/default/{t}": True},
        ),
        (
            "bookies set-bookie-rack -b b1:3181 -r /r1 -hn h",
            "bookies get-bookie-rack -b b1:3181",
            {"rack": "/r1", "hostname": "h"},
        ),
        (
            "resource-quotas set -n {ns} -b {bundle} -mi 10 -mo 20 -bi 1 -bo 2 -mem 3",
            "resource-quotas get -n {ns} -b {bundle}",
            {"msgRateIn": 10, "msgRateOut": 20, "bandwidthIn": 1, "bandwidthOut": 2, "memory": 3, "dynamic": False},
        ),
    ],
    ids=lambda value: "-".join(value.split()[:2]) if isinstance(value, str) and " " in value else "",
)
def test_what_is_set_is_shown(cli: Cli, set_line: str, get_line: str, value: Any) -> None:
    names = {"ns": NAMESPACE, "t": "settings", "bundle": BUNDLE}
    cli("topics", "create", "settings")
    cli("topics", "create-subscription", "settings", "-s", "s")
    done(cli, *words(set_line.format(**names)))
    expected = json.loads(json.dumps(value).replace("{t}", "settings")) if isinstance(value, dict) else value
    assert done(cli, *words(get_line.format(**names))) == expected


def test_dynamic_settings_are_sent_to_the_broker(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(status=204)) as broker:
        url = ("--admin-url", broker.url)
        assert cli_alone("brokers", "update-dynamic-config", "a", "b/c", *url).exit_code == 0
        assert cli_alone("brokers", "update-dynamic-config", "-c", "a", "-v", "1", *url).exit_code == 0
        assert cli_alone("brokers", "delete-dynamic-config", "-c", "a", *url).exit_code == 0
    configuration = "/admin/v2/brokers/configuration"
    sent = [(request.method, request.path.removeprefix(configuration)) for request in broker.requests]
    assert sent == [("POST", "/a/b%2Fc"), ("POST", "/a/1"), ("DELETE", "/a")]


def test_permissions_are_granted_shown_and_revoked(cli: Cli) -> None:
    done(cli, "namespaces", "grant-permission", NAMESPACE, "--role", "app", "--actions", "Produce,consume")
    assert sorted(done(cli, "namespaces", "permissions", NAMESPACE)["app"]) == ["consume", "produce"]
    done(cli, "namespaces", "revoke-permission", NAMESPACE, "--role", "app")
    assert done(cli, "namespaces", "permissions", NAMESPACE) == {}
    done(cli, "namespaces", "grant-subscription-permission", NAMESPACE, "-s", "s", "-rs", "a,b")
    assert sorted(done(cli, "namespaces", "subscription-permission", NAMESPACE)["s"]) == ["a", "b"]
    done(cli, "namespaces", "revoke-subscription-permission", NAMESPACE, "-s", "s", "--role", "a")
    assert done(cli, "namespaces", "subscription-permission", NAMESPACE) == {"s": ["b"]}
    cli("topics", "create", "granted")
    done(cli, "topics", "grant-permission", "granted", "-r", "app", "-a", "consume")
    assert done(cli, "topics", "permissions", "granted") == {"app": ["consume"]}
    done(cli, "topics", "revoke-permission", "granted", "-r", "app")
    assert done(cli, "topics", "permissions", "granted") == {}


def test_an_unknown_action_is_refused(cli_alone: Cli) -> None:
    outcome = cli_alone("namespaces", "grant-permission", NAMESPACE, "--role", "app", "--actions", "write")
    assert (outcome.exit_code, outcome.stderr.splitlines()[0]) == (2, "error: unknown action 'write'")


def test_clusters_are_created_changed_and_deleted(cli: Cli) -> None:
    done(cli, "clusters", "create", "west", "--url", "http://west:8080", "--broker-url", "pulsar://west:6650")
    assert done(cli, "clusters", "get", "west")["serviceUrl"] == "http://west:8080"
    done(cli, "clusters", "update", "west", "--url", "http://w:80", "--listener-name", "outside")
    assert done(cli, "clusters", "get", "west")["listenerName"] == "outside"
    done(cli, "clusters", "update-peer-clusters", "west", "--peer-clusters", "standalone")
    assert done(cli, "clusters", "get-peer-clusters", "west") == ["standalone"]
    done(cli, "clusters", "create-failure-domain", "west", "--domain-name", "d", "--broker-list", "a:1,b:1")
    assert sorted(done(cli, "clusters", "get-failure-domain", "west", "--domain-name", "d")["brokers"]) == [
        "a:1",
        "b:1",
    ]
    assert list(done(cli, "clusters", "list-failure-domains", "west")) == ["d"]
    done(cli, "clusters", "delete-failure-domain", "west", "--domain-name", "d", "--yes")
    done(cli, "clusters", "update-cluster-migration", "west", "--service-url", "http://e:80")
    assert done(cli, "clusters", "get-cluster-migration", "west")["migrated"] is False
    done(cli, "clusters", "delete", "west", "--yes")
    assert done(cli, "clusters", "list") == ["standalone"]


def test_a_cluster_is_read_from_a_file_and_options_have_precedence(cli: Cli, tmp_path: Any) -> None:
    file = tmp_path / "west.yaml"
    file.write_text("serviceUrl: http://file:80\nbrokerServiceUrl: pulsar://file:6650\nbrokerClientTlsEnabled: true\n")
    done(cli, "clusters", "create", "filed", "--cluster-config-file", str(file), "--url", "http://option:80")
    found = done(cli, "clusters", "get", "filed")
    assert (found["serviceUrl"], found["brokerServiceUrl"]) == ("http://option:80", "pulsar://file:6650")
    assert found["brokerClientTlsEnabled"] is True


def test_resource_groups_and_isolation_policies_are_kept(cli: Cli) -> None:
    done(cli, "resourcegroups", "create", "tier1", "-mp", "100")
    done(cli, "resourcegroups", "update", "tier1", "-md", "200")
    limits = done(cli, "resourcegroups", "get", "tier1")
    assert (limits["publishRateInMsgs"], limits["dispatchRateInMsgs"]) == (100, 200)
    done(cli, "namespaces", "set-resource-group", NAMESPACE, "-rgn", "tier1")
    assert done(cli, "namespaces", "get-resource-group", NAMESPACE) == "tier1"
    done(cli, "namespaces", "remove-resource-group", NAMESPACE)
    done(cli, "resourcegroups", "delete", "tier1", "--yes")
    assert cli("resourcegroups", "list").stderr == "no group\n"
    failover = words("--auto-failover-policy-type min_available --auto-failover-policy-params")
    where = ("--namespaces", "public/.*", "--primary", "localhost")
    limits_text = "min_limit=1,usage_threshold=80"
    done(cli, "ns-isolation-policy", "set", "standalone", "p", *where, *failover, limits_text)
    assert done(cli, "ns-isolation-policy", "get", "standalone", "p")["namespaces"] == ["public/.*"]
    assert list(done(cli, "ns-isolation-policy", "list", "standalone")) == ["p"]
    assert done(cli, "ns-isolation-policy", "broker", "standalone", "--broker", "localhost:1")["policyName"] == "p"
    assert done(cli, "ns-isolation-policy", "brokers", "standalone")
    done(cli, "ns-isolation-policy", "delete", "standalone", "p", "--yes")


def test_a_bundle_is_split_and_its_topics_have_positions(cli: Cli) -> None:
    done(cli, "namespaces", "create", "public/split", "--bundles", "1")
    cli("topics", "create", "public/split/t")
    whole = "0x00000000_0xffffffff"
    found = done(cli, "namespaces", "get-topic-positions", "public/split", "-b", whole)
    assert list(found["topicHashPositions"]) == ["persistent://public/split/t"]
    sides = ("-san", "specified_positions_divide", "-sb", "0x10000000")
    done(cli, "namespaces", "split-bundle", "public/split", "-b", whole, *sides)
    assert done(cli, "namespaces", "bundles", "public/split")["boundaries"][1] == "0x10000000"


def test_truncate_deletes_the_messages(cli: Cli) -> None:
    cli("topics", "create-subscription", "truncated", "-s", "s")
    cli("produce", "truncated", "-m", "x", "-n", "3")
    assert done(cli, "topics", "analyze-backlog", "truncated", "-s", "s")["entries"] >= 1
    done(cli, "topics", "truncate", "truncated", "--yes")
    assert done(cli, "topics", "stats", "truncated")["subscriptions"]["s"]["msgBacklog"] == 0


def test_broker_stats_are_shown(cli: Cli) -> None:
    assert done(cli, "broker-stats", "load-report")
    assert isinstance(done(cli, "broker-stats", "topics", "-i"), dict)
    assert done(cli, "broker-stats", "monitoring-metrics")
    own = done(cli, "brokers", "list")[0]
    assert isinstance(done(cli, "brokers", "namespaces", "standalone", "--url", own), dict)


@pytest.fixture(scope="module")
def broker_without_transactions() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def without_transactions(tmp_path: Path, broker_without_transactions: EmbeddedBroker) -> Cli:
    return Cli(tmp_path, broker_without_transactions.http_url, broker_without_transactions.service_url)


@pytest.mark.parametrize(
    "line",
    [
        "transactions coordinators-list",
        "transactions coordinator-stats -c 0",
        "transactions coordinator-internal-stats -c 0 -m",
        "transactions transaction-metadata -m 1 -l 2",
        "transactions transaction-in-buffer-stats -t t -m 1 -l 2",
        "transactions transaction-in-pending-ack-stats -t t -s s -m 1 -l 2",
        "transactions transaction-buffer-stats -t t -l -s",
        "transactions buffer-snapshot-internal-stats -t t -m",
        "transactions pending-ack-stats -t t -s s",
        "transactions pending-ack-internal-stats -t t -s s",
        "transactions position-stats-in-pending-ack -t t -s s -l 1 -e 2",
        "transactions slow-transactions -t 10s",
        "transactions abort-transaction -m 1 -l 2 --yes",
        "transactions scale-transactionCoordinators -r 32",
    ],
)
def test_a_broker_without_transactions_says_so(without_transactions: Cli, line: str) -> None:
    outcome = without_transactions(*words(line))
    assert outcome.exit_code == 1
    assert "transactionCoordinatorEnabled=true" in outcome.stderr


def test_proxy_stats_are_read_from_the_proxy(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(body=[])) as proxy:
        for verb in ("connections", "topics"):
            assert cli_alone("proxy-stats", verb, "--admin-url", proxy.url).exit_code == 0
    assert [request.path for request in proxy.requests] == ["/proxy-stats/connections", "/proxy-stats/topics"]


def test_the_name_of_an_anti_affinity_group_is_sent_without_quotes(cli: Cli) -> None:
    """Apache Pulsar takes the body as it is."""
    planned = cli("namespaces", "set-anti-affinity-group", NAMESPACE, "-g", "apart", "--dry-run", "-v")
    assert "(5 bytes of application/json)" in planned.stdout


def test_a_shadow_topic_is_refused_and_a_topic_has_no_source(cli: Cli) -> None:
    cli("topics", "create", "source")
    refused = cli("topics", "create-shadow-topic", "shadow", "-s", "source")
    assert "use another subscription on persistent://public/default/source" in refused.stderr
    assert "shadow" not in cli("topics", "list", "public/default").stdout
    assert cli("topics", "get-shadow-source", "source").exit_code == 3


def test_entry_filters_are_sent_by_name(cli: Cli) -> None:
    for noun, verb, place in (
        ("namespaces", "entry-filters", NAMESPACE),
        ("topicPolicies", "entry-filters-per-topic", "filtered"),
    ):
        cli("topics", "create", "filtered")
        outcome = cli(noun, f"set-{verb}", place, "-efn", "jar")
        assert (outcome.exit_code, "Entry filter 'jar' not found" in outcome.stderr) == (1, True)
        assert cli(noun, f"get-{verb}", place).exit_code == 0
        done(cli, noun, f"remove-{verb}", place)
