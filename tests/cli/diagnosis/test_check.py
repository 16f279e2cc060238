"""`pulsarctl check`: values of a real broker against limits, as Nagios and Prometheus read them."""

import json
import re
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.cli.publishing import publish
from tests.support.authority import Authority
from tests.support.faulty_disk import FaultyDisk
from tests.support.http_stub import HttpStub, Reply
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send
from tests.support.runner import Cli

NOWHERE = ("--admin-url", "http://127.0.0.1:1", "--url", "pulsar://127.0.0.1:1")


@pytest.fixture
def backlog(client: pulsar.Client, topic: str) -> str:
    """A topic with one entry for `billing` and none for `audit`."""
    client.subscribe(topic, "billing").close()
    publish(client, topic, "a")
    client.subscribe(topic, "audit").close()
    return topic


@pytest.mark.parametrize(
    ("limits", "code", "state", "shown"),
    [
        (("-w", "10", "-c", "20"), 0, "OK", "1;10;20;0"),
        (("-w", "0", "-c", "20"), 1, "WARNING", "1;0;20;0"),
        (("-w", "0", "-c", "0"), 2, "CRITICAL", "1;0;0;0"),
        ((), 0, "OK", "1;;;0"),
    ],
)
def test_one_line_has_the_state_the_worst_value_and_all_values_with_limits(
    cli: Cli, backlog: str, limits: tuple[str, ...], code: int, state: str, shown: str
) -> None:
    outcome = cli("check", "backlog", backlog, "-s", "billing", *limits)
    assert outcome.exit_code == code
    assert outcome.stdout == f"BACKLOG {state} - public/default/{backlog}/billing has 1 message | 'billing'={shown}\n"


def test_every_subscription_is_checked_and_the_worst_comes_first(cli: Cli, backlog: str) -> None:
    outcome = cli("check", "backlog", backlog, "-w", "0")
    assert outcome.stdout == (
        f"BACKLOG WARNING - public/default/{backlog}/billing has 1 message; "
        f"public/default/{backlog}/audit has 0 messages "
        "| 'audit'=0;0;;0 'billing'=1;0;;0\n"
    )


