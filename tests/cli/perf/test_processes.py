"""`perf` as a process: Ctrl-C, and a broker that stops."""

import json
import signal
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.program import Program

SECONDS = 30.0


def wait_for_messages(program: Program) -> None:
    """Until an interval line has a rate above 0."""
    lines = 1
    while b": 0 msg/s" in program.read_error_lines(lines)[-1]:
        lines += 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_with_the_final_record_and_success(
    tmp_path: Path, pulsar_broker: EmbeddedBroker, topic: str, number: signal.Signals
) -> None:
    words = ("perf", "produce", topic, "-r", "200", "--warmup-time", "0", "--report-interval", "100ms", "-o", "json")
    with Program(tmp_path, *words, "--url", pulsar_broker.service_url) as program:
        wait_for_messages(program)
        program.send(number)
        assert program.finish() == 0, program.stderr
    found = json.loads(program.stdout)
    assert found["messages"] > 0
    assert found["errors"] == 0
    assert b"interrupted: the record is that of the time until then" in program.stderr


def test_a_lost_broker_is_counted_and_fails_both_sides(tmp_path: Path, topic: str) -> None:
    with EmbeddedBroker(tmp_path / "data") as broker:
        url = ("--url", broker.service_url, "-o", "json", "--report-interval", "100ms")
        sending = ("perf", "produce", topic, "-r", "50", "--send-timeout", "1s", "-ef", *url)
        receiving = ("perf", "consume", topic, "--timeout", "1s", *url)
        with Program(tmp_path, *sending) as producer, Program(tmp_path, *receiving) as consumer:
            wait_for_messages(producer)
            wait_for_messages(consumer)
            broker.stop()
            assert consumer.finish(SECONDS) == 5, consumer.stderr
            assert producer.finish(SECONDS) == 10, producer.stderr
    assert json.loads(consumer.stdout)["errors"] == 1
    assert json.loads(producer.stdout)["errors"] > 0
    assert b"the connection to the broker is lost" in consumer.stderr
    assert b"were not acknowledged" in producer.stderr
