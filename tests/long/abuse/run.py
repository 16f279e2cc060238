"""One abusive run: a live broker, a well-behaved client, three attackers, and the result."""

import contextlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.long.abuse.attackers import Attack
from tests.long.abuse.monitor import LONGEST_LINE, Log, WorstStalls, peak_mb, read_log, resident_mb
from tests.long.abuse.probed_broker import COMMAND
from tests.long.abuse.tally import SHOWN, Tally
from tests.long.soak.client_process import ClientProcess
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within

ALLOWED = "offloadAllowedStores=file:///dev/null"  # no request can create a directory
STALL_SECONDS = 0.05
WARM_UP_SHARE = 0.2
GROWTH_MB = 100.0
SETTLE_SECONDS = 30.0
LOOK_SECONDS = 1.0
LOAD_SECONDS = 30.0


@dataclass
class Report:
    tally: Tally
    stalls: WorstStalls
    seconds: float = 0.0
    memory: tuple[float, float, float] = (0.0, 0.0, 0.0)  # MB before, after, and at most
    log: Log = field(default_factory=lambda: Log(0, 0, "", ""))
    client: dict[str, Any] = field(default_factory=dict)

    def failures(self) -> list[str]:
        """One sentence for each failure."""
        found = [f"{sentence} ({count} times)" for sentence, count in self.tally.failures.most_common(SHOWN)]
        if self.log.tracebacks:
            found.append(f"{self.log.tracebacks} tracebacks in the log, the first:\n{self.log.first_traceback}")
        longest = self.log.longest_line
        if len(longest) > LONGEST_LINE:
            found.append(f"a line of {len(longest)} characters in the log: {longest[:LONGEST_LINE]}")
        found += self.stalls.sentences()
        before, after, _ = self.memory
        if after > before + GROWTH_MB:
            found.append(f"memory went from {before:.0f} to {after:.0f} MB")
        if self.client["wrong"] or self.client["failure"] or not self.client["received"]:
            found.append(f"the well-behaved client: {self.client}")
        return found

    def __str__(self) -> str:
        before, after, most = self.memory
        inputs = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.tally.inputs.items()))
        wrong = self.tally.statuses[500] - self.tally.expected_500
        return (
            f"{sum(self.tally.inputs.values()):,} hostile inputs ({inputs}) in {self.seconds:.0f} s, "
            f"{self.tally.left_out:,} known ones left out\n"
            f"answers 500: {wrong}, and {self.tally.expected_500} that Pulsar gives too; "
            f"tracebacks: {self.log.tracebacks}, lines in the log: {self.log.lines:,} "
            f"(longest {len(self.log.longest_line)})\n"
            f"longest stall of the loop: {self.stalls.longest * 1000:.0f} ms, "
            f"too long: {self.stalls.count}\n"
            f"memory: {before:.0f} MB before, {after:.0f} MB after, {most:.0f} MB at most\n"
            f"well-behaved client: {self.client.get('received', 0):,} messages, {self.client.get('wrong', 0)} lost or "
            f"out of order, slowest {self.client.get('slowest', 0) * 1000:.0f} ms"
        )


def run(directory: Path, seconds: float, seed: int, stall_seconds: float = STALL_SECONDS) -> Report:
    stall_file = directory / "stalls"
    stall_file.touch()
    broker = BrokerProcess(directory / "data", ALLOWED, program=(*COMMAND, str(stall_file)))
    report = Report(Tally(), WorstStalls(stall_seconds))
    with broker:
        client = ClientProcess("tests.long.abuse.client", broker.service_url)
        try:
            _attack(broker, report, seconds, seed, client, stall_file)
        finally:
            client.end()
        report.memory = (*report.memory[:2], peak_mb(broker.pid))
        report.log = read_log(broker.log_path)
    report.stalls.read(stall_file, report.tally)
    return report


def _attack(
    broker: BrokerProcess, report: Report, seconds: float, seed: int, client: ClientProcess, stall_file: Path
) -> None:
    """Memory is measured after a warm-up, since modules loaded on first use are not a leak."""
    attack = Attack(broker.service_url, broker.http_url, report.tally, seed)
    client.ask("report")
    _use_what_loads_late(broker.http_url)
    report.stalls.skip(stall_file)
    started = time.monotonic()
    threads = attack.start()

    def watch(until: float) -> None:
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)  # samples for a given time
            broker.check_running()
            report.stalls.read(stall_file, report.tally)

    try:
        watch(started + seconds * WARM_UP_SHARE)
        before = _settled(broker.pid, seconds * WARM_UP_SHARE / 10)
        watch(started + seconds)
    finally:
        attack.stopped.set()
        for thread in threads:
            thread.join()
    report.seconds = time.monotonic() - started
    report.client = client.ask("report")
    holds_within(lambda: resident_mb(broker.pid) <= before + GROWTH_MB, SETTLE_SECONDS, LOOK_SECONDS)
    report.memory = (before, resident_mb(broker.pid), 0.0)


def _use_what_loads_late(http_url: str) -> None:
    """Libraries that the broker loads at their first use, pyarrow above all, belong to the start."""
    nowhere = {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "file:///dev/null/nowhere"}
    for path, body in (("admin/v2/brokers/offload/audit", json.dumps(nowhere).encode()), ("openapi.json", None)):
        request = Request(f"{http_url}/{path}", body, {"Content-Type": "application/json"})
        with contextlib.suppress(HTTPError), urlopen(request, timeout=LOAD_SECONDS):
            pass


def _settled(pid: int, seconds: float) -> float:
    """The minimum within that time, so that requests in progress do not count."""
    least, deadline = resident_mb(pid), time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(min(LOOK_SECONDS, seconds))  # samples for a given time
        least = min(least, resident_mb(pid))
    return least
