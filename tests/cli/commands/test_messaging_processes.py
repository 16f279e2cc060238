"""`produce`, `consume`, and `read` as processes: pipes, signals, and brokers that stop."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.publishing import publish
from tests.clients.receiving import is_silent, receive, values
from tests.support.broker_process import BrokerProcess
from tests.support.program import PULSARCTL, Program, run

POSITION = ("-p", "Earliest")


@pytest.fixture
def environ(pulsar_broker: EmbeddedBroker) -> dict[str, str]:
    return {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}


def left(client: pulsar.Client, topic: str, subscription: str, last: int) -> list[int]:
    """The backlog of the subscription, of which the last value is known."""
    consumer = client.subscribe(topic, subscription)
    found: list[int] = []
    while last not in found[-1:]:
        found += values(receive(consumer, 1))
    assert is_silent(consumer)
    consumer.close()
    return found


def test_closing_the_pipe_loses_no_message(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str
) -> None:
    count = 20_000  # more than a pipe holds
    publish(client, topic, *range(count))
    words = ("consume", topic, "-s", "s", *POSITION, "-n", "0", "-F", "%v %t\\n")
    with Program(tmp_path, *words, environ=environ) as program:
        seen = [int(line.split()[0]) for line in program.read_lines(5)]
        program.close_stdout()
        assert program.finish() == 141
        assert program.stderr == b""
    rest = left(client, topic, "s", count - 1)
    assert rest == list(range(rest[0], count)), "acknowledged is a beginning, and the rest is all there"
    assert rest[0] > max(seen) == 4


@pytest.mark.parametrize("command", ["consume", "read"])
def test_ctrl_c_ends_a_blocked_receive_within_a_second(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str, command: str
) -> None:
    publish(client, topic, 0)
    position = POSITION if command == "consume" else ("-m", "earliest")
    with Program(tmp_path, command, topic, *position, "-n", "0", "-F", "%v\\n", environ=environ) as program:
        program.read_lines(1)
        program.send(signal.SIGINT)
        asked = time.monotonic()
        assert program.finish() == 130
        assert time.monotonic() - asked < 1.0
        assert program.stdout == b"0\n"


def test_sigterm_deletes_the_temporary_subscription(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    publish(client, topic, 0)
    with Program(tmp_path, "consume", topic, *POSITION, "-n", "0", "-F", "%v\\n", environ=environ) as program:
        program.read_lines(1)
        program.send(signal.SIGTERM)
        assert program.finish() == 143
    loaded = pulsar_broker.broker.topics.loaded[f"persistent://public/default/{topic}"]
    assert not loaded.subscriptions


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_producing_reports_the_progress(
    tmp_path: Path, environ: dict[str, str], topic: str, number: signal.Signals, code: int
) -> None:
    with Program(tmp_path, "produce", topic, environ=environ, stdin=True) as producer:
        producer.write(b"a\nb\n")
        words = ("consume", topic, *POSITION, "-n", "2", "-F", "%v\\n")
        assert run(tmp_path, *words, environ=environ).stdout == b"a\nb\n"
        producer.send(number)
        assert producer.finish() == code
        assert b"resume at line" in producer.stderr


def test_lines_are_sent_as_they_arrive(tmp_path: Path, environ: dict[str, str], topic: str) -> None:
    words = ("consume", topic, "-n", "2", "-F", "%v\\n", *POSITION)
    with (
        Program(tmp_path, "produce", topic, environ=environ, stdin=True) as producer,
        Program(tmp_path, *words, environ=environ) as consumer,
    ):
        producer.write(b"one\n")
        assert consumer.read_lines(1) == [b"one\n"]
        producer.write(b"two\n")
        assert consumer.read_lines(2) == [b"one\n", b"two\n"]
        assert producer.finish() == 0


def test_stdout_contains_only_records_when_the_topic_is_unknown(tmp_path: Path, environ: dict[str, str]) -> None:
    ended = run(tmp_path, "consume", "public/nowhere/t", "-o", "jsonl", "--log-level", "debug", environ=environ)
    assert (ended.exit_code, ended.stdout) == (3, b"")
    assert "TopicNotFound" in ended.stderr, "the client's log is on stderr"


def test_stdout_contains_only_records_when_the_connection_is_refused(tmp_path: Path) -> None:
    words = ("consume", "t", "-o", "jsonl", "--url", "pulsar://localhost:1", "--log-level", "debug")
    ended = run(tmp_path, *words)
    assert (ended.exit_code, ended.stdout) == (5, b"")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("command", ["consume", "read", "produce"])
def test_a_broker_that_does_not_answer_times_out(tmp_path: Path, silent_port: int, command: str) -> None:
    details = ("-m", "x", "--timeout", "1s") if command == "produce" else ("--connect-timeout", "1s")
    asked = time.monotonic()
    words = (command, "t", *details, "--url", f"pulsar://127.0.0.1:{silent_port}")
    ended = run(tmp_path, *words)
    assert ended.exit_code == 7 and ended.stdout == b""
    assert time.monotonic() - asked < 5


def test_a_restarted_broker_is_found_and_stdout_contains_only_records(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        environ = {"PULSARCTL_SERVICE_URL": broker.service_url, "PULSARCTL_ADMIN_URL": broker.http_url}
        words = ("consume", "t", "-s", "s", *POSITION, "-n", "0", "-o", "jsonl")
        with Program(tmp_path, *words, environ=environ) as consumer:
            run(tmp_path, "produce", "t", "-m", "before", environ=environ)
            consumer.read_lines(1)
            broker.kill()
            broker.start()
            run(tmp_path, "produce", "t", "-m", "after", environ=environ)
            lines = consumer.read_lines(2)
            while json.loads(lines[-1])["value"] != "after":  # redelivered: its acknowledgment was lost
                lines = consumer.read_lines(len(lines) + 1)
            consumer.send(signal.SIGINT)
            consumer.finish()
            assert {json.loads(line)["value"] for line in consumer.stdout.splitlines()} == {"before", "after"}


def test_a_failure_in_the_middle_reports_how_many_messages_are_stored(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        environ = {"PULSARCTL_SERVICE_URL": broker.service_url, "PULSARCTL_ADMIN_URL": broker.http_url}
        with Program(tmp_path, "produce", "t", "--timeout", "1s", environ=environ, stdin=True) as producer:
            producer.write(b"a\nb\n")
            words = ("consume", "t", *POSITION, "-n", "2", "-F", "%v\\n")
            assert run(tmp_path, *words, environ=environ).stdout == b"a\nb\n"
            broker.kill()
            producer.write(b"c\n")
            assert producer.finish() == 7
            assert producer.stderr.decode().splitlines()[-1] == (
                "error: cannot produce line 3 of stdin to persistent://public/default/t: "
                "the broker did not answer in time; 2 of 3 messages were acknowledged; resume at line 3"
            )


def test_ctrl_c_ends_a_producer_whose_broker_is_frozen(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        environ = {"PULSARCTL_SERVICE_URL": broker.service_url, "PULSARCTL_ADMIN_URL": broker.http_url}
        with Program(tmp_path, "produce", "t", environ=environ, stdin=True) as producer:
            producer.write(b"a\n")
            words = ("consume", "t", *POSITION, "-F", "%v\\n")
            assert run(tmp_path, *words, environ=environ).stdout == b"a\n"
            os.kill(broker.pid, signal.SIGSTOP)
            producer.write(b"b\n")
            producer.send(signal.SIGINT)
            asked = time.monotonic()
            assert producer.finish() == 130
            assert time.monotonic() - asked < 10  # far less than the 30 s after which the client gives up a message
            os.kill(broker.pid, signal.SIGCONT)


def test_progress_is_shown_on_a_terminal(tmp_path: Path, environ: dict[str, str], topic: str) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"x\n" * 100_000)
    terminal, stderr = os.openpty()
    subprocess.run(
        [PULSARCTL, "produce", topic, "-l", lines], stderr=stderr, env={**os.environ, **environ}, check=True, timeout=20
    )
    os.close(stderr)
    assert b" messages acknowledged" in os.read(terminal, 65536)
    os.close(terminal)


def test_progress_is_shown_only_on_a_terminal(tmp_path: Path, environ: dict[str, str], topic: str) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"x\n" * 100_000)
    ended = run(tmp_path, "produce", topic, "-l", str(lines), environ=environ)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, b"", "100000 messages successfully produced\n")
