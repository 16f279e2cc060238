"""A trial: damages a copy, starts a broker on it, reads everything with every subscription, and judges the result."""

import asyncio
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.broker import Broker
from broker_core.errors import BrokerError
from broker_core.storage.errors import DamageReport, Lost, StorageError
from broker_core.storage.repair.inspection.check import find_damage
from tests.long.damage.content import Content, read_content
from tests.long.damage.injury import Injury, injure
from tests.long.damage.load import CONFIG, NAMESPACE, TOPICS, Sample

STARTS = 2  # the second start has no journal that could say what is lost
DEADLINE_SECONDS = 60.0


@dataclass
class Verdict:
    injury: Injury
    refused: str = ""
    lost: int = 0  # entries that were not served but reported
    wrong: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.wrong or self.silent or self.tracebacks)

    def __str__(self) -> str:
        faults = [*self.wrong, *self.silent, *self.tracebacks]
        return f"{self.injury.file}, {self.injury.what}: {'; '.join(faults) or self.refused or f'{self.lost} lost'}"


class Tracebacks(logging.Handler):
    """Collects what was logged with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.found.append(f"traceback logged: {record.getMessage()}")


def be_quiet() -> None:
    """Hides the brokers' log lines about damage."""
    logging.lastResort = None


def seeded_trial(sample: Sample, scratch: Path, seed: int) -> tuple[int, str, Verdict]:
    return seed, sample.name, run_trial(sample, scratch, seed)


def run_trial(sample: Sample, scratch: Path, seed: int) -> Verdict:
    shutil.copytree(sample.directory, scratch)
    try:
        verdict = Verdict(injure(scratch, seed))
        handler = Tracebacks()
        logging.getLogger().addHandler(handler)
        try:
            for _ in range(STARTS):
                judge(verdict, sample.content, scratch)
        finally:
            logging.getLogger().removeHandler(handler)
        verdict.tracebacks += handler.found
        return verdict
    finally:
        shutil.rmtree(scratch)


def judge(verdict: Verdict, promised: Content, directory: Path) -> None:
    try:
        found, reports = asyncio.run(read_everything(directory))
    except (StorageError, BrokerError) as refusal:
        verdict.refused = f"refused: {refusal}"
        if "\n" in str(refusal):
            verdict.tracebacks.append(f"not one sentence: {refusal}")
        return
    except Exception as error:
        verdict.tracebacks.append(repr(error))
        return
    compare(verdict, promised, found, reports)
    if reports and not find_damage(directory):
        verdict.silent.append("storage check says nothing")


async def read_everything(directory: Path) -> tuple[Content, list[DamageReport]]:
    broker = Broker(CONFIG)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await broker.start(directory)
        try:
            found = await read_content(broker, [topic for topic in TOPICS if exists(broker, topic)], NAMESPACE)
            return found, broker.storage.damage.open
        finally:
            await broker.stop()


def exists(broker: Broker, topic: str) -> bool:
    return broker.storage.exists(topic.replace("persistent://", "").replace("/default/", "/default/persistent/"))


def compare(verdict: Verdict, promised: Content, found: Content, reports: list[DamageReport]) -> None:
    named = [report.lost for report in reports if report.lost is not None]
    # The content of a damaged journal is not always known. Then its place is reported, and not every position.
    vague = any(report.lost is None and report.path.suffix != ".ledger" for report in reports)
    known = {position: crc for entries in promised.entries.values() for position, crc in entries.items()}
    for reader, entries in found.entries.items():
        wrong = [position for position, crc in entries.items() if known.get(position, crc) != crc]
        if wrong:
            verdict.wrong.append(f"{reader} got other bytes at {wrong[0]}")
    for reader, entries in promised.entries.items():
        missing = set(entries) - set(found.entries.get(reader, ()))
        silent = sorted(position for position in missing if not vague and not is_named(position, named))
        verdict.lost = max(verdict.lost, len(missing))
        if silent:
            verdict.silent.append(f"{reader} lacks {len(silent)} entries, first {silent[0]}")
    if found.policies != promised.policies and not reports:
        verdict.silent.append(f"policies are {found.policies}")
    verdict.silent += [] if reports else found.unread


def is_named(position: tuple[int, int], named: list[Lost]) -> bool:
    return any(lost.ledger_id == position[0] and lost.first <= position[1] <= lost.last for lost in named)
