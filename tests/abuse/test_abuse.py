"""Every command and route has hostile inputs, and a broker withstands them for half a minute."""

from pathlib import Path

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.server.command_table import COMMANDS
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.abuse.rest_table import ROWS, row_name
from tests.abuse.run import run
from tests.abuse.wire_table import EXAMPLES

SECONDS = 30.0
SEED = 8
STALL_SECONDS = 0.25  # other tests run at the same time; `make abuse` allows 50 ms


def test_every_command_has_hostile_inputs() -> None:
    assert set(EXAMPLES) == {*COMMANDS, BaseCommand.SEND}


def test_every_route_has_hostile_inputs() -> None:
    assert set(ROWS) == {row_name(route.path) for route in all_routes().listed}


@pytest.mark.slow
def test_hostile_input_does_not_affect_a_well_behaved_client(tmp_path: Path) -> None:
    report = run(tmp_path, SECONDS, SEED, STALL_SECONDS)
    assert not report.failures(), "\n".join([*report.failures(), str(report)])
    assert report.tally.inputs.keys() == {"commands", "requests", "connections"}
