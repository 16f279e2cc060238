"""One topic -> its copy, from start to end, and the comparison of both."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.wire.pulsar_api_pb2 import Schema
from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.migration.cursor_copy import CursorCopy, subscriptions
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.entry_copy import Copied, EntryCopy, Step
from pulsarctl.migration.holds import hold, release


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """What a copy has now. `sent`: entries of this run."""

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

    def copy(self, step: Step, *, at_end: Callable[[], None], verify: bool) -> PartitionResult:
        """`at_end` is called once everything is copied; what the source got until then is copied, too.

        Then come the subscriptions, and the comparison. Raises `CliError`.
        """
        self.hold()
        with self.entries(step) as entries:
            entries.run()
            at_end()
            entries.run()
        found = self._copy_subscriptions(entries.copied)
        if verify:
            self._compare(entries.copied)
        return PartitionResult(
            self.target_topic, entries.copied.runs.count, entries.copied.size, entries.copied.sent, found
        )

    def entries(self, step: Step) -> EntryCopy:
        """A context."""
        return EntryCopy(self.source, self.source_topic, self.target, self.target_topic, schema=self.schema, step=step)

    def terminate(self) -> None:
        """Ends publishing to the source; its consumers reach the end of the topic."""
        admin = self.source.admin()
        try:
            admin.topics.terminate(self.source_topic)
        finally:
            admin.close()

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

    def _copy_subscriptions(self, copied: Copied) -> int:
        admin = self.source.admin()
        try:
            found = subscriptions(admin, self.source_topic, copied.runs)
        finally:
            admin.close()
        CursorCopy(self.target, self.target_topic, copied.runs).copy(found)
        return len(found)

    def _compare(self, copied: Copied) -> None:
        count, digest = 0, hashlib.blake2b(digest_size=16)
        with self.target.reader(self.target_topic) as reader:
            for entry in reader.to_end():
                count += 1
                digest.update(entry.stored())
                if count == copied.runs.count:
                    break
        if (count, digest.digest()) != (copied.runs.count, copied.digest.digest()):
            raise Mismatch(
                f"{self.target_topic} at {self.target.name} differs from {self.source_topic} at {self.source.name}: "
                f"{count:,} entries with checksum {digest.hexdigest()}, and {copied.runs.count:,} with "
                f"{copied.digest.hexdigest()}",
                hint="delete the copy, and run the command again",
            )
