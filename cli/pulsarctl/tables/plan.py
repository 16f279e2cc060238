"""Which topics are read, and the ledger ranges of each, as the admin API reports them at one moment."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.parts import PERSISTENT, Part, parts_in, parts_of
from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.tables.bounds import Bound
from pulsarctl.tables.data_loss import is_all_visible
from pulsarctl.tables.ledger_files import LedgerFiles
from pulsarctl.tables.ledger_ranges import LedgerLocation, LedgerRange, LocationOf, ranges_of_topic, split
from pulsarctl.tables.options import ALL_SUBSCRIPTIONS, TableOptions
from pulsarctl.tables.tier_copies import TierCopies
from pulsarctl.tables.visible_end import visible_stats
from pulsarctl.values.names import SCALABLE

ORDER_MS = 60_000  # publish times may be out of order by this: producers have clocks of their own
DEFAULT_NAMESPACE = "public/default"
LITERAL = re.compile(rf"(?:({PERSISTENT}|{SCALABLE})://)?([\w-]+)/([\w-]+)/")

log = logging.getLogger(__name__)


class TopicSnapshot:
    """The ledgers and cursors of each topic partition, as of the first time it was asked.

    Plans that share one agree about which messages exist. `known` are the answers of an earlier one. `sealed`: the
    segments that took no more messages before they were asked, and of which readers get everything.
    """

    def __init__(self, known: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._stats: dict[str, Mapping[str, Any]] = dict(known or {})
        self.sealed: set[str] = set()

    @property
    def known(self) -> Mapping[str, Mapping[str, Any]]:
        """The answers so far."""
        return self._stats

    def of_part(self, admin: AdminClient, part: Part) -> Mapping[str, Any]:
        is_final = part.is_sealed and part.topic not in self._stats
        stats = self.of(admin, part.topic)
        if is_final and is_all_visible(stats):
            self.sealed.add(part.topic)
        return stats

    def of(self, admin: AdminClient, topic: str) -> Mapping[str, Any]:
        if topic not in self._stats:
            self._stats[topic] = visible_stats(admin, topic)
        return self._stats[topic]


def plan(options: TableOptions, snapshot: TopicSnapshot | None = None) -> list[LedgerRange]:
    """At least one range for each topic partition and ledger that holds something to read.

    `snapshot` is shared with other plans. Raises `NotFound` for a topic that does not exist, and what the admin client
    raises.
    """
    known = snapshot or TopicSnapshot()
    admin = options.access.admin()
    try:
        place_of = _place_of(admin, options)
        parts = [(part.topic, known.of_part(admin, part)) for part in topic_parts(admin, options)]
        ranges = [
            ledger_range for topic, stats in parts for ledger_range in _ranges(admin, options, topic, stats, place_of)
        ]
    finally:
        admin.close()
    return split(ranges, tasks_min=options.tasks_min, entries_max=options.entries_per_task)


def _place_of(admin: AdminClient, options: TableOptions) -> LocationOf:
    """Files come first: they are nearer than copies."""
    files = LedgerFiles(Path(options.data_directory)) if options.data_directory else None
    copies = TierCopies(admin, options.tier) if options.tier is not None else None

    def place_of(topic: str, ledger_id: int) -> LedgerLocation:
        path = files.path_of(topic, ledger_id) if files is not None else ""
        return LedgerLocation(path, copies.copy_of(topic, ledger_id) if copies is not None and not path else "")

    return place_of


def topic_parts(admin: AdminClient, options: TableOptions) -> list[Part]:
    """Partitions, segments, and topics that have neither, each once. Raises `NotFound`."""
    if options.topics:
        return list({part.topic: part for topic in options.topics for part in parts_of(admin, topic)}.values())
    if options.namespace:
        topics = parts_in(admin, options.namespace, _warn)
    else:
        topics = _matching(admin, options.topics_pattern)
    return [part for parts in topics.values() for part in parts]


def _matching(admin: AdminClient, pattern: str) -> dict[str, list[Part]]:
    """A pattern with a domain is for topics of that domain only. Raises `UsageProblem`."""
    domain, namespace, path = _words(pattern)
    path_pattern = re.compile(path)
    topics = parts_in(admin, namespace, _warn, domain)
    return {name: parts for name, parts in topics.items() if path_pattern.fullmatch(name.partition("://")[2])}


def _words(pattern: str) -> tuple[str, str, str]:
    """The domain, the namespace that is searched, and the pattern with both tenant and namespace in front.

    Raises `UsageProblem` if the namespace is part of the pattern.
    """
    full = pattern if "://" in pattern or LITERAL.match(pattern) else f"{DEFAULT_NAMESPACE}/{pattern}"
    match = LITERAL.match(full)
    if match is None:
        raise UsageProblem(
            f"option topics_pattern: '{pattern}' does not name one namespace",
            hint="start with TENANT/NAMESPACE/, such as shop/eu/orders-.*",
        )
    domain, tenant, namespace = match.groups("")
    return domain, f"{tenant}/{namespace}", full.rpartition("://")[2]


@cache
def _warn(left_out: str) -> None:
    """Says it once: a stream asks every second."""
    log.warning("%s", left_out)


def _ranges(
    admin: AdminClient, options: TableOptions, topic: str, stats: Mapping[str, Any], place_of: LocationOf
) -> Iterator[LedgerRange]:
    names: Sequence[str] | None = options.subscriptions or None
    if names == (ALL_SUBSCRIPTIONS,):
        names = sorted(stats["cursors"])

    def near(bound: Bound, shift_ms: int) -> Bound:
        return bound if options.full_scan else _near(admin, topic, bound, shift_ms)

    start, end = near(options.start.of(topic), -ORDER_MS), near(options.end.of(topic), ORDER_MS)
    begin = None if options.begin is None else near(options.begin.of(topic), -ORDER_MS)
    yield from ranges_of_topic(topic, stats, subscriptions=names, start=start, end=end, begin=begin, place_of=place_of)


def _near(admin: AdminClient, topic: str, bound: Bound, shift_ms: int) -> Bound:
    """A bound by time with a position at about that time, so that the rest of the topic is not read."""
    if bound.time_ms is None:
        return bound
    try:
        message_id = admin.topics.message_id_at(topic, max(bound.time_ms + shift_ms, 0))
        position = (int(message_id["ledgerId"]), int(message_id["entryId"]))
    except (NotFound, KeyError, ValueError):
        return bound
    return replace(bound, position=position) if position[0] >= 0 and position[1] >= 0 else bound
