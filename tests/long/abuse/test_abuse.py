"""Every command and route has hostile inputs, and a broker withstands them for a while."""

import json
import os
import signal
from pathlib import Path

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.server.command_table import COMMANDS
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.abuse import many
from tests.long.abuse.attackers import Attack
from tests.long.abuse.crowd import allow_files
from tests.long.abuse.crowd import run as run_crowd
from tests.long.abuse.monitor import WorstStalls
from tests.long.abuse.rest_table import ROWS, row_name
from tests.long.abuse.run import run
from tests.long.abuse.tally import REMEMBERED, Tally
from tests.long.abuse.wire_table import EXAMPLES
from tests.support.broker_process import BrokerDied, BrokerProcess

SECONDS = 15.0
SEED = 8
STALL_SECONDS = 0.25  # other tests run at the same time; `make abuse` allows 50 ms


def test_every_command_has_hostile_inputs() -> None:
    assert set(EXAMPLES) == {*COMMANDS, BaseCommand.SEND}


def test_every_route_has_hostile_inputs() -> None:
    assert set(ROWS) == {row_name(route.path) for route in all_routes().listed}


def test_an_attacker_that_fails_is_a_finding_and_goes_on() -> None:
    attack = Attack("pulsar://localhost:1", "http://localhost:1", Tally(), SEED)
    tries = []

    def work() -> None:
        tries.append(attack.seed)
        if len(tries) == 2:
            attack.stopped.set()
        raise ValueError("not thought of")

    attack.guarded(work)
    assert tries == [SEED, SEED + 1]
    assert attack.tally.failures == {"the attacker work failed: ValueError: not thought of": 2}


def test_a_broker_that_ends_ends_the_run(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    with broker:
        broker.check_running()
        os.kill(broker.pid, signal.SIGTERM)
        os.waitid(os.P_PID, broker.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(BrokerDied, match="exit code 0"):
            broker.check_running()


def test_the_inputs_of_an_early_stall_are_named_after_a_long_run(tmp_path: Path) -> None:
    tally, file = Tally(), tmp_path / "stalls"
    tally.sent("requests", "GET /slow", started=100.0)
    times = {"own": 0.06, "late": 0.07, "cpu": 0.05, "collecting": 0.04}
    line = {"at": 100.1, **times, "threads": {"MainThread": 0.05}, "stack": ["a", "b"]}
    file.write_text(json.dumps(line) + "\n" + json.dumps({**line, "own": 0.03}) + "\n" + '{"at": 10')
    worst = WorstStalls(STALL_SECONDS / 5)
    worst.read(file, tally)
    for number in range(REMEMBERED):
        tally.sent("requests", f"GET /{number}", started=200.0)
    assert (worst.count, worst.longest) == (1, 0.06)
    assert worst.sentences() == [
        "the loop stood still 1 times, for up to 60 ms (CPU 50 ms, of threads: MainThread 50; collections 40 ms) "
        "in b < a, during ['GET /slow']"
    ]


@pytest.mark.slow
def test_hostile_input_does_not_affect_a_well_behaved_client(tmp_path: Path) -> None:
    report = run(tmp_path, SECONDS, SEED, STALL_SECONDS)
    assert not report.failures(), "\n".join([*report.failures(), str(report)])
    assert report.tally.inputs.keys() == {"commands", "requests", "connections"}


@pytest.mark.slow
def test_failed_logins_and_slow_connections_do_not_affect_a_well_behaved_client(tmp_path: Path) -> None:
    report = run_crowd(tmp_path, logins=200, connections=100)
    assert not report.failures(), "\n".join([*report.failures(), str(report)])
    assert (report.logins, report.connections) == (200, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", many.limits_of(0))
def test_thousands_of_connections_at_once_do_not_affect_a_well_behaved_client(name: str, tmp_path: Path) -> None:
    allow_files(6_000)
    report = many.run(tmp_path / "data", 2_000, name)
    assert not report.failures(), "\n".join([*report.failures(), str(report)])
