"""Key_Shared through kill -9 of the broker: `python -m tests.long.soak_messaging.rebalance --rounds 50`.

Consumers join and leave under load, and every round kills and restarts the broker. Prints a report and exits with 0 if
no key was out of order or with two consumers, and no published message was lost. Unacknowledged messages arrive again
in order, as do those acknowledged within the second that a crash may lose.
"""

import random
import sys
import time
from pathlib import Path

from tests.long.soak_messaging.command_line import run_rounds
from tests.long.soak_messaging.key_events import BROKER_GONE, Event, OrderCheck, Verdict
from tests.long.soak_messaging.key_group import Group
from tests.long.soak_messaging.order import Plan, Publisher
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.official_client import connect

SETTINGS = ("brokerDeduplicationEnabled=true", "managedLedgerMaxEntriesPerLedger=5000", "flushInterval=1000")
LOAD_SECONDS = (0.3, 1.0)
PROGRESS_MESSAGES, PROGRESS_SECONDS = 500, 20.0  # acknowledged in a round before the broker may be killed
MOVE_EVERY = 3  # turns of the load
TURN_SECONDS = 0.05
TURN_MESSAGES = 300
CATCH_UP_SECONDS = 60.0
EVERYBODY = -1  # the clients that a kill affects


class Rebalancing:
    """A load on one topic, and the broker that is killed."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._plan = plan
        self._broker = BrokerProcess(folder / "data", *SETTINGS).start()
        self._client = connect(self._broker.service_url)
        topic = "persistent://public/default/rebalance"
        self._publisher = Publisher(self._client, topic, plan)
        self._group = Group(
            self._broker.service_url,
            topic,
            folder,
            places=plan.consumers,
            sticky=False,
            options=("--delay-ms", str(plan.delay_ms)),
            seed=plan.seed,
        )
        self._random = random.Random(plan.seed)
        self._acknowledged: set[int] = set()
        self._kills: list[Event] = []

    def run(self, rounds: int) -> Verdict:
        with self._group:
            for _ in range(rounds):
                self._load(self._random.uniform(*LOAD_SECONDS))
                self._kill()
            self._load(LOAD_SECONDS[0])
            self._catch_up()
            events = self._group.events() + self._kills
        self._client.close()
        self._broker.stop()
        assert not self._publisher.refused, f"{self._publisher.refused} messages were refused"
        check = OrderCheck(self._publisher.load, reach=0, stall_seconds=CATCH_UP_SECONDS)
        return check.run(events)

    def _load(self, seconds: float) -> None:
        """Waits for this time at least, and until all clients work again."""
        started, turn, before = time.monotonic(), 0, len(self._acknowledged)
        while (took := time.monotonic() - started) < seconds or len(self._acknowledged) < before + PROGRESS_MESSAGES:
            assert took < PROGRESS_SECONDS, "nothing is acknowledged any more"
            turn += 1
            self._acknowledged |= self._group.newly_acknowledged()
            if len(self._publisher.load.keys) - len(self._acknowledged) < self._plan.window:
                self._publisher.publish(TURN_MESSAGES)
            if turn % MOVE_EVERY == 0:
                self._group.move()
            time.sleep(TURN_SECONDS)  # paces the load

    def _kill(self) -> None:
        """Until it is ready, consumers may still take earlier deliveries; then they start over."""
        self._kills.append(Event(time.monotonic(), EVERYBODY, BROKER_GONE, 0))
        self._broker.kill()
        self._broker.start()
        self._kills.append(Event(time.monotonic(), EVERYBODY, BROKER_GONE, 0))

    def _catch_up(self) -> None:
        count = len(self._publisher.load.keys)

        def has_caught_up() -> bool:
            self._acknowledged |= self._group.newly_acknowledged()
            return len(self._acknowledged) >= count

        holds_within(has_caught_up, CATCH_UP_SECONDS)


def run(folder: Path, rounds: int, seed: int) -> Verdict:
    plan = Plan("ring", False, messages=0, keys=1000, consumers=6, delay_ms=0, give_back=0, window=3000, seed=seed)
    return Rebalancing(folder, plan).run(rounds)


def report(verdict: Verdict) -> str:
    counts = (
        f"{verdict.messages:,} messages, {verdict.deliveries - verdict.messages:,} came again, "
        f"out of order {verdict.out_of_order}, two owners {verdict.two_owners}, lost {verdict.lost}"
    )
    return "\n".join([counts, *(f"  {example}" for example in verdict.examples)])


def main() -> int:
    return run_rounds("rebalance", __doc__, run, held=lambda verdict: verdict.is_clean, report=report)


if __name__ == "__main__":
    sys.exit(main())
