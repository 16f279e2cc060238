"""Offloads one ledger: builds the tier file locally, uploads it whole, reads it back, writes the manifest.

Blocking; runs in a worker process (`worker`). Object stores publish what was written when a stream ends for whatever
reason, so only a complete local file is uploaded, and an object that is not verified is removed again.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.offload.errors import OffloadFailed, detail_of, masked
from broker_core.offload.ledger_blocks import blocks_of_file
from broker_core.offload.manifest import Manifest, ManifestFile, TableFile, manifest_path
from broker_core.offload.orders import OffloadJob
from broker_core.offload.stores import Store, open_store
from broker_core.offload.tables import Tables, files_folder
from broker_core.offload.tier_file import Group
from broker_core.offload.tier_file_writer import TierFileWriter
from broker_core.offload.tier_footer import TierFooter, tail_length
from broker_core.offload.tier_groups import GroupReader
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Damaged

_CHUNK = 4 << 20
_READ_BACK_BYTES = 16 << 20  # bytes of one request: a store takes tens of milliseconds to answer each


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The record of a verified copy in the catalog."""

    size: int
    tail: int
    tail_crc: int
    raw_bytes: int
    seconds: float


def run(job: OffloadJob, tables: Tables | None = None) -> Uploaded:
    """Raises `OffloadFailed`; then no object and no row of the job is left, as far as the store answers."""
    store = open_store(job.driver, job.settings, job.limits)
    started = time.monotonic()
    scratch = Path(job.scratch)
    folder = scratch.with_suffix("")
    tables = tables if job.table else None
    try:
        built = _build(job, scratch)
        files = tables.write(job, store, folder) if tables is not None else []
        try:
            _put(job, store, built, files, tables)
        except (OSError, ValueError, OffloadFailed) as error:
            leftovers = _remove(store, job, tables)
            reason = f"cannot offload ledger {job.ledger_id} to {store.describe(job.path)}: "
            raise OffloadFailed(
                f"{reason}{masked(error)}{leftovers[0]}", f"{reason}{detail_of(error)}{leftovers[1]}"
            ) from error
    except Damaged as error:
        raise OffloadFailed(f"cannot offload ledger {job.ledger_id}: {error}") from error
    except (OSError, ValueError) as error:
        reason = f"cannot build the copy of ledger {job.ledger_id}: "
        raise OffloadFailed(f"{reason}{masked(error)}", f"{reason}{error}") from error
    finally:
        scratch.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    tier = built.tier
    return Uploaded(tier.size, tier.tail, tier.tail_crc32c, built.size, time.monotonic() - started)


def _put(job: OffloadJob, store: Store, built: _Built, files: list[Path], tables: Tables | None) -> None:
    """The manifest is the last object; then the files count as rows. Raises OSError, ValueError, `OffloadFailed`."""
    _upload(store, job.path, Path(job.scratch), job.bytes_per_second)
    _read_back(store, job.path, built)
    uploaded = [_put_table_file(job, store, file) for file in files]
    _write_whole(store, manifest_path(job.path), _manifest(job, built, uploaded).encode())
    if tables is not None:
        tables.add(job, store, [file.path for file in uploaded])


def _put_table_file(job: OffloadJob, store: Store, file: Path) -> TableFile:
    """Read back whole, as the tier file is."""
    path = f"{files_folder(job.table, job.ledger_id, job.uuid)}/{file.name}"
    _upload(store, path, file, job.bytes_per_second)
    with file.open("rb") as local, store.filesystem.open_input_stream(store.key(path)) as stored:
        here, there = _sum(local), _sum(stored)
    if here != there:
        raise OffloadFailed(f"{store.describe(path)} reads back differently from what was written")
    return TableFile(path, *here)


def _sum(stream: Any) -> tuple[int, int]:
    """Size and checksum of what is left to read."""
    crc = size = 0
    while data := stream.read(_CHUNK):
        crc = crc32c(data, crc)
        size += len(data)
    return size, crc


class _Extent(NamedTuple):
    """The position of a row group in the file."""

    group: int
    offset: int
    length: int


@dataclass(slots=True)
class _Built:
    """The local file: what the manifest says of it, and its row groups."""

    groups: list[Group]
    entries: int
    messages: int
    size: int
    entries_crc: int
    tier: ManifestFile


