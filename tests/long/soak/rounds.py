"""One round: load, kill -9, restart, and reading back all acknowledged messages in order."""

import contextlib
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulsar

from tests.long.soak.broker_events import rolled_ledgers, watch_checkpoints
from tests.long.soak.client_process import ClientProcess
from tests.long.soak.policy_changer import POLICIES, Http, stored_value
from tests.long.soak.sequence import Sequence, number_of
from tests.long.soak.writer import KINDS
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.official_client import connect

LEDGER_ENTRIES = 1000
SETTINGS = (f"managedLedgerMaxEntriesPerLedger={LEDGER_ENTRIES}", "flushInterval=1000", "journalMaxSizeMB=8")
LOAD_SECONDS = (0.2, 1.6)
RECOVERY_KILL_SECONDS = (0.0, 0.3)
RECOVERY_KILL_EVERY = 5
CATCH_UP_SECONDS = 30.0
READ_MS = 10_000
# A crash may lose a second of acknowledgments, and the client collects them for 0.1 s before it sends them.
FORGETTABLE_SECONDS = 1.0 + 0.1 + 0.4


@dataclass
class Tally:
    rounds: int = 0
    messages: int = 0
    payload_bytes: int = 0
    rolls: int = 0
    checkpoints: int = 0
    recovery_kills: int = 0
    lost: int = 0
    out_of_order: int = 0
    refused: int = 0
    acks_forgotten: int = 0
    redelivered: int = 0
    policy_changes: int = 0
    policies_lost: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.messages:,} messages ({self.payload_bytes / 1e6:,.1f} MB), "
            f"{self.rolls:,} rolls, {self.checkpoints:,} checkpoints, {self.recovery_kills} kills during recovery, "
            f"{self.lost} acknowledged lost, {self.out_of_order} out of order, {self.refused} refused, "
            f"{self.acks_forgotten} acknowledgements forgotten after their second ({self.redelivered:,} within it), "
            f"{self.policy_changes:,} changes of policies, {self.policies_lost} undone"
        )

    @property
    def ok(self) -> bool:
        return not (
            self.failures or self.lost or self.out_of_order or self.refused or self.acks_forgotten or self.policies_lost
        )


