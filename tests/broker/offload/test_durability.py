"""A copy in a directory survives a power cut: it may soon be the only one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.offload import job
from broker_core.offload.manifest import tier_path
from broker_core.offload.orders import OffloadJob
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values

INSTANCE = "pulsarctl-0123456789ab"


def test_files_and_their_names_are_on_disk_when_a_copy_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "new" / "store"
    with offloaded_topic(in_directory(store)) as one:
        one.publish(values(10))
        orders = orders_for(one, store, tmp_path / "scratch" / "one.parquet")
        synced: dict[tuple[int, int], int] = {}
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, noting(synced, getattr(os, name)))
        job.run(orders)
        monkeypatch.undo()
    found = [path for path in store.rglob("*") if path.is_file()]
    assert {path.suffix for path in found} == {".parquet", ".json"}
    assert [synced.get(identity(path)) for path in found] == [path.stat().st_size for path in found]
    folders = [path for path in store.rglob("*") if path.is_dir()]
    assert [path for path in (store.parent, store, *folders) if identity(path) not in synced] == []


def orders_for(one: OffloadedTopic, store: Path, scratch: Path) -> OffloadJob:
    copies = one.log().copies
    ledger = one.broker.call(copies.written_out(copies.sealed()[0].id))
    assert ledger is not None
    info, uuid = ledger.info, "0f8fad5b-d9cb-469f-a165-70867728950e"
    return OffloadJob(
        source=str(ledger.path),
        scratch=str(scratch),
        topic=one.log().name,
        ledger_id=info.id,
        entries=info.entries,
        end=info.end,
        uuid=uuid,
        path=tier_path(INSTANCE, one.log().name, info.id, uuid),
        driver="filesystem",
        settings={"fileSystemURI": f"file://{store}"},
        instance=INSTANCE,
        cluster="standalone",
    )


def noting(synced: dict[tuple[int, int], int], sync: Callable[[int], None]) -> Callable[[int], None]:
    """The size of each file when it was synced last."""

    def note(fd: int) -> None:
        status = os.fstat(fd)
        synced[status.st_dev, status.st_ino] = status.st_size
        sync(fd)

    return note


def identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
