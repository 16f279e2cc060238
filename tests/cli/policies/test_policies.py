"""`get-`, `set-`, and `remove-` of every policy of namespaces and topics, exact output."""

from collections.abc import Iterator

import pytest

from pulsarctl.policies import installing, offload, schema
from tests.cli.policies.policy_lines import (
    BOTH,
    NEW_OF_NAMESPACES,
    NEW_OF_TOPICS,
    OF_NAMESPACES,
    OF_TOPICS,
    RATE,
)
from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")

UNSET = {
    "dispatcher-pause-on-ack-state-persistent": "false\n",
    "backlog-quota": "{}\n",
    "max-topics-per-namespace": "0\n",
    "subscription-types-enabled": "",
}
NO_VALUE = '{"value":null}\n'


@pytest.fixture
def namespace(cli: Cli) -> Iterator[str]:
    assert cli("namespaces", "create", "public/policed") == OK
    yield "public/policed"
    assert cli("namespaces", "delete", "public/policed") == OK


@pytest.fixture
def created(cli: Cli, topic: str) -> Iterator[str]:
    assert cli("topics", "create", topic) == OK
    yield topic
    assert cli("topics", "delete", topic) == OK


def as_objects(shown: str) -> str:
    """The lines of JSON, whose values are in objects."""
    return "".join(f"{line}\n" if line.startswith("{") else f'{{"value":{line}}}\n' for line in shown.splitlines())


def check(cli: Cli, noun: str, place: str, policy: str, flags: str, shown: str) -> None:
    """Sets, shows, and removes a policy."""
    assert cli(noun, f"set-{policy}", place, *flags.split()) == OK
    assert cli(noun, f"get-{policy}", place, "-o", "jsonl") == Outcome(0, as_objects(shown), "")
    if policy != "encryption-required":
        assert cli(noun, f"remove-{policy}", place) == OK
        assert cli(noun, f"get-{policy}", place, "-o", "jsonl").stdout == as_objects(UNSET.get(policy, "null\n"))


@pytest.mark.parametrize(("policy", "flags", "shown"), [*BOTH, *OF_NAMESPACES, *NEW_OF_NAMESPACES])
def test_a_namespace_policy_is_set_shown_and_removed(
    cli: Cli, namespace: str, policy: str, flags: str, shown: str
) -> None:
    check(cli, "namespaces", namespace, policy, flags, shown)


@pytest.mark.parametrize(("policy", "flags", "shown"), [*BOTH, *OF_TOPICS, *NEW_OF_TOPICS])
def test_a_topic_policy_is_set_shown_and_removed(cli: Cli, created: str, policy: str, flags: str, shown: str) -> None:
    check(cli, "topics", created, policy, flags, shown)


def test_every_policy_is_tested() -> None:
    tried = {policy for policy, _, _ in (*BOTH, *OF_NAMESPACES, *OF_TOPICS, *NEW_OF_NAMESPACES)}
    apart = {"message-ttl", "retention", "compaction-threshold"}
    apart |= {"entry-filters", "entry-filters-per-topic"}  # test_requests.py
    apart |= {policy.name for policy in schema.OF_NAMESPACES}  # test_schemas.py
    apart |= {policy.name for policy in offload.OF_NAMESPACES}  # test_offloading.py
    declared = {policy.name for policy in (*installing.OF_NAMESPACES, *installing.OF_TOPICS)}
    assert declared - tried == apart


def test_topic_policies_has_the_same_verbs(cli: Cli, created: str) -> None:
    check(cli, "topicPolicies", created, "max-producers", "-p 5", "5")
    assert cli("topicPolicies", "get-backlog-quota", created, "-o", "jsonl") == Outcome(0, "{}\n", "")


def test_a_topic_shows_the_policy_that_applies_from_its_namespace(cli: Cli, created: str) -> None:
    assert cli("namespaces", "set-max-producers-per-topic", "public/default", "-p", "7") == OK
    assert cli("topics", "get-max-producers", created).stdout == "null\n"
    assert cli("topics", "get-max-producers", created, "-ap").stdout == "7\n"
    assert cli("namespaces", "remove-max-producers-per-topic", "public/default") == OK


