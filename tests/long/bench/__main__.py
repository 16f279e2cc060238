"""`make bench`: one table with the machine and the medians.

Every round runs every row against each broker in turn, so that other load on the machine affects both. With a peer,
the first round is dropped: a JVM is up to four times slower until it is warm.
"""

import argparse
import json
import statistics
import sys
from functools import partial
from pathlib import Path

from tests.long.bench import standing
from tests.long.bench.brokers import Broker, ours, running, scratch_dir
from tests.long.bench.load import Result
from tests.long.bench.procfs import machine, resident_mb
from tests.long.bench.rest import have_rest
from tests.long.bench.rows import BY_NAME, ROWS, Row, RowSkipped, RunFailed, measure
from tests.long.bench.syncs import count_syncs, fdatasync_ms
from tests.long.bench.table import aligned
from tests.support.broker_process import BrokerProcess

COUNTED_SYNCS = ("sync", "fan-in")
STANDING = (
    "start",
    "idle",
    "idle-loaded",
    "many-topics",
    "console",
    "beside",
    "delayed",
    "delivery-times",
    "unacked",
    "seek",
    "recovery",
    "commands",
    "lines",
    "backlog",
    "backlog-large",
    "tables",
    "offload",
    "state",
    "proxy",
    "proxy-crowd",
    "secured",
    "transactions",
    "segments",
)


def main() -> int:
    options = parse()
    options.dir.mkdir(parents=True, exist_ok=True)
    print(f"machine: {machine()}")
    print(f"disk: fdatasync of a 200-byte append takes {fdatasync_ms(options.dir):.3f} ms in {options.dir}")
    rows = [row for row in ROWS if not options.row or row.name in options.row]
    if rows and options.ours:
        measure_speed(rows, running("pulsarctl", options.ours), options)
    elif rows:
        with BrokerProcess(scratch_dir(options.dir, "bench")) as process:
            measure_speed(rows, ours(process), options)
    for figure in STANDING:
        if not options.row or figure in options.row:
            print(standing.FIGURES[figure](options.dir), flush=True)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--row", action="append", choices=[*BY_NAME, *STANDING], help="this row only; repeatable")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count")
    parser.add_argument("--ours", metavar="URL", help="measure this running broker instead of starting one")
    parser.add_argument("--peer", metavar="URL", help="another broker, for the same load in the same rounds")
    parser.add_argument("--peer-pid", type=int, help="its process; found by its port when on this machine")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of messages")
    parser.add_argument("--dir", type=Path, default=Path("build/bench"), help="where our data directories go")
    parser.add_argument("--json", type=Path, help="every run, for a closer look")
    return parser.parse_args()


def measure_speed(rows: list[Row], broker: Broker, options: argparse.Namespace) -> None:
    brokers = [broker] + ([running("peer", options.peer, options.peer_pid)] if options.peer else [])
    runs = run_rounds(rows, brokers, options)
    print(speed_table(rows, brokers, runs), end="\n\n", flush=True)
    print_memory(brokers)
    print_syncs([row for row in rows if row.name in COUNTED_SYNCS], brokers, options.scale)
    if options.json:
        options.json.write_text(json.dumps(runs, indent=1))


Runs = dict[str, dict[str, list[Result]]]  # row name -> broker name -> one result per counted round


def run_rounds(rows: list[Row], brokers: list[Broker], options: argparse.Namespace) -> Runs:
    dropped = 1 if len(brokers) > 1 else 0
    runs: Runs = {}
    for number in range(options.rounds + dropped):
        for row in with_sources(rows):
            for broker in brokers:
                round_id = f"{number}-{process_tag(brokers)}"
                try:
                    found = measure(row, broker, round_id, scale=options.scale)
                except RowSkipped as skipped:
                    print(f"skipped: {row.title}: {skipped}", file=sys.stderr)
                    continue
                except RunFailed as failed:
                    print(f"failed and left out: {row.title}, {broker.name}: {failed}", file=sys.stderr)
                    continue
                rate = f"{found['msg_s']:,.0f} msg/s"
                print(f"round {number}: {row.name} {broker.name}: {rate}", file=sys.stderr)
                if number >= dropped:
                    runs.setdefault(row.name, {}).setdefault(broker.name, []).append(found)
    return runs


def with_sources(rows: list[Row]) -> list[Row]:
    """The rows, plus those whose topics they read, in the order of the table."""
    wanted = {row.name for row in rows} | {row.after for row in rows if row.after}
    return [row for row in ROWS if row.name in wanted]


def process_tag(brokers: list[Broker]) -> str:
    """A prefix that separates the topics of this run from those that an earlier one left on the peer."""
    return str(brokers[0].pid)


def speed_table(rows: list[Row], brokers: list[Broker], runs: Runs) -> str:
    lines = []
    for row in rows:
        for broker in brokers:
            found = runs.get(row.name, {}).get(broker.name, [])
            if found:
                lines.append([row.title, broker.name, *figures(found), str(len(found))])
    return aligned(["load", "broker", "msg/s", "CPU us/msg", "client us/msg", "p50 ms", "p99 ms", "runs"], lines)


def figures(found: list[Result]) -> list[str]:
    """The medians over the runs, one cell each; `-` for values that the row does not measure."""
    cells = []
    for key, form in (
        ("msg_s", ",.0f"),
        ("broker_us", ".1f"),
        ("client_us", ".1f"),
        ("p50_ms", ".2f"),
        ("p99_ms", ".2f"),
    ):
        values = [result[key] for result in found if key in result]
        cells.append(format(statistics.median(values), form) if values else "-")
    return cells


def print_memory(brokers: list[Broker]) -> None:
    """Right after the loads, and at rest, when a broker has returned what it freed."""
    loaded = {broker.name: (broker.pid, resident_mb(broker.pid)) for broker in brokers if broker.pid}
    if loaded:
        have_rest()
    for name, (pid, before) in loaded.items():
        print(f"memory after these loads, {name}: {before:.0f} MB resident, {resident_mb(pid):.0f} MB after a rest")


def print_syncs(rows: list[Row], brokers: list[Broker], scale: float) -> None:
    """A separate run under strace, whose speed does not count."""
    for row in rows:
        for broker in brokers:
            messages = int(row.shape["count"] * scale) + row.shape.get("warmup", 0)
            load = partial(measure, row, broker, f"syncs-{broker.pid}", scale=scale)
            counted = count_syncs(broker.pid, load) if broker.pid else None
            figure = "not counted: needs strace and the broker's process"
            if counted is not None:
                figure = f"{counted:,} for {messages:,} messages"
            print(f"syncs, {row.title}, {broker.name}: {figure}")


if __name__ == "__main__":
    sys.exit(main())
