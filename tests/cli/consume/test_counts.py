"""Several runs of `consume` on one subscription print each message once, however each run ends."""

import signal
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.program import Program, run

POSITION = ("-p", "Earliest", "-F", "%v\\n")
TYPES = ("Exclusive", "Failover", "Shared", "Key_Shared")
MESSAGES = 1200
MORE_THAN_A_PIPE_HOLDS = 40_000


@pytest.fixture
def environ(pulsar_broker: EmbeddedBroker) -> dict[str, str]:
    return {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}


def publish_batched(client: pulsar.Client, topic: str, count: int) -> None:
    producer = client.create_producer(
        topic,
        batching_enabled=True,
        batching_max_messages=100,
        batching_max_publish_delay_ms=1000,
        block_if_queue_full=True,
    )
    for number in range(count):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    producer.close()


def consumed(home: Path, environ: dict[str, str], topic: str, *words: str) -> list[int]:
    ended = run(home, "consume", topic, "-s", "s", *POSITION, *words, environ=environ)
    assert ended.exit_code == 0, ended.stderr
    return [int(line) for line in ended.stdout.split()]


@pytest.mark.parametrize("kind", TYPES)
def test_the_next_run_continues_in_the_middle_of_a_batch(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str, kind: str
) -> None:
    publish_batched(client, topic, 10)
    assert consumed(tmp_path, environ, topic, "-t", kind, "-n", "3") == [0, 1, 2]
    assert consumed(tmp_path, environ, topic, "-t", kind, "-n", "3") == [3, 4, 5]
    assert consumed(tmp_path, environ, topic, "-t", kind, "-e") == [6, 7, 8, 9]


@pytest.mark.parametrize("kind", ["Exclusive", "Shared"])
def test_runs_over_partitions_do_not_share_messages(
    tmp_path: Path,
    environ: dict[str, str],
    client: pulsar.Client,
    topic: str,
    kind: str,
    pulsar_broker: EmbeddedBroker,
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 4)
    publish_batched(client, topic, MESSAGES)
    first = consumed(tmp_path, environ, topic, "-t", kind, "-n", "450")
    second = consumed(tmp_path, environ, topic, "-t", kind, "-n", "450")
    rest = consumed(tmp_path, environ, topic, "-t", kind, "-e")
    assert (len(first), len(second)) == (450, 450)
    assert sorted(first + second + rest) == list(range(MESSAGES))


def test_concurrent_runs_do_not_share_messages(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str
) -> None:
    publish_batched(client, topic, MESSAGES)
    words = ("consume", topic, "-s", "s", "-t", "Shared", *POSITION, "-n", "250")
    with Program(tmp_path, *words, environ=environ) as one, Program(tmp_path, *words, environ=environ) as other:
        assert (one.finish(), other.finish()) == (0, 0)
        printed = [int(line) for line in (one.stdout + other.stdout).split()]
    assert len(printed) == 500
    rest = consumed(tmp_path, environ, topic, "-t", "Shared", "-e")
    assert sorted(printed + rest) == list(range(MESSAGES))


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda value: str(value),
)
def test_a_signal_between_messages_neither_loses_nor_repeats_a_message(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str, number: signal.Signals, code: int
) -> None:
    publish_batched(client, topic, MORE_THAN_A_PIPE_HOLDS)
    with Program(tmp_path, "consume", topic, "-s", "s", *POSITION, "-n", "0", environ=environ) as program:
        program.read_lines(10)
        program.send(number)
        assert program.finish() == code
        printed = [int(line) for line in program.stdout.splitlines(keepends=True) if line.endswith(b"\n")]
    rest = consumed(tmp_path, environ, topic, "-e")
    assert printed + rest == list(range(MORE_THAN_A_PIPE_HOLDS))


def test_a_closed_pipe_consumes_only_complete_lines(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str
) -> None:
    publish_batched(client, topic, MORE_THAN_A_PIPE_HOLDS)
    with Program(tmp_path, "consume", topic, "-s", "s", *POSITION, "-n", "0", environ=environ) as program:
        seen = program.read_lines(5)
        program.close_stdout()
        assert program.finish() == 141
    rest = consumed(tmp_path, environ, topic, "-e")
    assert rest == list(range(rest[0], MORE_THAN_A_PIPE_HOLDS))
    assert rest[0] >= len(seen)


@pytest.mark.parametrize("command", ["consume", "read"])
def test_too_few_messages_before_the_idle_timeout_is_a_timeout(
    tmp_path: Path, environ: dict[str, str], client: pulsar.Client, topic: str, command: str
) -> None:
    publish_batched(client, topic, 1)
    start = ("-p", "Earliest") if command == "consume" else ("-m", "earliest")
    words = (command, topic, *start, "-F", "%v\\n", "-n", "5", "--idle-timeout", "200ms")
    ended = run(tmp_path, *words, environ=environ)
    assert (ended.exit_code, ended.stdout) == (7, b"0\n")
    assert ended.stderr.startswith("error: received only 1 of 5 messages before the idle timeout\n")
