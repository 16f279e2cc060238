"""A broker at rest."""

import time

from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.support.broker_process import BrokerProcess

SETTLE_SECONDS = 3.0
IDLE_SECONDS = 20.0
REST_SECONDS = 30.0  # three looks of the broker's idle work


def rest(process: BrokerProcess) -> tuple[float, float]:
    """(share of a core, resident MB) of an idle broker some time after its start."""
    time.sleep(SETTLE_SECONDS)  # what is measured is a broker that has nothing to do
    before = cpu_seconds(process.pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(process.pid) - before) / IDLE_SECONDS, resident_mb(process.pid)


def have_rest() -> None:
    """Leaves the brokers alone until they have done what waits for an idle moment."""
    time.sleep(REST_SECONDS)
