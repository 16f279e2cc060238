"""`make demo`: the main job on real data, from start to end.

The demo runs each command as a user would and checks each claim. The first claim that does not hold ends it with exit
code 1. The data comes from the package `vega_datasets`: 3,376 airports of the United States, keyed by their code, and
560 monthly prices of five stocks, keyed by their symbol.
"""

import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from shell import DemoFailed, Shell, Standalone, check, wait_for
from vega_datasets import local_data

NAMESPACE = "demo/flights"
AIRPORTS = f"{NAMESPACE}/airports"
POSITIONS = f"{NAMESPACE}/positions"
PRICES = f"{NAMESPACE}/prices"
PARTITIONS = 4
ALASKA = ",AK,USA,"
REPETITIONS = 10  # of the airports, so that the positions exceed the retention size
ENTRIES_PER_LEDGER = 2000
LEDGER_SETTING = f"managedLedgerMaxEntriesPerLedger={ENTRIES_PER_LEDGER}"
TTL_SECONDS = 3
RETENTION_SECONDS = 60
RETENTION_BYTES = 1 << 20
SLACK_SECONDS = 5.0


class Demo:
    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.shell = Shell(scratch)
        self.data_dir = scratch / "data"
        self.store = (scratch / "store").as_uri()
        self.settings = ("-X", LEDGER_SETTING, "-X", f"offloadAllowedStores={self.store}")
        self.airports = without_header(local_data.airports.filepath, scratch / "airports.csv")
        self.prices = without_header(local_data.stocks.filepath, scratch / "prices.csv")
        self.positions = scratch / "positions.csv"
        self.positions.write_text(self.airports.read_text() * REPETITIONS)
        self.broker: Standalone
        self.first_half: list[str] = []
        self.expired_at = 0.0
        self.ledger_ids: set[int] = set()  # every ledger that held positions, also a deleted one

    def start(self) -> None:
        self.broker = self.shell.start_broker(
            "--data-dir", str(self.data_dir), "--port", "0", "--http-port", "0", *self.settings
        )
        self.shell.run("brokers", "healthcheck")
        check(f"the broker answers on {self.broker.urls['service_url']}", True)

    def create(self) -> None:
        self.shell.run("tenants", "create", "demo")
        self.shell.run("namespaces", "create", NAMESPACE)
        self.shell.run("topics", "create-partitioned", AIRPORTS, "-p", str(PARTITIONS))
        self.shell.run("topics", "set-retention", AIRPORTS, "-t", "1h", "-s", "1G")
        topics = self.shell.lines("topics", "list", NAMESPACE)
        found = sum("airports-partition-" in line for line in topics)
        check(f"the topic has {found} partitions", found == PARTITIONS, topics)

    def produce(self) -> None:
        self.shell.run("topics", "create-subscription", AIRPORTS, "-s", "desk", "-m", "earliest")
        self.shell.run("produce", AIRPORTS, "--lines", str(self.airports), "-K", ",", "--disable-batching")
        rows = count_lines(self.airports)
        stored = self.backlog(AIRPORTS, "desk")
        check(f"{stored:,} of {rows:,} airports are stored", stored == rows)

    def consume_half(self) -> None:
        half = count_lines(self.airports) // 2
        self.first_half = self.shell.lines("consume", AIRPORTS, "-s", "desk", "-n", str(half), "-F", "%k,%v\\n")
        check(f"{len(self.first_half):,} airports are consumed", len(self.first_half) == half)

    def report_backlog(self) -> None:
        left = count_lines(self.airports) - len(self.first_half)
        engine = os.environ.get("ENGINE", "spark")
        report = self.shell.json("ops", "backlog", AIRPORTS, "--engine", engine)
        [row] = [row for row in report["subscriptions"] if row["subscription"] == "desk"]
        check(f"the engine of the report is {report['engine']}", report["engine"] == engine)
        check(f"it counts {row['messages']:,} messages, in {report['tasks']} tasks", row["messages"] == left, row)
        check("the broker reports the same number", self.backlog(AIRPORTS, "desk") == left)

    def offload(self) -> None:
        self.shell.run("topics", "unload", AIRPORTS)  # seals the ledgers
        self.shell.run("ops", "offload", AIRPORTS, "--to", self.store)
        copies = list(Path(self.scratch / "store").rglob("*.parquet"))
        size = sum(copy.stat().st_size for copy in copies)
        check(f"the store has {len(copies)} Parquet files of {size:,} bytes", len(copies) == PARTITIONS)

    def query(self) -> None:
        """The messages come from the store. The engine is DuckDB, unless the query asks for Spark."""
        counts = f"count(*) AS n, count(*) FILTER (value LIKE '%{ALASKA}%') AS alaska"
        query = f'SELECT {counts} FROM "{AIRPORTS}"'  # noqa: S608  # our names
        words = ("ops", "sql", query, "--tier-store", self.store, "--decode", "string")
        plan = self.shell.json(*words, "--dry-run", show=False)
        [row] = self.shell.json(*words)
        lines = self.airports.read_text().splitlines()
        wanted = {"n": len(lines), "alaska": sum(ALASKA in line for line in lines)}
        check(f"the query runs on the engine {plan['engine']}", plan["engine"] == "local")
        check(f"{row['alaska']:,} of the {row['n']:,} airports are in Alaska", row == wanted, row)

    def expire_and_retain(self) -> None:
        """A backlog without consumers: the TTL expires the messages, and the retention deletes all files but 1 MB."""
        self.shell.run("topics", "create", POSITIONS)
        self.shell.run("topics", "create-subscription", POSITIONS, "-s", "late", "-m", "earliest")
        self.shell.run("produce", POSITIONS, "--lines", str(self.positions), "-K", ",", "--disable-batching")
        published = time.monotonic()
        before = self.ledger_files()
        check(
            f"{self.backlog(POSITIONS, 'late'):,} messages are in the backlog, in {describe(before)} on disk",
            len(before) > 1,
        )
        self.shell.run("topics", "set-retention", POSITIONS, "-t", "1m", "-s", "1M")
        self.shell.run("topics", "set-message-ttl", POSITIONS, "-t", str(TTL_SECONDS))
        wait_for("the TTL", lambda: self.backlog(POSITIONS, "late", show=False) == 0, TTL_SECONDS + SLACK_SECONDS)
        self.expired_at = time.monotonic()
        after = self.expired_at - published
        check(f"{after:.1f} s after the last one was published, all of them have expired", after < SLACK_SECONDS * 4)
        kept = wait_for("the retention", self.within_retention, SLACK_SECONDS)
        stats = self.shell.json("topics", "stats", POSITIONS)
        check(f"`topics stats` reports {stats['storageSize']:,} bytes", stats["storageSize"] < 2 * RETENTION_BYTES)
        check(f"{describe(kept)} are left on disk", len(kept) < len(before))

    def compact(self) -> None:
        self.shell.run("topics", "create", PRICES)
        self.shell.run("produce", PRICES, "--lines", str(self.prices), "-K", ",")
        last = dict(line.split(",", 1) for line in self.prices.read_text().splitlines())
        self.shell.run("topics", "compact", PRICES, "--wait")
        read = ("read", PRICES, "-m", "earliest", "--compacted", "-e", "-F", "%k,%v\\n")
        kept = dict(line.split(",", 1) for line in self.shell.lines(*read))
        check(
            f"of {count_lines(self.prices)} prices, the last one of each stock is left: {', '.join(kept)}", kept == last
        )

    def kill_and_restart(self) -> None:
        before = self.broker.addresses
        ports = ("--port", self.broker.port("service_url"), "--http-port", self.broker.port("http_url"))
        self.broker.kill()
        self.broker = self.shell.start_broker("--data-dir", str(self.data_dir), *ports, *self.settings)
        self.shell.run("brokers", "healthcheck")
        check("the broker answers on the same ports", self.broker.addresses == before, self.broker.urls)

    def consume_rest(self) -> None:
        rest = self.shell.lines("consume", AIRPORTS, "-s", "desk", "-n", "0", "-e", "-F", "%k,%v\\n")
        wanted = sorted(self.airports.read_text().splitlines())
        check(f"the other {len(rest):,} airports are consumed", sorted([*self.first_half, *rest]) == wanted)
        check("each airport is consumed once: kill -9 lost no acknowledgment", self.backlog(AIRPORTS, "desk") == 0)

    def retention_ends(self) -> None:
        due = self.expired_at + RETENTION_SECONDS - time.monotonic()
        print(f"  the retention time ends in {max(0.0, due):.0f} s", flush=True)
        gone = wait_for("the end of retention", lambda: not self.ledger_files(), max(0.0, due) + SLACK_SECONDS)
        check("no file of the expired messages is left", gone)
        size = self.shell.json("topics", "stats", POSITIONS)["storageSize"]
        check(f"`topics stats` reports {size} bytes", size == 0)
        check("the broker stops cleanly", self.broker.stop() == 0)

    # -- state of the broker

    def backlog(self, topic: str, subscription: str, *, show: bool = True) -> int:
        verb = "partitioned-stats" if topic == AIRPORTS else "stats"
        stats = self.shell.json("topics", verb, topic, show=show)
        return int(stats["subscriptions"][subscription]["msgBacklog"])

    def ledger_files(self) -> dict[str, int]:
        """Names and sizes of the files with positions, including those of deleted ledgers."""
        log = self.shell.json("topics", "stats-internal", POSITIONS, show=False)
        self.ledger_ids.update(ledger["ledgerId"] for ledger in log["ledgers"])
        files = (self.data_dir / "ledgers").rglob("*.ledger")
        return {path.name: path.stat().st_size for path in files if int(path.stem) in self.ledger_ids}

    def within_retention(self) -> dict[str, int]:
        """The files with positions once one ledger less would be under the retention size, else an empty dict."""
        log = self.shell.json("topics", "stats-internal", POSITIONS, show=False)
        sizes = {ledger["ledgerId"]: ledger["size"] for ledger in log["ledgers"]}
        if log["totalSize"] - max(sizes.values(), default=0) >= RETENTION_BYTES:
            return {}
        files = self.ledger_files()
        return files if all(int(Path(name).stem) in sizes for name in files) else {}


