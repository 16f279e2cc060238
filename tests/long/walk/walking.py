"""Runs every line with two tools on two brokers each; `Step` is what came of one line."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker_core.testing import EmbeddedBroker
from tests.long.real_pulsar.java_pulsar import JavaPulsar, jars, java_command
from tests.long.walk.answer import FILES
from tests.long.walk.lines import Line
from tests.long.walk.pulsar_admin import REQUEST_SECONDS, PulsarAdmin
from tests.support.every_store import EVERY_STORE
from tests.support.runner import Cli, Outcome

TOOL_VERSION = "4.0.8"
POM = Path(__file__).with_name("pom.xml")
LEDGER = re.compile(r"\{ledger:([^}]+)\}")
ANSWER_SECONDS = 30
ASKS = "confirmation required: "

Tool = Callable[["Place", Sequence[str]], Outcome]


@dataclass(frozen=True, slots=True)
class Place:
    """A broker that a tool runs its lines on."""

    http_url: str
    service_url: str

    def words(self, line: Line) -> list[str]:
        """The words of a line with the names of this broker."""
        names = {"{broker}": self.http_url.removeprefix("http://"), "{files}": str(FILES)}
        words = line.words
        for name, value in names.items():
            words = [word.replace(name, value) for word in words]
        return [LEDGER.sub(lambda found: str(self._ledger(found[1])), word) for word in words]

    def _ledger(self, topic: str) -> int:
        url = f"{self.http_url}/admin/v2/persistent/{topic}/internalStats"
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
            return int(json.load(answer)["lastConfirmedEntry"].partition(":")[0])


@dataclass(frozen=True, slots=True)
class Pair:
    """The outcomes of one tool on both brokers."""

    pulsar: Outcome
    here: Outcome

    @classmethod
    def read(cls, kept: dict[str, dict[str, Any]]) -> Pair:
        return cls(Outcome(**kept["pulsar"]), Outcome(**kept["here"]))


def walk(lines: Sequence[Line], folder: Path) -> Iterator[tuple[str, Line, Pair]]:
    """Yields "admin" (pulsar-admin) or "ours" (`pulsarctl`), a line, and what it said.

    Each tool has two brokers that no other tool has changed.
    """
    with PulsarAdmin(
        java_command(), jars(f"pulsar-client-tools-{TOOL_VERSION}", POM), folder / "pulsar-admin.log"
    ) as admin:
        yield from _with("admin", lambda place, words: admin(place.http_url, *words), lines, folder)
    yield from _with("ours", lambda place, words: _with_consent(_cli(folder, place), words), lines, folder)


def _with(name: str, tool: Tool, lines: Sequence[Line], folder: Path) -> Iterator[tuple[str, Line, Pair]]:
    data = folder / name
    data.mkdir()
    broker = JavaPulsar(data)
    broker.start()
    try:
        with EmbeddedBroker(config=EVERY_STORE) as ours:
            places = (Place(broker.http_url, broker.service_url), Place(ours.http_url, ours.service_url))
            for line in lines:
                if line.prepares:
                    _prepare(line, places, folder)
                else:
                    yield name, line, Pair(*(tool(place, place.words(line)) for place in places))
    finally:
        broker.stop()


def _prepare(line: Line, places: Sequence[Place], folder: Path) -> None:
    for place in places:
        done = _cli(folder, place)(*place.words(line))
        assert done.exit_code == 0, f"{line.name}: {done.stderr}"


def _with_consent(cli: Cli, words: Sequence[str]) -> Outcome:
    """Runs `pulsarctl`, with `--yes` if it needs that without a terminal; pulsar-admin does not know it."""
    words = ("--request-timeout", f"{REQUEST_SECONDS}s", *words)
    outcome = cli(*words)
    return cli(*words, "--yes") if ASKS in outcome.stderr else outcome


def _cli(folder: Path, place: Place) -> Cli:
    return Cli(folder, place.http_url, place.service_url)