def _build(job: OffloadJob, scratch: Path) -> _Built:
    scratch.parent.mkdir(parents=True, exist_ok=True)
    writer = TierFileWriter(scratch, job.ledger_id, job.uuid)
    entries_crc = 0
    for block in blocks_of_file(RealDisk(), Path(job.source), job.ledger_id, job.entries, job.end):
        writer.add(block)
        view = memoryview(block.data)
        for start, end in zip(block.starts, block.ends, strict=True):
            entries_crc = crc32c(view[start:end], entries_crc)
    writer.close()
    index = writer.index
    with scratch.open("rb") as file:
        size, crc = _sum(file)
        file.seek(size - 8)
        length = tail_length(file.read(8))
        file.seek(size - length)
        tail = file.read(length)
    tier = ManifestFile(job.path, size, crc, length, crc32c(tail), [list(group) for group in index.groups])
    return _Built(index.groups, index.entries, index.messages, index.size, entries_crc, tier)


def _manifest(job: OffloadJob, built: _Built, tables: list[TableFile]) -> Manifest:
    return Manifest(
        job.instance,
        job.cluster,
        job.topic,
        job.ledger_id,
        job.uuid,
        built.entries,
        built.messages,
        built.size,
        built.entries_crc,
        time.time_ns() // 1_000_000,
        built.tier,
        tables,
    )


def _upload(store: Store, path: str, source: Path, bytes_per_second: float) -> None:
    """Upload at most at the rate, measured over the whole file."""
    if store.uri.startswith("file:"):
        store.filesystem.create_dir(store.own_key(path).rpartition("/")[0], recursive=True)
    started, sent = time.monotonic(), 0
    with source.open("rb") as file, store.filesystem.open_output_stream(store.own_key(path)) as target:
        while data := file.read(_CHUNK):
            target.write(data)
            sent += len(data)
            if bytes_per_second > 0:
                time.sleep(max(0.0, started + sent / bytes_per_second - time.monotonic()))
    _make_durable(store, path)


def _make_durable(store: Store, path: str) -> None:
    """Syncs a file and the names on the way to it, since the broker deletes its own file. Object stores do it alone."""
    if not store.uri.startswith("file:"):
        return
    disk, file, root = RealDisk(), Path(store.own_key(path)), Path(store.root)
    fd = disk.open(file)
    try:
        disk.sync(fd)
    finally:
        disk.close(fd)
    for folder in takewhile(lambda folder: folder != root, file.parents):
        disk.sync_directory(folder)
    disk.sync_directory(root)
    with contextlib.suppress(PermissionError):  # it may belong to another user, and then the root was there
        disk.sync_directory(root.parent)


def _write_whole(store: Store, path: str, data: bytes) -> None:
    with store.filesystem.open_output_stream(store.own_key(path)) as target:
        target.write(data)
    _make_durable(store, path)
    with store.filesystem.open_input_stream(store.key(path)) as source:
        if source.read() != data:
            raise OffloadFailed("the manifest reads back differently from what was written")


def _read_back(store: Store, path: str, built: _Built) -> None:
    """Read every byte as the broker will read it. Raises OSError, ValueError, `OffloadFailed`."""
    tier = built.tier
    with store.filesystem.open_input_file(store.key(path)) as file:
        if file.size() != tier.size:
            raise OffloadFailed(f"the object has {file.size()} bytes, the local file {tier.size}")
        tail = file.read_at(tier.tail, tier.size - tier.tail)
        if crc32c(tail) != tier.tail_crc32c:
            raise OffloadFailed("the footer reads back differently from what was written")
        footer = TierFooter(tail)
        if footer.index.groups != built.groups:
            raise OffloadFailed("the index reads back differently from what was written")
        reader = GroupReader(footer)
        for groups in _read_together(footer, len(built.groups)):
            begin, end = groups[0].offset, groups[-1].offset + groups[-1].length
            data = memoryview(file.read_at(end - begin, begin))
            for group, offset, length in groups:
                reader.entries(range(group, group + 1), offset, data[offset - begin : offset - begin + length])


def _read_together(footer: TierFooter, count: int) -> Iterator[list[_Extent]]:
    """The row groups of one request each. They follow each other in the file."""
    extents: list[_Extent] = []
    for group in range(count):
        offset, length = footer.extent(group)
        if extents and offset + length - extents[0].offset > _READ_BACK_BYTES:
            yield extents
            extents = []
        extents.append(_Extent(group, offset, length))
    if extents:
        yield extents


def _remove(store: Store, job: OffloadJob, tables: Tables | None) -> tuple[str, str]:
    """Removes the objects of a failed attempt. Returns the texts about what remains, for the tenant and the log."""
    try:
        if tables is not None:
            tables.remove(job.removal, store)
        store.remove(manifest_path(job.path))
        store.remove(job.path)
    except (OSError, ValueError, OffloadFailed) as error:
        prefix = "; the objects of the attempt may be left: "
        return f"{prefix}{masked(error)}", f"{prefix}{detail_of(error)}"
    return "", ""
