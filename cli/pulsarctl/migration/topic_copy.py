"""One topic -> its copy, from start to end, and the comparison of both."""

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass

from broker_core.wire.pulsar_api_pb2 import Schema
from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.migration.ascending_ids import refuse_skipping
from pulsarctl.migration.cursor_copy import CursorCopy, Subscription, subscriptions
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.entry_copy import Copied, EntryCopy, Step
from pulsarctl.migration.holds import hold, release
from pulsarctl.migration.switch import Destination, Switch
from pulsarctl.raw.entry_reader import EntryReader


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The state of a copy. `sent`: entries of this run."""

    topic: str
    entries: int
    size: int
    sent: int
    subscriptions: int


class Mismatch(CliError):
    """Source and copy differ."""

    code = "mismatch"


@dataclass(frozen=True, slots=True)
class PartitionCopy:
    """`source_topic` and `target_topic` are topics without partitions, or partitions; the target exists.

    Before the first run the target is empty, or an earlier run has filled it. Until `release` both sides are held, so
    that nothing is trimmed.
    """

    source: Endpoint
    source_topic: str
    target: Endpoint
    target_topic: str
    schema: Schema | None = None
    has_moved: bool = False
    """An earlier run has sent the clients to the copy, which is theirs since. Only the holds are left."""

    def copy(self, step: Step, *, switch: Switch | None, verify: bool) -> PartitionResult:
        """With `switch`, the clients go to the copy once it is complete. Raises `CliError`.

        Existing entries are copied and compared first, so that clients wait only for the last ones.
        """
        if self.has_moved:
            return PartitionResult(self.target_topic, 0, 0, 0, 0)
        self.hold()
        with ExitStack() as opened:
            entries = opened.enter_context(self.entries(step))
            comparison = opened.enter_context(self._comparison()) if verify else None
            entries.run()
            if comparison is not None:
                comparison.follow(entries.copied)
            if switch is None:
                subscription_count = self._copy_subscriptions(entries.copied)
            else:
                subscription_count = self._finish(entries, comparison, switch)
        copied = entries.copied
        return PartitionResult(self.target_topic, copied.runs.count, copied.size, copied.sent, subscription_count)

    def _finish(self, entries: EntryCopy, comparison: "Comparison | None", switch: Switch) -> int:
        try:
            self._refuse_skipping(entries.copied, switch)  # before a client waits
            switch.stop_publishing()
            entries.run()
            switch.stop_delivering()
            self._refuse_skipping(entries.copied, switch)
            subscription_count = self._copy_subscriptions(entries.copied)
            if comparison is not None:
                comparison.follow(entries.copied)
        except BaseException as error:
            switch.undo_after(error)
            raise
        switch.move()
        return subscription_count

    def entries(self, step: Step) -> EntryCopy:
        """A context."""
        return EntryCopy(self.source, self.source_topic, self.target, self.target_topic, schema=self.schema, step=step)

    def switch(self, to: Destination | None) -> Switch:
        """The switch for `copy`. None: the source is terminated, and its clients stay."""
        return Switch(self.source, self.source_topic, to)

    def _comparison(self) -> "Comparison":
        return Comparison(self)

    def release(self) -> None:
        """Lets both sides trim again."""
        for admin, topic in self._sides():
            try:
                release(admin, topic)
            finally:
                admin.close()

    def hold(self) -> None:
        """Keeps both sides from trimming."""
        for admin, topic in self._sides():
            try:
                hold(admin, topic)
            finally:
                admin.close()

    def _sides(self) -> list[tuple[AdminClient, str]]:
        return [(self.source.admin(), self.source_topic), (self.target.admin(), self.target_topic)]

    def _refuse_skipping(self, copied: Copied, switch: Switch) -> None:
        if not switch.takes_consumers():
            return
        first_left = {subscription.name: subscription.next for subscription in self._subscriptions(copied)}
        sides = self.source, self.source_topic, self.target, self.target_topic
        refuse_skipping(*sides, copied=copied.runs, first_left=first_left)

    def _subscriptions(self, copied: Copied) -> list[Subscription]:
        admin = self.source.admin()
        try:
            return subscriptions(admin, self.source_topic, copied.runs)
        finally:
            admin.close()

    def _copy_subscriptions(self, copied: Copied) -> int:
        subscriptions = self._subscriptions(copied)
        CursorCopy(self.target, self.target_topic, copied.runs).copy(subscriptions)
        return len(subscriptions)


class Comparison:
    """A context. Reads the copy back, as far as it is, and compares it with what was read from the source."""

    def __init__(self, part: PartitionCopy) -> None:
        self._part = part
        self._reader: EntryReader | None = None
        self._count = 0
        self._digest = hashlib.blake2b(digest_size=16)

    def __enter__(self) -> "Comparison":
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.close()

    def follow(self, copied: Copied) -> None:
        """Everything in the copy until now. Raises `Mismatch`."""
        if self._reader is None:
            self._reader = self._part.target.reader(self._part.target_topic)
        if self._count < copied.runs.count:
            for entry in self._reader.to_end():
                self._count += 1
                self._digest.update(entry.stored())
                if self._count == copied.runs.count:
                    break
        if (self._count, self._digest.digest()) != (copied.runs.count, copied.digest.digest()):
            raise self._mismatch(copied)

    def _mismatch(self, copied: Copied) -> Mismatch:
        part = self._part
        return Mismatch(
            f"{part.target_topic} at {part.target.name} differs from {part.source_topic} at {part.source.name}: "
            f"{self._count:,} entries with checksum {self._digest.hexdigest()}, and {copied.runs.count:,} with "
            f"{copied.digest.hexdigest()}",
            hint="delete the copy, and run the command again",
        )
