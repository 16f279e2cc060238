"""The cost of 10,000 topics in use, each with a producer and a consumer, on a few connections."""

from pathlib import Path

from tests.long.bench.attached import TOPICS, Attached
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.rest import rest
from tests.support.broker_process import BrokerProcess

PERMITS = 1000


def many_topics(directory: Path) -> str:
    with (
        BrokerProcess(scratch_dir(directory, "many-topics")) as process,
        Attached(process.service_url, permits=PERMITS),
    ):
        share, memory = rest(process)
    scene = f"idle with {TOPICS:,} topics, each with a producer and a consumer"
    return f"{scene}: {memory:.0f} MB resident, {share:.2%} of a core"
