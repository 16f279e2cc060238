"""Compares what is in a store with what the catalog has on record. Only the folder of this instance is looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from broker_core.offload.manifest import manifest_path
from broker_core.offload.stores import Store
from broker_core.offload.tables import tables_folder
from broker_core.storage.records.offloaded import OffloadedCopy

_OBJECT = re.compile(r"/(\d+)-([0-9a-f-]{36})(?:\.parquet|\.json|/[^/]+\.parquet)\Z")
_TABLE_FILE = re.compile(r"/data/\d+-[0-9a-f-]{36}/[^/]+\.parquet\Z")


@dataclass(slots=True)
class StoreAudit:
    """`orphans`: objects of copies that are not on record. `missing`: objects of complete copies. Full names.

    `altered`: objects of complete copies that have another size. Only a reader of all bytes notices other changes.
    """

    store: str
    objects: int = 0
    orphans: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    removed: int = 0

    def to_document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def objects_of(store: Store, instance: str) -> dict[str, int]:
    """Path below the store and size of each object; of tables, the files with rows. Blocks. Raises OSError.

    The path of an empty folder, which is an object in some stores, ends with a slash.
    """
    from pyarrow import fs

    prefix = len(store.root.rstrip("/")) + 1
    copies, tables = (
        store.filesystem.get_file_info(fs.FileSelector(store.key(folder), recursive=True, allow_not_found=True))
        for folder in (instance, tables_folder(instance))
    )
    copies = _within(store, copies, instance)
    infos = [*copies, *(info for info in _within(store, tables, instance) if _TABLE_FILE.search(info.path))]
    files = {info.path[prefix:]: info.size for info in infos if info.is_file}
    used = {folder for path in files for folder in _folders_of(path)}
    folders = {info.path[prefix:] for info in copies if not info.is_file} - used
    return files | {f"{folder}/": 0 for folder in folders}


def _within(store: Store, infos: Iterable[Any], instance: str) -> list[Any]:
    """The objects of this instance: a store may list anything, and a link may lead anywhere."""
    start = f"{store.root.rstrip('/')}/"
    own = tuple(f"{start}{folder}/" for folder in (instance, tables_folder(instance)))
    is_own = lru_cache(lambda folder: not store.leads_out(folder))
    return [info for info in infos if info.path.startswith(own) and is_own(_folder_of(info, len(start)))]


def _folder_of(info: Any, prefix: int) -> str:
    path: str = info.path[prefix:]
    return path.rpartition("/")[0] if info.is_file else path


def _folders_of(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def compare(
    store: Store, objects: dict[str, int], known: Collection[OffloadedCopy], here: Iterable[OffloadedCopy]
) -> StoreAudit:
    """`here`: the known copies whose ledgers are read from this store."""
    uuids = {copy.uuid for copy in known}
    audit = StoreAudit(store.uri, sum(not path.endswith("/") for path in objects))
    audit.orphans = sorted(path for path in objects if _uuid(path) not in uuids)
    complete = [copy for copy in here if copy.is_complete]
    audit.missing = sorted(_missing(objects, complete))
    audit.altered = sorted(copy.path for copy in complete if objects.get(copy.path, copy.size) != copy.size)
    return audit


def _uuid(path: str) -> str:
    match = _OBJECT.search(path)
    return match[2] if match else ""


def _missing(objects: dict[str, int], known: Iterable[OffloadedCopy]) -> Iterable[str]:
    for copy in known:
        yield from (path for path in (copy.path, manifest_path(copy.path)) if path not in objects)


def remove_orphans(store: Store, audit: StoreAudit, *, folders: bool) -> None:
    """Blocks. Raises OSError; then the other orphans still exist. Without `folders`, an upload to one runs."""
    for path in audit.orphans:
        if not path.endswith("/"):
            store.remove(path)
            audit.removed += 1
    if not folders:
        return
    for path in audit.orphans:
        store.remove_folders(path.rpartition("/")[0])
        audit.removed += path.endswith("/")