def test_a_partitioned_topic_is_summed(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    client.subscribe(topic, "billing").close()
    publish(client, topic, "a", "b", "c", "d")
    assert "has 4 messages" in cli("check", "backlog", topic).stdout
    assert re.search(r"is \d+s old", cli("check", "age", topic).stdout)


def test_the_age_of_the_oldest_message(cli: Cli, backlog: str) -> None:
    line = cli("check", "age", backlog, "-w", "1h", "-c", "2h").stdout
    assert re.fullmatch(r"AGE OK - .*; .* \| 'audit'=0s;3600;7200;0 'billing'=[\d.]+s;3600;7200;0\n", line)


def test_a_topic_without_messages_is_below_the_lowest_throughput(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic).close()
    outcome = cli("check", "throughput", topic, "-w", "100", "-c", "1")
    assert (outcome.exit_code, outcome.stdout) == (
        2,
        f"THROUGHPUT CRITICAL - public/default/{topic} has 0 messages/s in | 'in'=0;100:;1:;0\n",
    )


def test_the_latency_is_that_of_real_messages_and_leaves_no_subscription(
    cli: Cli, client: pulsar.Client, pulsar_broker: EmbeddedBroker
) -> None:
    outcome = cli("check", "latency", "--count", "2", "-w", "30s", "-c", "1m")
    assert re.fullmatch(
        r"LATENCY OK - a message takes [\d.]+ ms from producer to reader \| 'latency'=[\d.]+s;30;60;0\n", outcome.stdout
    )
    stats = json.loads(cli("topics", "stats", "pulsarctl-check", "-o", "json").stdout)
    assert (stats["subscriptions"], stats["publishers"], stats["msgInCounter"] >= 3) == ({}, [], True)


def test_the_disk_of_the_broker_and_of_this_machine(cli: Cli, client: pulsar.Client, tmp_path: Path) -> None:
    for words in ((), ("--path", str(tmp_path))):
        line = cli("check", "disk", "-w", "101", "-c", "102", *words).stdout
        assert re.fullmatch(r"DISK OK - \d+% of .* is used, .* are free \| 'used'=[\d.]+%;101;102;0\n", line)


def test_a_broker_that_refuses_messages_for_lack_of_space_is_critical(cli_alone: Cli) -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as client:
        client.ask(producer("persistent://public/default/t"), BaseCommand.PRODUCER_SUCCESS)
        disk.full = True
        for number in range(200):  # preallocated space can still take messages
            client.send(send(number, bytes(1_000_000)))
            if client.next().type == BaseCommand.SEND_ERROR:  # type: ignore[union-attr]  # a producer gets commands only
                break
        outcome = cli_alone("check", "disk", "--admin-url", broker.http_url)
        disk.full = False
    assert outcome.exit_code == 2
    assert outcome.stdout.startswith("DISK CRITICAL - the broker refuses messages because its disk is full, although ")


def test_a_broker_that_does_not_report_its_disk_is_unknown(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(200, "jvm_threads_current 5\n")) as stub:
        outcome = cli_alone("check", "disk", "--admin-url", stub.url)
    assert outcome.exit_code == 3
    assert "--path DIR" in outcome.stdout


def test_a_certificate_that_expires_soon(cli_alone: Cli, tmp_path: Path) -> None:
    certificate, _key = Authority(tmp_path).issue("server")
    outcome = cli_alone("check", "certificate", "--file", str(certificate), "-w", "30d", "-c", "7d")
    assert outcome.exit_code == 2
    assert outcome.stdout.startswith(f"CERTIFICATE CRITICAL - the certificate of {certificate} is valid for 23h ")
    assert ";2592000:;604800:;0" in outcome.stdout


@pytest.mark.parametrize(
    ("words", "code", "state"),
    [
        (("backlog", "orders", *NOWHERE), 2, "BACKLOG CRITICAL - cannot reach the broker"),
        (("latency", *NOWHERE), 2, "LATENCY CRITICAL - cannot connect"),
        (("certificate", *NOWHERE), 3, "CERTIFICATE UNKNOWN - neither"),
        (("backlog",), 3, "CHECK UNKNOWN - Missing argument"),
        (("absent",), 3, "CHECK UNKNOWN - No such command"),
        (("backlog", "orders", "-w", "many"), 3, "CHECK UNKNOWN - 'many' is not a number"),
        (("backlog", "orders", "-w", "nan"), 3, "CHECK UNKNOWN - 'nan' is not a number"),
        (("disk", "-c", "1e400%"), 3, "CHECK UNKNOWN - '1e400%' is not a number"),
        (("backlog", "orders", "-w", "5", "-c", "4"), 3, "CHECK UNKNOWN - the warning limit must be below"),
        (("throughput", "orders", "-w", "4", "-c", "5"), 3, "CHECK UNKNOWN - the warning limit must be above"),
        (("backlog", "orders", "--bogus"), 3, "CHECK UNKNOWN - No such option"),
    ],
)
def test_what_fails_has_a_state_too(cli_alone: Cli, words: tuple[str, ...], code: int, state: str) -> None:
    outcome = cli_alone("check", *words)
    assert outcome.exit_code == code
    assert outcome.stdout.startswith(state)
    assert outcome.stdout.count("\n") == 1


def test_an_answer_that_cannot_be_understood_is_unknown(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(body={"msgRateIn": "fast"})) as stub:
        outcome = cli_alone("check", "throughput", "orders", "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout.startswith("CHECK UNKNOWN - internal error: ValueError")) == (3, True)


def test_a_topic_or_a_subscription_that_does_not_exist_is_unknown(cli: Cli, backlog: str) -> None:
    assert cli("check", "backlog", backlog, "-s", "absent").exit_code == 3
    assert cli("check", "backlog", "absent").stdout.startswith("BACKLOG UNKNOWN - ")


def test_json_has_the_same_values(cli: Cli, backlog: str) -> None:
    found = json.loads(cli("check", "backlog", backlog, "-s", "billing", "-w", "0", "-o", "json").stdout)
    assert (found["check"], found["state"]) == ("backlog", "WARNING")
    assert found["values"] == [
        {"subscription": "billing", "unit": "messages", "value": 1, "warning": 0.0, "critical": None}
    ]


def test_the_text_file_is_replaced_in_every_state(cli: Cli, backlog: str, tmp_path: Path) -> None:
    file = tmp_path / "orders.prom"
    topic = f'topic="persistent://public/default/{backlog}"'
    assert cli("check", "backlog", backlog, "-w", "0", "--textfile", str(file)).exit_code == 1
    samples = {
        line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in file.read_text().splitlines() if line[0] != "#"
    }
    assert samples[f'pulsarctl_check_state{{check="backlog",{topic}}}'] == "1"
    assert samples[f'pulsarctl_check_backlog{{{topic},subscription="billing",unit="messages"}}'] == "1"
    first = file.stat().st_ino
    assert cli("check", "backlog", backlog, *NOWHERE[:2], "--textfile", str(file)).exit_code == 2
    assert f'pulsarctl_check_state{{check="backlog",{topic}}} 2\n' in file.read_text()
    assert "pulsarctl_check_backlog{" not in file.read_text()
    assert file.stat().st_ino != first, "a new file was renamed over the old one"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".prom"] == ["orders.prom"]


def test_a_text_file_that_cannot_be_written_is_unknown(cli: Cli, backlog: str, tmp_path: Path) -> None:
    outcome = cli("check", "backlog", backlog, "--textfile", str(tmp_path / "absent" / "x.prom"))
    assert outcome.exit_code == 3
    assert "CHECK UNKNOWN - cannot write" in outcome.stdout
