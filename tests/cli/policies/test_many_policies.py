"""Policies of several topics and namespaces at once: named, matched by a pattern, or all of a namespace or tenant."""

from collections import Counter

import pytest

from tests.cli.policies.policy_lines import BOTH, OF_NAMESPACES, OF_TOPICS
from tests.support.runner import Cli

TENANT = "many-policies"
NAMESPACES = [f"{TENANT}/{name}" for name in ("a", "b", "other")]
TOPICS = [f"persistent://{NAMESPACES[0]}/{name}" for name in ("x", "y", "z")]


@pytest.fixture(autouse=True)
def places(cli: Cli) -> None:
    cli("tenants", "create", TENANT)
    for namespace in NAMESPACES:
        cli("namespaces", "create", namespace)
    for topic in TOPICS:
        cli("topics", "create", topic)


def planned(cli: Cli, noun: str, verb: str, *words: str) -> Counter[str]:
    """How many requests of each method and policy would be sent."""
    done = cli(noun, verb, *words, "--dry-run")
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("POST", "PUT", "DELETE"))]
    return Counter(f"{line[0]} {line[1].partition('?')[0].rpartition('/')[2]}" for line in lines)


@pytest.mark.parametrize(
    ("noun", "names", "lines"),
    [("namespaces", NAMESPACES[:2], [*BOTH, *OF_NAMESPACES]), ("topics", TOPICS[:2], [*BOTH, *OF_TOPICS])],
    ids=["namespaces", "topics"],
)
def test_every_policy_is_set_and_removed_in_several_places(
    cli: Cli, noun: str, names: list[str], lines: list[tuple[str, str, str]]
) -> None:
    for policy, flags, _ in lines:
        assert set(planned(cli, noun, f"set-{policy}", *names, *flags.split()).values()) == {2}, policy
        if policy != "encryption-required":
            assert set(planned(cli, noun, f"remove-{policy}", *names).values()) == {2}, policy


def test_a_pattern_chooses_the_namespaces_of_its_tenant(cli: Cli) -> None:
    done = cli("namespaces", "set-message-ttl", f"{TENANT}/.", "--regex", "-ttl", "1h")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert [shown(cli, name) for name in NAMESPACES] == ["3600", "3600", "null"]
    assert cli("namespaces", "remove-message-ttl", "--tenant", TENANT, "--parallel", "2").exit_code == 0
    assert [shown(cli, name) for name in NAMESPACES] == ["null", "null", "null"]


def shown(cli: Cli, namespace: str) -> str:
    return cli("namespaces", "get-message-ttl", namespace).stdout.strip()


def test_a_namespace_that_fails_is_named_and_the_others_are_changed(cli: Cli) -> None:
    missing = f"{TENANT}/missing"
    done = cli("namespaces", "set-message-ttl", NAMESPACES[0], missing, NAMESPACES[1], "-ttl", "2h")
    assert done.exit_code == 10
    assert f"error: {missing}: " in done.stderr
    assert "error: cannot set the message-ttl policy of 1 of 3 namespaces" in done.stderr
    assert [shown(cli, name) for name in NAMESPACES] == ["7200", "7200", "null"]


def test_names_of_namespaces_come_from_stdin(cli: Cli) -> None:
    words = ("namespaces", "remove-message-ttl", "--from-file", "-")
    assert cli(*words, stdin="\n".join(NAMESPACES)).exit_code == 0
    assert shown(cli, NAMESPACES[0]) == "null"


def test_all_topics_of_a_namespace_get_a_policy(cli: Cli) -> None:
    assert cli("topics", "set-max-producers", "--namespace", NAMESPACES[0], "-p", "5").exit_code == 0
    assert [cli("topics", "get-max-producers", topic).stdout for topic in TOPICS] == ["5\n"] * 3
    done = cli("topicPolicies", "remove-max-producers", f"{NAMESPACES[0]}/[xy]", "--regex")
    assert done.exit_code == 0
    assert [cli("topics", "get-max-producers", topic).stdout for topic in TOPICS] == ["null\n", "null\n", "5\n"]


@pytest.mark.parametrize("noun", ["namespaces", "topics"])
def test_a_policy_needs_a_place(cli: Cli, noun: str) -> None:
    done = cli(noun, "set-max-producers-per-topic" if noun == "namespaces" else "set-max-producers", "-p", "5")
    assert (done.exit_code, f"no {noun.removesuffix('s')} given" in done.stderr) == (2, True)


def test_a_pattern_without_a_match_changes_nothing_and_says_so(cli: Cli) -> None:
    done = cli("namespaces", "remove-message-ttl", f"{TENANT}/none-.*", "--regex")
    assert (done.exit_code, done.stderr) == (0, f"no namespace matches {TENANT}/none-.*\n")


def test_a_pattern_of_namespaces_without_a_tenant_is_refused(cli: Cli) -> None:
    done = cli("namespaces", "set-message-ttl", "many.*", "--regex", "-ttl", "1h")
    assert (done.exit_code, "write TENANT/many.*, or add --tenant" in done.stderr) == (2, True)
