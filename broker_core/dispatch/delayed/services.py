"""The services that all trackers of a broker share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_core.dispatch.delayed.alarms import Alarms
from broker_core.dispatch.delayed.bucket_files import BucketFiles
from broker_core.storage import filenames

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import DelayedConfig
    from broker_core.storage.engine import StorageEngine
    from broker_core.tasks import Spawn


class DelayedServices(NamedTuple):
    """The services that the trackers of all subscriptions share."""

    config: DelayedConfig
    clock: Clock
    spawn: Spawn
    alarms: Alarms
    files: BucketFiles

    @classmethod
    def of(cls, config: DelayedConfig, storage: StorageEngine, clock: Clock, spawn: Spawn) -> DelayedServices:
        files = BucketFiles(storage.disk, filenames.delayed_directory(storage.path))
        return cls(config, clock, spawn, Alarms(clock), files)

    async def close(self) -> None:
        self.alarms.close()
        await self.files.close()
