"""Whether a log may hold entries that dispatchers treat differently: parts of messages, markers, and aborted messages.

Without them, dispatchers skip the search. Properties of the managed ledger keep the answer over restarts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.tasks import Spawn
    from broker_core.topic.state import Lifecycle
    from broker_core.topic_log import TopicLog

log = logging.getLogger(__name__)

# Our own properties: the log holds chunks, or markers.
CHUNKS_PROPERTY = "pulsarctl.chunks"
MARKERS_PROPERTY = "pulsarctl.markers"


class SpecialEntries:
    """has_chunks: some entries may be parts of messages. has_markers: some may be markers, or aborted."""

    __slots__ = ("_are_chunks_noted", "_lifecycle", "_log", "_spawn", "has_chunks", "has_markers")

    def __init__(self, log: TopicLog, lifecycle: Lifecycle, spawn: Spawn) -> None:
        self._log = log
        self._lifecycle = lifecycle
        self._spawn = spawn
        self.has_chunks = self._are_chunks_noted = CHUNKS_PROPERTY in log.properties
        self.has_markers = MARKERS_PROPERTY in log.properties

    def chunk_published(self) -> None:
        """Makes dispatchers look for chunks from now on.

        The property reaches the disk shortly after the first chunk. A crash in between leaves at most a message
        that was incomplete.
        """
        self.has_chunks = True
        if not self._are_chunks_noted:
            self._are_chunks_noted = True
            self._spawn(self._note_chunks())

    async def _note_chunks(self) -> None:
        try:
            await self._log.store_properties({CHUNKS_PROPERTY: "true"})
        except StorageError as error:
            self._are_chunks_noted = False  # the next chunk tries again
            log.warning("%s: cannot note that it has chunks: %s", self._log.name, error)

    def expect_transactions(self) -> None:
        """Messages of a transaction come, and a marker: dispatchers look for them, also after a crash."""
        if not self.has_markers and self._log.on_disk is not None:
            self._log.on_disk.note_properties({MARKERS_PROPERTY: "true"})
            self.has_markers = True

    async def expect_markers(self) -> None:
        """A replicator connects: dispatchers look for markers from now on, also after a crash. Durable on return."""
        if not self.has_markers:
            await self._lifecycle.store_properties({MARKERS_PROPERTY: "true"})
            self.has_markers = True
