"""Numbers of a broker without load: its start, its memory and CPU when idle, its recovery after kill -9."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.long.bench.backlog import backlog
from tests.long.bench.beside import beside
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.console_pages import console_pages
from tests.long.bench.declared_state import declared_state
from tests.long.bench.delayed_backlog import delayed_backlog
from tests.long.bench.delivery_times import delivery_times
from tests.long.bench.large_backlog import large_backlog
from tests.long.bench.lines import lines
from tests.long.bench.many_topics import many_topics
from tests.long.bench.offload import offload
from tests.long.bench.proxy import proxy
from tests.long.bench.proxy_crowd import proxy_crowd
from tests.long.bench.rest import IDLE_SECONDS, rest
from tests.long.bench.secured import secured
from tests.long.bench.seek import seek
from tests.long.bench.segments import segments
from tests.long.bench.tables import tables
from tests.long.bench.transactions import transactions
from tests.long.bench.unacked import unacked
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.official_client import connect

STARTS = 5
TOPICS, CONNECTIONS = 1000, 100
COMMANDS = (("--version",), ("tenants", "list"), ("produce", "bench", "-m", "x"))
COMMAND_RUNS = 10
RECOVERED_BYTES, RECOVERED_TOPICS = 1_000_000_000, 1000


def first_acknowledged(process: BrokerProcess, topic: str) -> float:
    """Seconds from starting the process to the first message acknowledged to the official client."""
    started = time.perf_counter()
    process.start()
    client = connect(process.service_url)
    client.create_producer(topic).send(b"first")
    took = time.perf_counter() - started
    client.close()
    return took


def start(directory: Path) -> str:
    fresh: list[float] = []
    again: list[float] = []
    for _ in range(STARTS):
        process = BrokerProcess(scratch_dir(directory, "start"))
        for times in (fresh, again):
            times.append(first_acknowledged(process, "start"))
            process.stop()
    return (
        f"start to first acknowledged message: {statistics.median(fresh):.2f} s in a new directory, "
        f"{statistics.median(again):.2f} s in a used one (medians of {STARTS})"
    )


def idle(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "idle")) as process:
        share, memory = rest(process)
    return f"idle: {memory:.0f} MB resident, {share:.2%} of a core over {IDLE_SECONDS:.0f} s"


def idle_loaded(directory: Path) -> str:
    """As `idle`, with loaded topics and open connections that send only keep-alives."""
    with BrokerProcess(scratch_dir(directory, "idle-loaded")) as process:
        clients = [connect(process.service_url) for _ in range(CONNECTIONS)]
        each = TOPICS // CONNECTIONS
        producers = [
            client.create_producer(f"idle-{number * each + index}")
            for number, client in enumerate(clients)
            for index in range(each)
        ]
        for producer in producers:
            producer.send_async(b"one", lambda *_: None)
        for producer in producers:
            producer.flush()
        share, memory = rest(process)
        for client in clients:
            client.close()
    scene = f"idle with {TOPICS:,} topics and {CONNECTIONS} connections"
    return f"{scene}: {memory:.0f} MB resident, {share:.2%} of a core"


def recovery(directory: Path) -> str:
    process = BrokerProcess(scratch_dir(directory, "recovery")).start()
    fill(process.service_url)
    process.kill()
    took = first_acknowledged(process, "recovered")
    size = sum(path.stat().st_size for path in process.data_dir.rglob("*") if path.is_file())
    process.stop()
    scratch_dir(directory, "recovery")
    scene = f"{size / 1e9:.2f} GB in {RECOVERED_TOPICS:,} topics"
    return f"recovery after kill -9: {took:.2f} s to the first acknowledged message, {scene}"


def fill(url: str) -> None:
    """Publishes RECOVERED_BYTES in batches, evenly over RECOVERED_TOPICS topics with a subscription that keeps them."""
    client = connect(url)
    payload, per_topic = bytes(1000), RECOVERED_BYTES // RECOVERED_TOPICS // 1000
    for number in range(RECOVERED_TOPICS):
        topic = f"recovery-{number}"
        client.subscribe(topic, "keep").close()
        producer = client.create_producer(topic, batching_enabled=True, block_if_queue_full=True)
        for _ in range(per_topic):
            producer.send_async(payload, lambda *_: None)
        producer.flush()
        producer.close()
    client.close()


def commands(directory: Path) -> str:
    """Wall time of whole processes, as seen from a shell."""
    with BrokerProcess(scratch_dir(directory, "commands")) as process:
        addresses = {"PULSARCTL_ADMIN_URL": process.http_url, "PULSARCTL_SERVICE_URL": process.service_url}
        environment = os.environ | addresses | {"PULSARCONFIG": str(directory / "no-contexts")}
        found = []
        for arguments in COMMANDS:
            times = [wall_seconds(arguments, environment) for _ in range(COMMAND_RUNS)]
            found.append(f"`pulsarctl {' '.join(arguments)}` {statistics.median(times):.3f} s")
    return f"commands: {', '.join(found)} (medians of {COMMAND_RUNS})"


def wall_seconds(arguments: tuple[str, ...], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([PULSARCTL, *arguments], env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


FIGURES: dict[str, Callable[[Path], str]] = {
    "start": start,
    "idle": idle,
    "idle-loaded": idle_loaded,
    "many-topics": many_topics,
    "console": console_pages,
    "beside": beside,
    "delayed": delayed_backlog,
    "delivery-times": delivery_times,
    "unacked": unacked,
    "seek": seek,
    "recovery": recovery,
    "commands": commands,
    "lines": lines,
    "backlog": backlog,
    "backlog-large": large_backlog,
    "tables": tables,
    "offload": offload,
    "state": declared_state,
    "proxy": proxy,
    "proxy-crowd": proxy_crowd,
    "secured": secured,
    "transactions": transactions,
    "segments": segments,
}