def test_a_subscription_can_have_its_own_rate(cli: Cli, created: str) -> None:
    verb, of_one = "subscription-dispatch-rate", ["-s", "a/b"]
    assert cli("topics", f"set-{verb}", created, "-md", "5", *of_one) == OK
    shown = f"{RATE % (5, -1, 'false', 1)}\n"
    assert cli("topics", f"get-{verb}", created, *of_one, "-o", "jsonl").stdout == shown
    assert cli("topics", f"get-{verb}", created, "-o", "jsonl").stdout == NO_VALUE
    assert cli("topics", f"remove-{verb}", created, *of_one) == OK
    assert cli("topics", f"get-{verb}", created, *of_one, "-o", "jsonl").stdout == NO_VALUE


def test_several_types_are_set_at_once(cli: Cli, namespace: str) -> None:
    assert cli("namespaces", "set-subscription-types-enabled", namespace, "-t", "Failover,Shared") == OK
    shown = cli("namespaces", "get-subscription-types-enabled", namespace, "-o", "jsonl")
    assert shown == Outcome(0, '{"value":"Shared"}\n{"value":"Failover"}\n', "")


def test_a_quota_by_age_and_a_quota_by_size_coexist(cli: Cli, namespace: str) -> None:
    place = ("namespaces", "set-backlog-quota", namespace)
    assert cli(*place, "-l", "1K", "-p", "producer_request_hold") == OK
    assert cli(*place, "-lt", "2m", "-p", "consumer_backlog_eviction", "-t", "message_age") == OK
    both = (
        '{"destination_storage":{"limit":1024,"limitSize":1024,"limitTime":-1,"policy":"producer_request_hold"},'
        '"message_age":{"limit":-1,"limitSize":-1,"limitTime":120,"policy":"consumer_backlog_eviction"}}\n'
    )
    assert cli("namespaces", "get-backlog-quotas", namespace, "-o", "jsonl").stdout == both
    assert cli("namespaces", "remove-backlog-quota", namespace, "-t", "message_age") == OK
    assert "message_age" not in cli("namespaces", "get-backlog-quotas", namespace).stdout


def test_a_quota_by_age_may_be_as_long_as_the_retention(cli: Cli, namespace: str) -> None:
    assert cli("namespaces", "set-retention", namespace, "-t", "1h", "-s", "10M") == OK
    quota = ("-lt", "1h", "-p", "producer_request_hold", "-t", "message_age")
    assert cli("namespaces", "set-backlog-quota", namespace, *quota) == OK


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("set-deduplication", "error: specify --enable or --disable, and not both\n"),
        ("set-deduplication -e -d", "error: specify --enable or --disable, and not both\n"),
        (
            "set-backlog-quota -p producer_exception",
            "error: specify the maximum size\nhint: use -l SIZE, or -t message_age with -lt DURATION\n",
        ),
        (
            "set-backlog-quota -t message_age -p producer_exception",
            "error: specify the maximum age\nhint: use -lt DURATION\n",
        ),
        (
            "set-backlog-quota -l 1 -p drop",
            "error: unknown policy 'drop'\n"
            "hint: use one of producer_request_hold, producer_exception, consumer_backlog_eviction\n",
        ),
        (
            "set-subscription-types-enabled -t Sharp",
            "error: unknown type 'Sharp'\nhint: use one of Exclusive, Shared, Failover, Key_Shared\n",
        ),
    ],
)
def test_invalid_flags_are_refused(cli: Cli, line: str, error: str) -> None:
    verb, *flags = line.split()
    assert cli("namespaces", verb, "public/default", *flags) == Outcome(2, "", error)


def test_a_limit_below_zero_is_refused_by_the_broker(cli: Cli) -> None:
    refused = cli("namespaces", "set-max-producers-per-topic", "public/default", "-p", "-1")
    assert refused.stderr.startswith("error: maxProducersPerTopic must be 0 or more (412")
