"""A process that used the client library ends without a shutdown of the interpreter.

The threads of the library crash in one.
"""

import subprocess
import sys
from pathlib import Path

from broker_core.testing import EmbeddedBroker
from tests.support.program import Program

PROCESSES = 12  # at the same time, so that the threads of each run late
SHUTDOWN = "the interpreter shuts down"
MAIN = f"import atexit; from pulsarctl.main import main; atexit.register(print, {SHUTDOWN!r}); main()"


def consume(url: str, subscription: str) -> list[str]:
    return ["consume", "exits", "--subscription-name", subscription, "--idle-timeout", "1ms", "--url", url]


def test_many_consumers_end_with_their_exit_code(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> None:
    started = [Program(tmp_path, *consume(pulsar_broker.service_url, f"s{n}")) for n in range(PROCESSES)]
    assert {program.finish() for program in started} == {0}


def test_the_interpreter_does_not_shut_down_under_the_client(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> None:
    assert SHUTDOWN in output_of(tmp_path, "tenants", "list", "--admin-url", pulsar_broker.http_url)
    assert SHUTDOWN not in output_of(tmp_path, *consume(pulsar_broker.service_url, "s"))


def output_of(home: Path, *words: str) -> str:
    command = [sys.executable, "-c", MAIN, *words, "--no-context"]
    return subprocess.run(command, cwd=home, check=True, capture_output=True, text=True, timeout=60).stdout
