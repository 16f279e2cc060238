"""`pulsarctl namespaces`, exact output."""

from collections.abc import Iterator

import pytest

from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")


@pytest.fixture
def namespace(cli: Cli) -> Iterator[str]:
    assert cli("namespaces", "create", "public/shop") == OK
    yield "public/shop"
    assert cli("namespaces", "delete", "public/shop") == OK


def test_list_prints_full_names(cli: Cli) -> None:
    assert cli("tenants", "create", "own") == OK
    for namespace in ("own/b", "own/a"):
        assert cli("namespaces", "create", namespace) == OK
    assert cli("namespaces", "list", "own") == Outcome(0, "own/a\nown/b\n", "")
    for namespace in ("own/b", "own/a"):
        assert cli("namespaces", "delete", namespace) == OK
    assert cli("namespaces", "list", "own") == Outcome(0, "", "no namespace\n")
    assert cli("tenants", "delete", "own") == OK


def test_an_unset_policy_is_null_and_can_be_removed_again(cli: Cli, namespace: str) -> None:
    for policy in ("message-ttl", "retention", "compaction-threshold"):
        assert cli("namespaces", f"get-{policy}", namespace) == Outcome(0, "null\n", "")
        assert cli("namespaces", f"remove-{policy}", namespace) == OK


def test_a_ttl_is_set_in_any_unit_and_shown_in_seconds(cli: Cli, namespace: str) -> None:
    for flags in (["-ttl", "2h"], ["--messageTTL", "7200"], ["-t", "PT2H"], ["--ttl", "120m"]):
        assert cli("namespaces", "set-message-ttl", namespace, *flags) == OK
        assert cli("namespaces", "get-message-ttl", namespace) == Outcome(0, "7200\n", "")


def test_retention_is_stored_in_minutes_and_mebibytes(cli: Cli, namespace: str) -> None:
    assert cli("namespaces", "set-retention", namespace, "-t", "90m", "-s", "1G") == OK
    assert cli("namespaces", "get-retention", namespace).stdout == (
        '{\n  "retentionTimeInMinutes" : 90,\n  "retentionSizeInMB" : 1024\n}\n'
    )
    assert cli("namespaces", "set-retention", namespace, "-t", "-1", "-s", "-1") == OK
    assert cli("namespaces", "get-retention", namespace, "-o", "jsonl").stdout == (
        '{"retentionTimeInMinutes":-1,"retentionSizeInMB":-1}\n'
    )


def test_a_retention_that_rounds_to_zero_is_reported(cli: Cli, namespace: str) -> None:
    outcome = cli("namespaces", "set-retention", namespace, "-t", "59", "-s", "500K")
    assert outcome.stderr == (
        "notice: the retention time 59 is less than a minute and is stored as 0\n"
        "notice: the retention size 500K is less than 1 MiB and is stored as 0\n"
    )
    assert cli("namespaces", "set-retention", namespace, "-t", "59", "-s", "0", "--quiet") == OK


def test_a_compaction_threshold_is_shown_in_bytes(cli: Cli, namespace: str) -> None:
    assert cli("namespaces", "set-compaction-threshold", namespace, "--threshold", "100M") == OK
    assert cli("namespaces", "get-compaction-threshold", namespace) == Outcome(0, "104857600\n", "")


def test_topics_of_a_namespace_are_partitions_and_plain_topics(cli: Cli) -> None:
    assert cli("namespaces", "create", "public/full") == OK
    assert cli("topics", "create-partitioned", "public/full/parted", "-p", "2") == OK
    assert cli("topics", "create", "public/full/plain") == OK
    listed = (
        "persistent://public/full/parted-partition-0\n"
        "persistent://public/full/parted-partition-1\n"
        "persistent://public/full/plain\n"
    )
    assert cli("namespaces", "topics", "public/full") == Outcome(0, listed, "")
    refused = cli("namespaces", "delete", "public/full")
    assert (refused.exit_code, refused.stderr.startswith("error: Cannot delete non empty namespace (409")) == (6, True)
    assert cli("topics", "delete", "public/full/parted", "public/full/plain", "--yes") == OK
    assert cli("namespaces", "delete", "public/full") == OK


def test_an_error_for_a_missing_tenant_says_where_to_look(cli: Cli) -> None:
    outcome = cli("namespaces", "create", "nix/ns")
    assert outcome.exit_code == 3
    assert outcome.stderr.endswith("hint: list what exists: pulsarctl tenants list\n")