class Soak:
    """The broker, three writers, an acknowledging consumer, and a policy changer, each in a separate process."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS).start()
        url = self._broker.service_url
        self._writers = {kind: ClientProcess("tests.long.soak.writer", url, kind, kind) for kind in KINDS}
        self._acknowledger = ClientProcess("tests.long.soak.acknowledger", url, *KINDS)
        self._acknowledger.ask("report")
        self._changer = ClientProcess("tests.long.soak.policy_changer", self._broker.http_url)
        self._changer.ask("stop")  # answers when its namespace and topic exist
        self._known_policies: dict[str, int | None] = {}  # after the last round
        # By topic: the first number that is not read back yet, and the last message that is.
        self._verified: dict[str, tuple[int, pulsar.MessageId]] = dict.fromkeys(KINDS, (0, pulsar.MessageId.earliest))
        self._client = connect(url)
        for kind in KINDS:
            self._client.subscribe(kind, "keep").close()  # nothing is trimmed, so all can be read at the end

    def round(self) -> None:
        killed_at = self._load_and_kill()
        self._restart()
        results = {kind: writer.ask("stop") for kind, writer in self._writers.items()}
        self._count(results)
        self._judge_policies(self._changer.ask("stop"))
        for kind, result in results.items():
            self._verified[kind] = self._read_back(kind, *self._verified[kind], result["acknowledged"])
        self._await_consumer(results, killed_at)
        self._acknowledger.tell("round")

    def _load_and_kill(self) -> float:
        for writer in self._writers.values():
            writer.tell("go")
        self._changer.tell("go")
        journal = self._broker.data_dir / "journal"
        self.tally.checkpoints += watch_checkpoints(journal, self._chance.uniform(*LOAD_SECONDS))
        self._broker.kill()
        return time.time()

    def _restart(self) -> None:
        self.tally.rounds += 1
        if self.tally.rounds % RECOVERY_KILL_EVERY == 0:
            self._broker.start(wait=False)
            time.sleep(self._chance.uniform(*RECOVERY_KILL_SECONDS))  # killed at a random moment of its recovery
            self.tally.recovery_kills += not self._broker.is_ready()
            self._broker.kill()
        self._broker.start()
        if (self._broker.data_dir / "DAMAGE").exists():  # a torn tail is not damage
            self._fail("damage is reported after a kill")

    def _judge_policies(self, report: dict[str, Any]) -> None:
        """Each policy has its last acknowledged value, or the one that was pending when the broker was killed."""
        if report["refused"]:
            self._fail(f"{report['refused']} changes of policies were refused")
        with contextlib.closing(Http(self._broker.http_url)) as broker:
            for path in POLICIES:
                self._judge_policy(path, stored_value(broker, path), report)
        self.tally.policy_changes = max([self.tally.policy_changes, *report["acknowledged"].values()])

    def _judge_policy(self, path: str, found: int | None, report: dict[str, Any]) -> None:
        expected = report["acknowledged"].get(path, self._known_policies.get(path))
        if found not in (expected, report["pending"].get(path)):
            self.tally.policies_lost += 1
            self._fail(f"{path} is {found}, acknowledged was {expected}")
        self._known_policies[path] = found

    def _count(self, results: dict[str, Any]) -> None:
        self.tally.messages = sum(result["acknowledged"] for result in results.values())
        self.tally.payload_bytes = sum(result["bytes"] for result in results.values())
        self.tally.refused = sum(result["refused"] for result in results.values())
        self.tally.rolls = sum(rolled_ledgers(self._broker.http_url, kind, LEDGER_ENTRIES) for kind in results)

    def _read_back(
        self, topic: str, number: int, after: pulsar.MessageId, acknowledged: int
    ) -> tuple[int, pulsar.MessageId]:
        """Reads from after `after` to the end; all numbers from `number` to `acknowledged` must be there."""
        sequence = Sequence(number)
        reader = self._client.create_reader(topic, after)
        while reader.has_message_available():
            message = reader.read_next(READ_MS)
            sequence.see(number_of(message.data()))
            after = message.message_id()
        reader.close()
        self._judge(f"read back of {topic}", sequence, acknowledged)
        return max(acknowledged, sequence.following), after

    def _judge(self, what: str, sequence: Sequence, acknowledged: int) -> None:
        lost = max(0, acknowledged - sequence.following)
        if lost or sequence.gaps:
            self._fail(f"{what}: {lost} missing at the end, {sequence.gaps} gaps")
        self.tally.lost += lost
        self.tally.out_of_order += sequence.gaps

    def _await_consumer(self, results: dict[str, Any], killed_at: float) -> None:
        """The consumer gets all messages too, and none again that it acknowledged long before the kill."""
        gaps, report, behind = self.tally.out_of_order, {}, {}

        def has_caught_up() -> bool:
            nonlocal report, behind
            report = self._acknowledger.ask("report")
            self._judge_redelivered(report["forgotten"], killed_at)
            following = report["following"]
            wanted = {kind: result["acknowledged"] for kind, result in results.items()}
            behind = {kind: count - following[kind] for kind, count in wanted.items() if following[kind] < count}
            return not behind

        if not holds_within(has_caught_up, CATCH_UP_SECONDS):
            self.tally.lost += sum(behind.values())
            self._fail(f"the consumer never got: {behind}")
        if report["gaps"] > gaps:
            self.tally.out_of_order = report["gaps"]
            self._fail(f"the consumer saw {report['gaps']} gaps")

    def _judge_redelivered(self, acknowledged_at: list[float], killed_at: float) -> None:
        late = sum(moment < killed_at - FORGETTABLE_SECONDS for moment in acknowledged_at)
        self.tally.redelivered += len(acknowledged_at) - late
        self.tally.acks_forgotten += late
        if late:
            self._fail(f"{late} messages came again long after they were acknowledged")

    def _fail(self, what: str) -> None:
        self.tally.failures.append(f"round {self.tally.rounds}: {what}")

    def read_everything(self) -> None:
        """All topics once more from their first message to their last."""
        for kind, (number, _) in self._verified.items():
            self._read_back(kind, 0, pulsar.MessageId.earliest, number)

    def close(self) -> None:
        for process in (*self._writers.values(), self._acknowledger, self._changer):
            process.end()
        self._client.close()
        self._broker.stop()
