"""One abusive run: a live broker, a well-behaved client, three attackers, and the result."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.abuse.attackers import Attack
from tests.abuse.monitor import LONGEST_LINE, Log, Stall, peak_mb, read_log, resident_mb, stalls
from tests.abuse.probed_broker import COMMAND
from tests.abuse.tally import SHOWN, Tally
from tests.broker_process import BrokerProcess
from tests.soak.client_process import ClientProcess

STALL_SECONDS = 0.05
WARM_UP_SHARE = 0.2
GROWTH_MB = 100.0
SETTLE_SECONDS = 30.0
LOOK_SECONDS = 1.0


@dataclass
class Report:
    """`stall_seconds`: the longest time for which the event loop may be blocked."""

    tally: Tally
    stall_seconds: float = STALL_SECONDS
    seconds: float = 0.0
    memory: tuple[float, float, float] = (0.0, 0.0, 0.0)  # MB before, after, and at most
    log: Log = field(default_factory=lambda: Log(0, 0, 0, ""))
    stalls: list[Stall] = field(default_factory=list)
    client: dict[str, Any] = field(default_factory=dict)

    @property
    def longest(self) -> float:
        return max((stall.own for stall in self.stalls), default=0.0)

    def failures(self) -> list[str]:
        """One sentence for each failure."""
        found = [f"{sentence} ({count} times)" for sentence, count in self.tally.failures.most_common(SHOWN)]
        if self.log.tracebacks:
            found.append(f"{self.log.tracebacks} tracebacks in the log, the first:\n{self.log.first_traceback}")
        if self.log.longest > LONGEST_LINE:
            found.append(f"a line of {self.log.longest} characters in the log")
        found += self._stalled()
        before, after, _ = self.memory
        if after > before + GROWTH_MB:
            found.append(f"memory went from {before:.0f} to {after:.0f} MB")
        if self.client["wrong"] or self.client["failure"] or not self.client["received"]:
            found.append(f"the well-behaved client: {self.client}")
        return found

    def _stalled(self) -> list[str]:
        """The longest stall at each place in the code, with the inputs in progress."""
        worst: dict[str, Stall] = {}
        counts: Counter[str] = Counter()
        for stall in sorted(self.stalls, key=lambda one: one.own):
            if stall.own >= self.stall_seconds:
                where = stall.stack[-1] if stall.stack else "unseen"
                worst[where], counts[where] = stall, counts[where] + 1
        return [
            f"the loop stood still {counts[where]} times, for up to {stall.own * 1000:.0f} ms "
            f"(CPU {stall.cpu * 1000:.0f} ms) in {' < '.join(reversed(stall.stack[-6:]))}, during "
            f"{self.tally.under_way(stall.began, stall.ended)[:6]}"
            for where, stall in worst.items()
        ]

    def __str__(self) -> str:
        before, after, most = self.memory
        inputs = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.tally.inputs.items()))
        wrong = sum(count for status, count in self.tally.statuses.items() if status == 500)
        return (
            f"{sum(self.tally.inputs.values()):,} hostile inputs ({inputs}) in {self.seconds:.0f} s, "
            f"{self.tally.left_out:,} known ones left out\n"
            f"answers 500: {wrong}, tracebacks: {self.log.tracebacks}, lines in the log: {self.log.lines:,} "
            f"(longest {self.log.longest})\n"
            f"longest stall of the loop: {self.longest * 1000:.0f} ms, "
            f"over {STALL_SECONDS * 1000:.0f} ms: {sum(one.own >= STALL_SECONDS for one in self.stalls)}\n"
            f"memory: {before:.0f} MB before, {after:.0f} MB after, {most:.0f} MB at most\n"
            f"well-behaved client: {self.client.get('received', 0):,} messages, {self.client.get('wrong', 0)} lost or "
            f"out of order, slowest {self.client.get('slowest', 0) * 1000:.0f} ms"
        )


def run(directory: Path, seconds: float, seed: int, stall_seconds: float = STALL_SECONDS) -> Report:
    stall_file = directory / "stalls"
    stall_file.touch()
    broker = BrokerProcess(directory / "data", program=(*COMMAND, str(stall_file)))
    report = Report(Tally(), stall_seconds)
    with broker:
        client = ClientProcess("tests.abuse.client", broker.service_url)
        try:
            _attack(broker, report, seconds, seed, client)
        finally:
            client.end()
        report.memory = (*report.memory[:2], peak_mb(broker.pid))
        report.log = read_log(broker.log_path)
    report.stalls = list(stalls(stall_file))
    return report


def _attack(broker: BrokerProcess, report: Report, seconds: float, seed: int, client: ClientProcess) -> None:
    """Memory is measured after a warm-up, since modules loaded on first use are not a leak."""
    attack = Attack(broker.service_url, broker.http_url, report.tally, seed)
    client.ask("report")
    started = time.monotonic()
    threads = attack.start()
    pause = threading.Event()
    pause.wait(seconds * WARM_UP_SHARE)
    before = _settled(broker.pid, seconds * WARM_UP_SHARE / 10)
    pause.wait(max(seconds - (time.monotonic() - started), 0))
    attack.stopped.set()
    for thread in threads:
        thread.join()
    report.seconds = time.monotonic() - started
    report.client = client.ask("report")
    deadline = time.monotonic() + SETTLE_SECONDS
    after = resident_mb(broker.pid)
    while after > before + GROWTH_MB and time.monotonic() < deadline:
        pause.wait(LOOK_SECONDS)
        after = resident_mb(broker.pid)
    report.memory = (before, after, 0.0)


def _settled(pid: int, seconds: float) -> float:
    """The minimum within that time, so that requests in progress do not count."""
    least, deadline = resident_mb(pid), time.monotonic() + seconds
    while time.monotonic() < deadline:
        threading.Event().wait(min(LOOK_SECONDS, seconds))
        least = min(least, resident_mb(pid))
    return least
