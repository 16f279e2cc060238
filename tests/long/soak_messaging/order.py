"""The order of Key_Shared under load while consumers join and leave: `python -m tests.long.soak_messaging.order`.

Eight consumers, each an official client in a separate process, acknowledge within half a second and nack one message in
ten. They leave, half of them by SIGKILL, and others join, a few times between pauses. For each way of dividing keys,
with and without batches by key: no key is out of order, no message is lost, no key is with two consumers, and no key
stalls for two seconds.
`--mutant` runs a broker that does not wait for a key's old consumer; the checker must detect it.

Prints a line for each run and exits with 0 if all are clean (with `--mutant`: if none is).
"""

import argparse
import itertools
import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pulsar

from tests.long.bench.procfs import cpu_seconds, peak_resident_mb
from tests.long.soak_messaging.key_consumer import NUMBER
from tests.long.soak_messaging.key_events import Load, OrderCheck, Verdict
from tests.long.soak_messaging.key_group import Group
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.official_client import connect

MODES = {
    "ring": ("subscriptionKeySharedUseConsistentHashing=true",),
    "split": ("subscriptionKeySharedUseConsistentHashing=false",),
    "sticky": (),
}
UNDRAINED = (sys.executable, "-m", "tests.long.soak_messaging.undrained_broker")
PAYLOAD_SIZE = 100
BATCH_MESSAGES = 100
TALLY_SECONDS = 0.02
CATCH_UP_SECONDS = 60.0
MOVES_AT_A_TIME = 5
PAUSE_SECONDS = 6.0  # after these moves, so that a key that stalls is told from one that moves


@dataclass(frozen=True)
class Plan:
    """One run. `window` is the maximum number of unacknowledged messages. With 0 for `delay_ms` and `give_back`, and
    with fixed consumers, it measures speed."""

    mode: str
    batching: bool
    messages: int
    keys: int = 10_000
    consumers: int = 8
    delay_ms: int = 500
    give_back: float = 0.1
    move_seconds: tuple[float, float] | None = (0.3, 1.5)  # between two moves of consumers; None: no moves
    mutant: bool = False
    window: int = 10_000
    stall_seconds: float = 2.0
    seed: int = 1

    def __str__(self) -> str:
        batches = "batches by key" if self.batching else "no batches"
        return f"{self.mode}, {batches}, {self.messages} messages of {self.keys} keys"


class Publisher:
    """Publishes the messages of a plan; each carries its number, and the load records its content."""

    def __init__(self, client: pulsar.Client, topic: str, plan: Plan) -> None:
        self.load = Load()
        self._plan = plan
        self._random = random.Random(plan.seed)
        self._counts: dict[int, int] = defaultdict(int)
        self._producer = client.create_producer(
            topic,
            block_if_queue_full=True,
            max_pending_messages=5000,
            batching_enabled=plan.batching,
            batching_type=pulsar.BatchingType.KeyBased,
            batching_max_messages=BATCH_MESSAGES,
        )
        self.refused = 0

    def publish(self, count: int) -> None:
        for _ in range(count):
            key = self._random.randrange(self._plan.keys)
            number = len(self.load.keys)
            self.load.keys.append(key)
            self.load.sequence.append(self._counts[key])
            self._counts[key] += 1
            self.load.published.append(time.monotonic())
            payload = NUMBER.pack(number).ljust(PAYLOAD_SIZE, b".")
            self._producer.send_async(payload, self._sent, partition_key=str(key))

    def _sent(self, result: pulsar.Result, message_id: object) -> None:
        if result != pulsar.Result.Ok:
            self.refused += 1

    def flush(self) -> None:
        self._producer.flush()


def run(plan: Plan, folder: Path) -> Verdict:
    """Raises AssertionError if the plan does not produce what it is meant to test."""
    program = UNDRAINED if plan.mutant else (str(PULSARCTL), "standalone")
    with BrokerProcess(folder / "data", *MODES[plan.mode], program=program) as broker:
        started = cpu_seconds(broker.pid)
        verdict = _run(plan, folder, broker.service_url)
        verdict.broker_us = (cpu_seconds(broker.pid) - started) * 1e6 / plan.messages
        verdict.broker_mb = peak_resident_mb(broker.pid)
        return verdict


