"""Tiered storage from the command line, against a broker that offloads to a directory."""

import json
from pathlib import Path

import pulsar
import pytest

from pulsarctl.commands.topics.offload_start import first_within
from pulsarctl.values.message_ids import MessageId
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome


def published(cli: Cli, client: pulsar.Client, topic: str) -> None:
    """Two sealed ledgers of five messages, and what an unload leaves open."""
    client.subscribe(topic, "keeps").close()
    for _ in range(2):
        producer = client.create_producer(topic)
        for number in range(5):
            producer.send(f"{number}".encode())
        producer.close()
        assert cli("topics", "unload", topic).exit_code == 0


def read(client: pulsar.Client, topic: str) -> list[bytes]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = [reader.read_next(20_000).data() for _ in range(10)]
    reader.close()
    return found


def test_a_topic_is_offloaded_verified_and_restored(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    published(cli, client, topic)
    store = tmp_path / "store"
    done = cli("ops", "offload", topic, "--to", f"file://{store}", "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert [(one["ledgers"], one["of"]) for one in json.loads(done.stdout)] == [(2, 2)]
    assert len(list(store.rglob("*.parquet"))) == 2
    assert cli("topics", "offload-status", topic).stdout == "Offload was a success\n"
    found = cli("ops", "verify", "--orphans", "--to", f"file://{store}", "-o", "json")
    assert (json.loads(found.stdout)["orphans"], json.loads(found.stdout)["missing"]) == ([], [])
    (policy,) = [json.loads(cli("topics", "get-offload-policies", topic, "-o", "json").stdout)]
    assert policy == {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": f"file://{store}"}
    assert read(client, topic) == [f"{number}".encode() for number in [*range(5), *range(5)]]
    assert json.loads(cli("ops", "restore", topic, "-o", "json").stdout)[0]["ledgers"] == 2
    assert read(client, topic) == [f"{number}".encode() for number in [*range(5), *range(5)]]


def test_ledgers_that_another_store_has_are_not_reported_as_copied(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    published(cli, client, topic)
    first = cli("ops", "offload", topic, "--to", f"file://{tmp_path}/first", "-o", "json")
    second = cli("ops", "offload", topic, "--to", f"file://{tmp_path}/second", "-o", "json")
    assert [json.loads(done.stdout)[0]["copied"] for done in (first, second)] == [2, 0]
    assert f"nothing was written to file://{tmp_path}/second yet" in second.stderr


def test_a_store_that_takes_nothing_does_not_become_the_policy(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    published(cli, client, topic)
    (tmp_path / "file").write_text("no directory")
    refused = cli("ops", "offload", topic, "--to", f"{tmp_path}/file/tier")
    assert refused.exit_code == 1
    assert f"the offload policy of {topic} is as before" in refused.stderr
    assert "filesystem" not in cli("topics", "get-offload-policies", topic).stdout
    cli("topics", "set-offload-policies", topic, "-d", "filesystem", "--filesystem-uri", "file:///old", "-oat", "10G")
    assert cli("ops", "offload", topic, "--to", f"{tmp_path}/file/tier").exit_code == 1
    policy = json.loads(cli("topics", "get-offload-policies", topic).stdout)
    assert (policy["fileSystemURI"], policy["managedLedgerOffloadThresholdInBytes"]) == ("file:///old", 10 << 30)


def test_a_timeout_that_is_no_duration_starts_nothing(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    published(cli, client, topic)
    assert cli("ops", "offload", topic, "--to", f"{tmp_path}/tier", "--timeout", "soon").exit_code == 2
    assert "has not been run" in cli("topics", "offload-status", topic).stdout
    assert "filesystem" not in cli("topics", "get-offload-policies", topic).stdout


def test_the_policy_stays_while_another_partition_may_still_get_a_copy(cli_alone: Cli) -> None:
    def answer(request: Request) -> Reply:
        if request.path.endswith("/partitions"):
            return Reply(body={"partitions": 2})
        if request.path.endswith("/offload"):
            return Reply(body={"status": "ERROR" if "partition-0" in request.path else "RUNNING"})
        return Reply(body={"ledgers": []} if request.path.endswith("/internalStats") else None)

    with HttpStub(answer) as broker:
        done = cli_alone("--admin-url", broker.url, "ops", "offload", "t", "--to", "/tier")
        policies = [one.method for one in broker.requests if one.path.endswith("/offloadPolicies")]
    assert "t-partition-0 failed" in done.stderr
    assert policies == ["GET", "POST"]


def test_a_store_that_nothing_was_written_to_is_reported(cli: Cli, topic: str, tmp_path: Path) -> None:
    assert cli("topics", "create", topic).exit_code == 0
    done = cli("ops", "offload", topic, "--to", f"{tmp_path}/tier")
    assert (done.exit_code, "there is no sealed ledger" in done.stderr) == (0, True)


def test_a_broker_without_a_store_says_how_to_name_one_to_verify(cli: Cli) -> None:
    done = cli("ops", "verify", "--orphans")
    assert done.exit_code != 0
    assert "the request names none (--to URI), and managedLedgerOffloadDriver is not set" in done.stderr


def test_a_store_that_does_not_exist_is_not_verified(cli: Cli, tmp_path: Path) -> None:
    done = cli("ops", "verify", "--orphans", "--to", f"file://{tmp_path}/mistyped")
    assert done.exit_code != 0
    assert f"cannot scan the store: file://{tmp_path}/mistyped does not exist; check its name" in done.stderr


NAME = "persistent://public/default/t"


def restored_from(answers: list[Reply], stats: list[Reply], cli_alone: Cli) -> Outcome:
    """Each request restores a ledger, and then gets the next of the answers."""
    offloaded = {7, 8, 9}

    def answer(request: Request) -> Reply:
        if "/partitions" in request.path:
            return Reply(body={"partitions": 0})
        if "/internalStats" in request.path:
            ledgers = [{"ledgerId": each, "offloaded": each in offloaded} for each in (7, 8, 9)]
            return stats.pop() if stats and not offloaded else Reply(body={"ledgers": ledgers})
        assert "/offload/restore" in request.path, request.path
        offloaded.discard(min(offloaded, default=0))
        return answers.pop(0) if answers else Reply(body={NAME: 0})

    with HttpStub(answer) as broker:
        return cli_alone("--admin-url", broker.url, "ops", "restore", "t", "-o", "json")


UNLOADED = Reply(503, {"reason": f"Topic {NAME} was unloaded: try again"})


def test_a_restore_continues_after_an_unload_of_the_topic(cli_alone: Cli) -> None:
    done = restored_from([UNLOADED, Reply(body={NAME: 1})], [UNLOADED], cli_alone)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == [{"topic": NAME, "ledgers": 3}]
    assert f"interrupted: Topic {NAME} was unloaded" in done.stderr


def test_a_restore_ends_when_a_request_takes_too_long(cli_alone: Cli) -> None:
    late = Reply(
        503, {"reason": "no result within 60 seconds; the change may still be made: check before you try again"}
    )
    done = restored_from([late, Reply(body={NAME: 1})], [], cli_alone)
    assert done.exit_code == 1
    assert "no result within 60 seconds" in done.stderr


def test_topics_offload_speaks_as_pulsar_admin(cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    name = f"persistent://public/default/{topic}"
    published(cli, client, topic)
    assert (
        cli("topics", "offload-status", topic).stdout == f"Offload has not been run for {name} since broker startup\n"
    )
    assert "Nothing to offload" in cli("topics", "offload", topic, "-s", "1G").stdout
    refused = cli("topics", "offload", topic, "-s", "0")
    assert refused.exit_code != 0
    assert "no store is configured" in refused.stderr
    store = f"file://{tmp_path / 'store'}"
    assert cli("topics", "set-offload-policies", topic, "-d", "filesystem", "--filesystem-uri", store).exit_code == 0
    done = cli("topics", "offload", topic, "-s", "0")
    assert f"Offload triggered for {name} for messages before " in done.stdout
    assert cli("topics", "offload-status", topic, "-w").stdout == "Offload was a success\n"


def test_each_partition_of_a_topic_is_offloaded_and_has_a_status(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    parts = [f"persistent://public/default/{topic}-partition-{index}" for index in range(2)]
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    published(cli, client, parts[0])
    assert json.loads(cli("topics", "offload-status", topic, "-o", "json").stdout) == [
        {"topic": part, "status": "NOT_RUN", "lastError": ""} for part in parts
    ]
    store = f"file://{tmp_path / 'store'}"
    assert cli("topics", "set-offload-policies", topic, "-d", "filesystem", "--filesystem-uri", store).exit_code == 0
    done = json.loads(cli("topics", "offload", topic, "-s", "0", "-o", "json").stdout)
    assert done[parts[0]].startswith(f"Offload triggered for {parts[0]} for messages before ")
    assert done[parts[1]] == "Nothing to offload"
    shown = cli("topics", "offload-status", topic, "-w").stdout.splitlines()
    assert [line.split("    ") for line in shown] == [
        [parts[0], "Offload was a success"],
        [parts[1], f"Offload has not been run for {parts[1]} since broker startup"],
    ]


def test_a_partition_whose_offload_failed_is_named_after_the_others(cli_alone: Cli) -> None:
    failed = {"status": "ERROR", "lastError": "disk full"}

    def answer(request: Request) -> Reply:
        if request.path.endswith("/partitions"):
            return Reply(body={"partitions": 2})
        if "-partition-" not in request.path:
            return Reply(404, {"reason": "Topic not found"})
        return Reply(body=failed if "-partition-0" in request.path else {"status": "SUCCESS", "lastError": ""})

    with HttpStub(answer) as broker:
        done = cli_alone("--admin-url", broker.url, "topics", "offload-status", "t", "-o", "json")
    assert [each["status"] for each in json.loads(done.stdout)] == ["ERROR", "SUCCESS"]
    assert done.exit_code == 1
    assert (
        json.loads(done.stderr)["error"] == "the offload of persistent://public/default/t-partition-0 failed: disk full"
    )


def test_the_status_of_a_missing_topic_is_not_found(cli: Cli) -> None:
    assert cli("topics", "offload-status", "missing").exit_code == 3


def test_namespaces_have_the_policies_of_tiered_storage(cli: Cli) -> None:
    name = "public/offloading"
    assert cli("namespaces", "create", name).exit_code == 0
    assert cli("namespaces", "set-offload-threshold", name, "-s", "10M").exit_code == 0
    assert cli("namespaces", "set-offload-deletion-lag", name, "-l", "2h").exit_code == 0
    assert cli("namespaces", "get-offload-threshold", name).stdout == "10485760\n"
    assert cli("namespaces", "get-offload-deletion-lag", name).stdout == "7200000\n"
    assert cli("namespaces", "clear-offload-deletion-lag", name).exit_code == 0
    assert cli("namespaces", "set-offload-policies", name, "-d", "aws-s3", "-b", "tier", "-r", "eu").exit_code == 0
    assert "tier" in cli("namespaces", "get-offload-policies", name).stdout
    assert cli("namespaces", "remove-offload-policies", name).exit_code == 0
    refused = cli("namespaces", "set-offload-policies", name, "-d", "aws-s3")
    assert "The bucket must be specified for namespace offload." in refused.stderr


def ledgers_of(newest_size: int) -> list[dict[str, int]]:
    """Three ledgers. The last one is sealed if it has a size."""
    sizes = {3: 100, 5: 100, 9: newest_size}
    return [{"ledgerId": number, "size": size, "entries": size // 10} for number, size in sizes.items()]


@pytest.mark.parametrize(("threshold", "before"), [(0, 9), (49, 9), (50, 9), (149, 9), (150, 5), (250, None)])
def test_the_threshold_keeps_the_newest_ledgers(threshold: int, before: int | None) -> None:
    assert first_within(ledgers_of(0), 50, threshold) == (None if before is None else MessageId(before, 0))


@pytest.mark.parametrize(
    ("threshold", "before"), [(0, (9, 5)), (49, (9, 5)), (50, (9, 0)), (149, (9, 0)), (150, (5, 0)), (250, None)]
)
def test_a_newest_ledger_that_is_sealed_is_offloaded_unless_it_fits(
    threshold: int, before: tuple[int, int] | None
) -> None:
    assert first_within(ledgers_of(50), 0, threshold) == (None if before is None else MessageId(*before))


def test_without_a_size_that_stays_every_sealed_ledger_is_offloaded(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    published(cli, client, topic)
    store = f"file://{tmp_path / 'store'}"
    cli("topics", "set-offload-policies", topic, "-d", "filesystem", "--filesystem-uri", store)
    assert cli("topics", "offload", topic, "-s", "0").exit_code == 0
    assert cli("topics", "offload-status", topic, "-w").stdout == "Offload was a success\n"
    stats = json.loads(cli("topics", "stats-internal", topic).stdout)
    assert [ledger["offloaded"] for ledger in stats["ledgers"]] == [True, True]
