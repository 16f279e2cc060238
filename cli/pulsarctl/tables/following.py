"""Following topics in steps: where partitions end now, how far the next step goes, and what lies between two steps.

An offset is the last entry that belongs to a step, for each partition: `{"persistent://a/b/c": "7:41"}`, sorted by
name. A partition that an offset does not name starts at its first entry, so new partitions and topics are read whole.

An offset names each segment of a scalable topic, and says which of them has ended: `{"segment://...": "7:41 ended"}`.
The next offset leaves out a segment that is gone. That is a loss unless it has ended, and so is a segment that no
offset has named.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.tables.ack_holes import LedgerPosition
from pulsarctl.tables.bounds import Bound
from pulsarctl.tables.data_loss import DataLoss, gone_after, is_all_visible, warn
from pulsarctl.tables.ledger_ranges import LedgerRange, ranges_of_topic, split
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import topic_parts
from pulsarctl.tables.segment_history import gone_segments, still_there
from pulsarctl.tables.stream_options import StreamOptions
from pulsarctl.tables.visible_end import visible_stats
from pulsarctl.values.message_ids import EARLIEST, LATEST, parse_message_id
from pulsarctl.values.names import is_segment

Offset = dict[str, str]
Stats = dict[str, Any]  # internalStats of one partition

REFRESH_SECONDS = 1.0  # Spark asks every 10 ms
BEFORE_FIRST = "-1:-1"
ENDED = " ended"  # after the last entry of a sealed segment


class Following:
    """Asks the admin API at most once a second. Raises what the admin client raises."""

    def __init__(self, options: TableOptions, limits: StreamOptions) -> None:
        self._options = options
        self._limits = limits
        self._stats: dict[str, Stats] = {}
        self._sealed: set[str] = set()
        self._asked = -REFRESH_SECONDS
        self._stepped = time.monotonic()
        self._target: Offset | None = None

    def first(self) -> Offset:
        """The offset before the first message of the stream: without the option `start`, the end of each topic."""
        self._refresh(force=True)
        admin = self._options.access.admin()
        try:
            return {topic: self._first(admin, topic) for topic in sorted(self._stats)}
        finally:
            admin.close()

    def latest(self) -> Offset:
        """The end of each partition."""
        self._refresh()
        return {topic: self._end(topic) for topic in sorted(self._stats)}

    def stop_at_latest(self) -> None:
        """Stops at the present end of each partition: no later step goes further."""
        self._refresh(force=True)
        self._target = self.latest()

    def next_step(self, start: Offset, *, limited: bool) -> Offset:
        """The end of the step after `start`; `start` itself if there is nothing to read, or not enough yet."""
        latest = self.latest() if self._target is None else self._target
        backlogs = {topic: self._backlog(topic, start.get(topic, BEFORE_FIRST), end) for topic, end in latest.items()}
        entries = {topic: sum(part.entries for part in ranges) for topic, ranges in backlogs.items()}
        read = {topic: end for topic, end in latest.items() if not entries[topic]}
        known = still_there(start, latest) | _segments(start, read)
        if (not any(entries.values()) and known == start) or (limited and self._waits(sum(entries.values()))):
            return start
        self._stepped = time.monotonic()
        share = self._share(backlogs, entries) if limited else 1.0
        ends = {topic: _after(ranges, share, latest[topic]) for topic, ranges in backlogs.items() if ranges}
        return dict(sorted((known | ends).items()))

    def between(self, start: Offset, end: Offset) -> list[LedgerRange]:
        """The messages after `start`, up to `end`, cut into parts. They are the same at each call.

        Raises `DataLoss` if some of it is gone, unless the option fail_on_data_loss is false.
        """
        if any(topic not in self._stats for topic in end):
            self._refresh(force=True)
        ended = [topic for topic, at in start.items() if at.endswith(ENDED)]
        for loss in gone_segments(start, ended, end):
            self._lose(loss)
        parts = [
            replace(part, size=0)  # how large an open ledger is changes, and so would the parts
            for topic, last in end.items()
            if last != start.get(topic)
            for part in self._ranges(topic, start.get(topic, BEFORE_FIRST), last)
        ]
        return split(parts, tasks_min=self._options.tasks_min, entries_max=self._options.entries_per_task)

    def kept(self, offset: Offset) -> Offset:
        """The part of an offset after which nothing is lost, as far as the latest answers of the brokers say."""
        there = still_there(offset, self._stats)
        return {topic: at.removesuffix(ENDED) for topic, at in there.items() if self._gone(topic, at) is None}

    def _first(self, admin: AdminClient, topic: str) -> str:
        if not self._limits.has_start:
            return self._end(topic)
        bound = self._options.start.of(topic)
        if bound.time_ms is not None:
            message_id = admin.topics.message_id_at(topic, bound.time_ms)
            return _text((int(message_id["ledgerId"]), int(message_id["entryId"]) - 1))
        if bound.position == LATEST.position:
            return self._end(topic)
        ledger_id, entry_id = bound.position
        return BEFORE_FIRST if bound.position == EARLIEST.position else _text((ledger_id, entry_id - 1))

    def _refresh(self, *, force: bool = False) -> None:
        if not force and time.monotonic() - self._asked < REFRESH_SECONDS:
            return
        admin = self._options.access.admin()
        try:
            parts = topic_parts(admin, self._options)
            self._stats = {part.topic: visible_stats(admin, part.topic) for part in parts}
            self._sealed = {part.topic for part in parts if part.is_sealed}
        finally:
            admin.close()
        self._asked = time.monotonic()

    def _end(self, topic: str) -> str:
        """The last entry, marked in a sealed segment of which readers may get everything."""
        stats = self._stats[topic]
        is_over = topic in self._sealed and is_all_visible(stats)
        return f"{_end(stats)}{ENDED}" if is_over else _end(stats)

    def _backlog(self, topic: str, start: str, end: str) -> list[LedgerRange]:
        if topic not in self._stats:
            return []
        return list(_ranges(topic, self._stats[topic], start, end))

    def _ranges(self, topic: str, start: str, end: str) -> list[LedgerRange]:
        stats = self._stats.get(topic)
        if stats is None:
            self._lose(f"{topic} is gone")
            return []
        if gone := self._gone(topic, start):
            self._lose(gone)
        is_gone = _position(end)[0] not in _ledgers(stats) or _goes_back(end, _end(stats))
        if is_gone and _position(end) > _position(start):
            self._lose(f"entry {end} of {topic} is gone")
        return list(_ranges(topic, stats, start, end))

    def _gone(self, topic: str, start: str) -> str | None:
        """What may be gone after the entry with which a step ended.

        The query's subscription may know that nothing is: a broker deletes no ledger that it has not finished. Pulsar
        moves a cursor from the end of a ledger to the beginning of the next one.
        """
        stats = self._stats.get(topic)
        if stats is not None and _goes_back(start, _end(stats)):
            return f"{topic} was created again or restored, and its positions start over"
        gone = None if stats is None or start == BEFORE_FIRST else gone_after(topic, stats, _position(start))
        if stats is None or gone is None or (cursor := stats["cursors"].get(self._limits.subscription)) is None:
            return gone
        acknowledged, ledgers = _position(cursor["markDeletePosition"]), _ledgers(stats)
        is_past = acknowledged > _position(start) and acknowledged != (ledgers[0] if ledgers else -1, -1)
        return gone if is_past else None

    def _lose(self, loss: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(
                f"cannot read all between two offsets: {loss}",
                hint="set fail_on_data_loss to false to continue; the option subscription keeps messages until read",
            )
        warn(loss)

    def _waits(self, entries: int) -> bool:
        """Whether there is too little for a step, and time to wait for more."""
        if self._target is not None or entries >= self._limits.min_messages_per_trigger:
            return False
        return time.monotonic() - self._stepped < self._limits.max_trigger_delay

    def _share(self, backlogs: Mapping[str, list[LedgerRange]], entries: Mapping[str, int]) -> float:
        """The share of each backlog that fits into the limits, at most 1."""
        share, limits = 1.0, self._limits
        if limits.max_messages_per_trigger is not None:
            messages = sum(count * self._batch_size(backlogs[topic]) for topic, count in entries.items() if count)
            share = min(share, limits.max_messages_per_trigger / max(messages, 1))
        if limits.max_bytes_per_trigger is not None:
            size = sum(part.size for ranges in backlogs.values() for part in ranges)
            share = min(share, limits.max_bytes_per_trigger / max(size, 1))
        return share

    def _batch_size(self, backlog: list[LedgerRange]) -> int:
        """Messages of the next entry, which stands for the others: only the messages themselves tell how many."""
        part = backlog[0]
        admin = self._options.access.admin()
        try:
            _, headers = admin.topics.message(part.topic, part.ledger_id, part.first)
            return int(headers.get("X-Pulsar-num-batch-message") or 1)
        except CliError:
            return 1  # a marker, or gone: reading will tell
        finally:
            admin.close()


def _ranges(topic: str, stats: Stats, start: str, end: str) -> list[LedgerRange]:
    ledger_id, entry_id = _position(start)
    is_whole = start == BEFORE_FIRST or _goes_back(start, end)
    after = Bound(EARLIEST.position if is_whole else (ledger_id, entry_id + 1))
    parts = ranges_of_topic(topic, stats, subscriptions=None, start=after, end=Bound(_position(end)))
    return [_with_beginning(part, stats) for part in parts]


def _with_beginning(part: LedgerRange, stats: Stats) -> LedgerRange:
    """A chunked message that ends in this step may have begun in an earlier one."""
    by_ledger = {
        ledger_range.ledger_id: ledger_range for ledger_range in ranges_of_topic(part.topic, stats, subscriptions=None)
    }
    return part.looking_back(by_ledger[part.ledger_id])


def _segments(offset: Offset, read: Offset) -> Offset:
    """The positions in segments without anything to read now: segments that have ended, and new ones."""
    return {
        topic: end if end.endswith(ENDED) else BEFORE_FIRST
        for topic, end in read.items()
        if end.endswith(ENDED) or (is_segment(topic) and topic not in offset)
    }


def _after(ranges: list[LedgerRange], share: float, end: str) -> str:
    """The position at which a share of the ranges ends, at least one entry; `end` if it is that one."""
    left = max(int(sum(part.entries for part in ranges) * share), 1)
    for part in ranges:
        if left <= part.entries:
            at = _text((part.ledger_id, part.first + left - 1))
            return end if at == end.removesuffix(ENDED) else at
        left -= part.entries
    return end


def _ledgers(stats: Stats) -> list[int]:
    return [int(ledger["ledgerId"]) for ledger in stats["ledgers"]]


def _end(stats: Stats) -> str:
    return _text(parse_message_id(stats["lastConfirmedEntry"]).position)


def _position(text: str) -> LedgerPosition:
    return parse_message_id(text.removesuffix(ENDED)).position


def _goes_back(start: str, end: str) -> bool:
    """Whether a topic that has been read up to `start` ends before it. A place before a first entry may be later."""
    return _position(start)[1] >= 0 and (0, -1) <= _position(end) < _position(start)


def _text(position: LedgerPosition) -> str:
    return f"{position[0]}:{position[1]}"
