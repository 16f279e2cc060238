"""The rows of the speed table: the load and the client of each."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.long.bench.brokers import Broker
from tests.long.bench.load import Load, Result

GO_SOURCE = Path(__file__).parent / "go"
GO_PROGRAM = Path("build/bench-go").absolute()
LOAD_SECONDS = 600


class RowSkipped(Exception):
    """The row cannot run on this machine; the text is the reason."""


class RunFailed(Exception):
    """A client gave up, or messages were refused; the text is its output."""


@dataclass(frozen=True)
class Row:
    name: str  # for --row
    title: str
    load: str
    shape: dict[str, Any] = field(default_factory=dict)
    after: str | None = None  # the row whose topic this one reads; it runs first in the same round
    run: "Callable[[Load], Result]" = field(default=lambda load: run_python(load))


def run_python(load: Load) -> Result:
    return run_json([sys.executable, "-m", "tests.long.bench.load", json.dumps(asdict(load))])


def run_go(load: Load) -> Result:
    """The same publish through the Go client, built on first use. Raises RowSkipped."""
    if not GO_PROGRAM.exists():
        build_go()
    command = [str(GO_PROGRAM), "-url", load.url, "-topic", load.topic, "-count", str(load.count)]
    command += ["-size", str(load.size), "-warmup", str(load.warmup), "-broker-pid", str(load.pid or 0)]
    found = run_json(command)
    found["msg_s"] = found["count"] / found["seconds"]
    if load.pid:
        found["broker_us"] = found["broker_cpu_s"] / found["count"] * 1e6
    return found


def build_go() -> None:
    if not shutil.which("go"):
        raise RowSkipped("no Go on this machine")
    command = ["go", "build", "-o", str(GO_PROGRAM), "."]
    built = subprocess.run(command, cwd=GO_SOURCE, capture_output=True, text=True)
    if built.returncode:
        raise RowSkipped(f"the Go client did not build: {built.stderr.strip().splitlines()[-1]}")


def run_json(command: list[str]) -> Result:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LOAD_SECONDS)
    if done.returncode:
        raise RunFailed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    found: Result = json.loads(done.stdout.splitlines()[-1])
    if found.get("errors"):
        raise RunFailed(f"{found['errors']} messages refused: {' '.join(command)}")
    return found


KB = 1000
ROWS = (
    Row("publish", "publish unbatched 100 B, Python", "publish", {"count": 200_000}),
    Row("publish-go", "publish unbatched 100 B, Go", "publish", {"count": 500_000, "warmup": 5000}, run=run_go),
    Row(
        "publish-batched",
        "publish batched 1 KB, Python",
        "publish",
        {"count": 200_000, "size": KB, "batched": True},
    ),
    Row("consume", "catch-up consume unbatched 100 B", "consume", {"count": 200_000}, after="publish"),
    Row(
        "consume-batched",
        "catch-up consume batched 1 KB",
        "consume",
        {"count": 200_000, "size": KB},
        after="publish-batched",
    ),
    Row(
        "latency-1k",
        "end to end, 1,000 msg/s of 1 KB",
        "latency",
        {"count": 10_000, "rate": 1000, "size": KB},
    ),
    Row(
        "latency-10k",
        "end to end, 10,000 msg/s of 1 KB",
        "latency",
        {"count": 100_000, "rate": 10_000, "size": KB},
    ),
    Row("sync", "one message at a time", "sync", {"count": 2000, "warmup": 100}),
    Row("fan-in", "100 producers on 100 topics, 100 B", "fan_in", {"count": 100_000, "warmup": 1000}),
)
BY_NAME = {row.name: row for row in ROWS}


def measure(row: Row, broker: Broker, round_id: str, *, scale: float = 1.0) -> Result:
    """Runs one row once. A row with `after` reads the topic that the other row wrote in the same round."""
    source = row.after or row.name
    count = max(1, int(row.shape["count"] * scale))
    shape = row.shape | {"count": count}
    return row.run(Load(row.load, broker.url, f"bench-{source}-{round_id}", pid=broker.pid, **shape))
