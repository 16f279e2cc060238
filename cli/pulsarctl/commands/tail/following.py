"""Follows several topics at once, each with a reader of its own. Leaves nothing on the broker."""

import queue
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pulsarctl.consume.consuming import FOREVER, POLL_MS, RECORDS_AT_ONCE, Stops
from pulsarctl.errors import CliError, NotFound, TimedOut, UsageProblem
from pulsarctl.raw.reading import EntrySource
from pulsarctl.records.record import Record
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import monotonic
from pulsarctl.values.names import SCALABLE, full_topic, is_scalable, namespace_of, scalable_topic, without_partition
from pulsarctl.values.positions import Position

RUNS_MAX = 64  # of records that readers have and that are not printed yet
CLOSE_SECONDS = 1.0
DEFAULT_NAMESPACE = "public/default"

Run = Sequence[Record] | CliError
Open = Callable[[str, Position], EntrySource]  # topic and where to start
Show = Callable[[Sequence[Record]], None]


def matching(call: Call, patterns: Sequence[str]) -> list[str]:
    """The topics whose whole name a pattern matches, each partitioned or scalable topic once. Raises `UsageProblem`.

    A pattern is `TENANT/NAMESPACE/REGEX`, or a regular expression for topics of public/default.
    """
    topics: dict[str, None] = {}
    for text in patterns:
        domain, separator, rest = text.partition("://")
        parts = (rest if separator else text).split("/", 2)
        namespace, pattern = ("/".join(parts[:2]), parts[2]) if len(parts) == 3 else (DEFAULT_NAMESPACE, parts[-1])
        matches = _compiled(pattern)
        listed = _listed(call, namespace, domain if separator else "")
        topics |= dict.fromkeys(name for name in listed if matches(name.split("/", 4)[4]))
    return list(topics)


def _listed(call: Call, namespace: str, domain: str) -> list[str]:
    """A scalable topic has the messages of the regular topic that it was, too."""
    scalable = call.admin.scalable_topics.list_any(namespace) if domain in ("", SCALABLE) else []
    regular = call.admin.topics.list(namespace, domain=domain or None) if domain != SCALABLE else []
    before = {full_topic(name.partition("://")[2]) for name in scalable}
    return [*(name for name in map(without_partition, regular) if name not in before), *scalable]


@dataclass(eq=False)
class Followed:
    """The readers of topics, each in its own thread. `receive` is called by one thread only."""

    open_source: Open
    _arrived: "queue.Queue[Run]" = field(default_factory=lambda: queue.Queue(RUNS_MAX))
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: dict[str, threading.Thread] = field(default_factory=dict)

    def add(self, topic: str, start: Position) -> None:
        """Raises what connecting raises. A topic that is followed already stays so."""
        if topic in self._threads:
            return
        source = self.open_source(topic, start)
        thread = threading.Thread(target=self._follow, args=(topic, source), name=f"tail {topic}", daemon=True)
        self._threads[topic] = thread
        thread.start()

    @property
    def topics(self) -> int:
        return len(self._threads)

    @property
    def is_alive(self) -> bool:
        return not self._arrived.empty() or any(thread.is_alive() for thread in self._threads.values())

    def receive(self, timeout_seconds: float) -> Run:
        """Return the next records of any topic, none after the timeout, or the error that ends a topic."""
        try:
            return self._arrived.get(timeout=timeout_seconds)
        except queue.Empty:
            return ()

    def close(self) -> None:
        self._stopping.set()
        deadline = monotonic() + CLOSE_SECONDS
        for thread in self._threads.values():
            thread.join(max(0.0, deadline - monotonic()))

    def _follow(self, topic: str, source: EntrySource) -> None:
        try:
            while not self._stopping.is_set() and not source.ended:
                if records := source.receive(POLL_MS, RECORDS_AT_ONCE):
                    self._hand_over(records)
        except CliError as error:
            self._hand_over(type(error)(f"{topic} is no longer followed: {error.message}"))
        finally:
            source.close()

    def _hand_over(self, run: Run) -> None:
        """Waits while the printer is slow, so that the broker sends no more."""
        while not self._stopping.is_set():
            with suppress(queue.Full):
                self._arrived.put(run, timeout=POLL_MS / 1000)
                return


def follow(
    followed: Followed,
    show: Show,
    stops: Stops,
    say: Callable[[str], None],
    look: Callable[[], None] = lambda: None,
    look_seconds: float = 0,
) -> int:
    """Shows records until a stop is reached; returns their number. `look` runs each `look_seconds`, 0 for never.

    Raises `TimedOut` if the idle timeout passes before `stops.count`, and the error that ends the last topic.
    """
    shown = lost = 0
    last = looked = monotonic()
    while (stops.count == FOREVER or shown < stops.count) and (followed.is_alive or look_seconds):
        run = followed.receive(POLL_MS / 1000)
        if isinstance(run, CliError):
            lost += 1
            if lost == followed.topics and not look_seconds:
                raise run
            say(f"warning: {run.message}")
            continue
        if run:
            shown_now = run[: None if stops.count == FOREVER else stops.count - shown]
            show(shown_now)
            shown, last = shown + len(shown_now), monotonic()
        elif stops.idle_seconds and monotonic() - last >= stops.idle_seconds:
            break
        if look_seconds and monotonic() - looked >= look_seconds:
            looked = monotonic()
            look()
    if shown < stops.count:
        raise TimedOut(f"received only {shown} of {stops.count} messages before the idle timeout")
    return shown


def existing(call: Call, topics: Sequence[str]) -> list[str]:
    """The full names. Raises `NotFound` for a topic that does not exist, which a reader would create."""
    names = [scalable_topic(topic) if is_scalable(topic) else full_topic(topic) for topic in topics]
    for name in names:
        if not _exists(call, name):
            noun = "scalable-topics" if is_scalable(name) else "topics"
            raise NotFound(f"{name} does not exist", hint=f"pulsarctl {noun} list {namespace_of(name)}")
    return list(dict.fromkeys(names))


def _exists(call: Call, name: str) -> bool:
    if is_scalable(name):
        return name in call.admin.scalable_topics.list(namespace_of(name))
    listed = call.admin.topics.list(namespace_of(name), domain=name.partition("://")[0])
    return any(listed_name == name or without_partition(listed_name) == name for listed_name in listed)


def _compiled(pattern: str) -> Callable[[str], object]:
    try:
        return re.compile(pattern).fullmatch
    except re.error as error:
        raise UsageProblem(f"'{pattern}' is not a regular expression: {error}") from error
