"""What every tracker of a broker shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.delayed.alarms import Alarms
from broker_core.delayed.bucket_files import BucketFiles
from broker_core.storage import filenames

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config_features import DelayedConfig
    from broker_core.storage.factory import ManagedLedgerFactory


@dataclass(frozen=True, slots=True)
class DelayedServices:
    config: DelayedConfig
    alarms: Alarms
    files: BucketFiles

    @classmethod
    def of(cls, config: DelayedConfig, storage: ManagedLedgerFactory, clock: Clock) -> DelayedServices:
        return cls(config, Alarms(clock), BucketFiles(storage.disk, filenames.delayed_directory(storage.path)))

    async def close(self) -> None:
        self.alarms.close()
        await self.files.close()
