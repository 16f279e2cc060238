"""Statistics of topics again and again, fetched in a thread so that keys are answered meanwhile."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from pulsarctl.diagnosis.overview import TopicsSnapshot
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts import topic_checks as topic_facts
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms

END_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Source:
    """`namespaces`: those to look at; none: all."""

    call: Call
    namespaces: Sequence[str]
    topics_max: int

    def snapshot(self) -> TopicsSnapshot:
        names = topic_facts.names(self.call, self.namespaces)
        stats = {}
        for topic in names[: self.topics_max]:
            try:
                stats[topic] = self.call.admin.topics.stats(topic)
            except NotFound:  # deleted in the meantime
                continue
        return TopicsSnapshot(now_ms(), stats, len(names))


class Refresher:
    """Owns its thread. The connection to the admin API belongs to that thread while it runs."""

    def __init__(self, source: Source, interval_seconds: float) -> None:
        self._source = source
        self._interval_seconds = interval_seconds
        self._wake = threading.Event()
        self._stopping = False
        self._latest: TopicsSnapshot | CliError | None = None
        self._thread = threading.Thread(target=self._run, name="top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def take(self) -> TopicsSnapshot | CliError | None:
        """Return the latest snapshot that has arrived since the last call, or None."""
        latest, self._latest = self._latest, None
        return latest

    def hurry(self) -> None:
        """Fetches now, and not at the end of the interval."""
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._latest = self._source.snapshot()
            except CliError as error:
                self._latest = error
            self._wake.wait(self._interval_seconds)
            self._wake.clear()