def without_header(source: str, target: Path) -> Path:
    with open(source, newline="") as file, target.open("w", newline="") as out:
        rows = csv.reader(file)
        next(rows)
        csv.writer(out, lineterminator="\n").writerows(rows)
    return target


def count_lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def describe(files: dict[str, int]) -> str:
    return f"{len(files)} ledger files of {sum(files.values()):,} bytes"


def run(scratch: Path) -> list[tuple[str, float]]:
    """Runs all steps in order; returns how long each took."""
    demo = Demo(scratch)
    steps: list[tuple[str, Callable[[], None]]] = [
        ("start a broker", demo.start),
        ("create a tenant, a namespace, and a partitioned topic", demo.create),
        ("publish a file", demo.produce),
        ("consume half of it", demo.consume_half),
        ("expire messages, retain one megabyte for a minute", demo.expire_and_retain),
        ("report the backlog", demo.report_backlog),
        ("offload a topic to a directory", demo.offload),
        ("query the offloaded topic", demo.query),
        ("compact a topic to the last message of each key", demo.compact),
        ("kill the broker and restart it", demo.kill_and_restart),
        ("consume the rest", demo.consume_rest),
        ("wait for the end of the retention", demo.retention_ends),
    ]
    took = []
    try:
        for number, (title, step) in enumerate(steps, 1):
            print(f"\n{number}. {title}", flush=True)
            started = time.monotonic()
            step()
            took.append((title, time.monotonic() - started))
    finally:
        if hasattr(demo, "broker"):
            demo.broker.stop()
    return took


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pulsarctl-demo-") as scratch:
        try:
            took = run(Path(scratch))
        except DemoFailed as failure:
            print(f"\nFAILED: {failure}", file=sys.stderr)
            return 1
    print()
    for title, seconds in took:
        print(f"{seconds:6.1f} s  {title}")
    print(f"{sum(seconds for _, seconds in took):6.1f} s  total")
    return 0


if __name__ == "__main__":
    sys.exit(main())
