"""Export, diff, and apply of 1,000 namespaces with 10,000 topics: time and memory of each command.

The processor time of the command and of the broker says what a busy machine hides.
"""

import os
import subprocess
from pathlib import Path
from time import monotonic

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.support.broker_process import PULSARCTL, BrokerProcess

NAMESPACES, TOPICS = 1_000, 10_000


def declared_state(directory: Path) -> str:
    state, exported, nothing = (directory / f"state-{name}.yaml" for name in ("wanted", "exported", "nothing"))
    state.write_text("\n".join(document()))
    nothing.write_text("scope: [shop]")
    with BrokerProcess(scratch_dir(directory, "declared-state")) as process:
        steps = [
            f"apply {timed(process, 'apply', '-f', str(state))}",
            f"diff {timed(process, 'diff', '-f', str(state))}",
            f"diff --prune {timed(process, 'diff', '-f', str(state), '--prune')}",
            f"export {timed(process, 'export', into=exported)}",
            f"diff --prune of the export {timed(process, 'diff', '-f', str(exported), '--prune')}",
            f"apply --prune of nothing {timed(process, 'apply', '-f', str(nothing), '--prune', '--yes')}",
        ]
        broker = resident_mb(process.pid)
    return f"{NAMESPACES:,} namespaces with {TOPICS:,} topics: {'; '.join(steps)}; broker {broker:.0f} MB"


def document() -> list[str]:
    """A policy and a role for each namespace; half of the topics with partitions, a policy, and a subscription."""
    lines = ["scope: [shop]", "tenants: {shop: {}}", "namespaces:"]
    for number in range(NAMESPACES):
        lines += [f"  shop/n{number}:", "    policies: {message-ttl: 7d}", "    permissions: {app: [produce, consume]}"]
    lines.append("topics:")
    for number in range(TOPICS):
        lines.append(f"  shop/n{number % NAMESPACES}/t{number}:")
        if number % 2:
            lines += ["    partitions: 2", "    policies: {max-producers: 10}", "    subscriptions: {billing: }"]
    return lines


def timed(process: BrokerProcess, *words: str, into: Path | None = None) -> str:
    """Times and peak memory of a command, which must find nothing wrong."""
    started, before = monotonic(), cpu_seconds(process.pid)
    with open(into or os.devnull, "wb") as out:
        command = subprocess.Popen([PULSARCTL, *words, "--admin-url", process.http_url, "--no-context"], stdout=out)
        _, status, usage = os.wait4(command.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, words
    own, brokers = usage.ru_utime + usage.ru_stime, cpu_seconds(process.pid) - before
    wall, memory = monotonic() - started, usage.ru_maxrss / 1024
    return f"{wall:.0f} s (processor {own:.0f} s, and {brokers:.0f} s of the broker), {memory:.0f} MB"