def _run(plan: Plan, folder: Path, url: str) -> Verdict:
    topic = "persistent://public/default/order"
    options = ("--delay-ms", str(plan.delay_ms), "--give-back", str(plan.give_back))
    client = connect(url)
    publisher = Publisher(client, topic, plan)
    with Group(
        url,
        topic,
        folder,
        places=plan.consumers,
        sticky=plan.mode == "sticky",
        options=options,
        seed=plan.seed,
    ) as group:
        _drive(plan, publisher, group)
        assert not publisher.refused, f"{publisher.refused} messages were refused"
        events = group.events()
    client.close()
    check = OrderCheck(publisher.load, reach=BATCH_MESSAGES if plan.batching else 0, stall_seconds=plan.stall_seconds)
    return check.run(events)


def _drive(plan: Plan, publisher: Publisher, group: Group) -> None:
    """Publishes as fast as acknowledgments arrive, moves consumers, and waits until everything is acknowledged."""
    chance = random.Random(plan.seed)
    acknowledged: set[int] = set()
    moves = 0
    started = progress = time.monotonic()
    next_move = started + chance.uniform(*plan.move_seconds) if plan.move_seconds else math.inf
    while len(acknowledged) < plan.messages and time.monotonic() - progress < CATCH_UP_SECONDS:
        published = len(publisher.load.keys)
        room = min(plan.window - (published - len(acknowledged)), plan.messages - published, 1000)
        if room > 0:
            publisher.publish(room)
            if published + room == plan.messages:
                publisher.flush()
        else:
            time.sleep(TALLY_SECONDS)  # consumers are moved at random times, whether or not they acknowledge
        new = group.newly_acknowledged() - acknowledged
        if new:
            acknowledged |= new
            progress = time.monotonic()
        if plan.move_seconds and time.monotonic() > next_move and published < plan.messages:
            group.move()
            moves += 1
            pause = 0.0 if moves % MOVES_AT_A_TIME else PAUSE_SECONDS
            next_move = time.monotonic() + pause + chance.uniform(*plan.move_seconds)


def plans(options: argparse.Namespace) -> Iterator[Plan]:
    modes = list(MODES) if options.mode == "all" else [options.mode]
    batching = {"on": [True], "off": [False], "both": [False, True]}[options.batching]
    for mode, batches in itertools.product(modes, batching):
        if options.speed:
            yield Plan(mode, batches, options.messages, options.keys, delay_ms=0, give_back=0, move_seconds=None)
        else:
            yield Plan(mode, batches, options.messages, options.keys, mutant=options.mutant, seed=options.seed)


def report(plan: Plan, verdict: Verdict) -> None:
    print(
        f"{plan}: {verdict.rate:,.0f} msg/s, {verdict.deliveries} deliveries, {verdict.given_back} given back; "
        f"broker {verdict.broker_us:.0f} us/msg, {verdict.broker_mb:.0f} MB"
    )
    print(
        f"  out of order {verdict.out_of_order}, two owners {verdict.two_owners}, lost {verdict.lost}, "
        f"stalled {verdict.stalled} (longest wait {verdict.longest_wait:.2f} s)"
    )
    for example in verdict.examples:
        print(f"  {example}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--mode", choices=[*MODES, "all"], default="all")
    parser.add_argument("--batching", choices=["on", "off", "both"], default="both")
    parser.add_argument("--speed", action="store_true", help="no delays, no nacks, fixed consumers")
    parser.add_argument("--mutant", action="store_true", help="a broker that does not drain, and must be found out")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    wrong = 0
    for plan in plans(options):
        with tempfile.TemporaryDirectory(prefix="order-") as folder:
            verdict = run(plan, Path(folder))
        report(plan, verdict)
        wrong += verdict.is_clean == options.mutant
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
