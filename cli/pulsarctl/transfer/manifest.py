"""The state file of an exported directory: what is in it, and where the next incremental run starts.

It is written last, by a rename. Files that it does not name are leftovers of a run that did not end.
"""

import json
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pulsarctl.errors import CliError, Conflict
from pulsarctl.transfer.part_files import FileFacts

NAME = "_export.json"
VERSION = 1
_DATA_FILE = re.compile(r"\.?part-\d{4}-\d{6}-\d{4}\.\w+(\.\w+\.tmp)?")


@dataclass(frozen=True, slots=True)
class Manifest:
    """`next` has the first position of the next run by partition. It is None if the export had an end.

    `schemas` has the schema of each version that messages may name.
    """

    id: str
    topic: str
    format: str
    by: str
    decode: str
    key_groups: int
    runs: int
    rows: int
    next: dict[str, str] | None
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: list[FileFacts] = field(default_factory=list)


def new_id() -> str:
    return secrets.token_hex(8)


def load(directory: Path) -> Manifest | None:
    """None without a state file. Raises `CliError` if it cannot be read."""
    file = directory / NAME
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found.pop("version") != VERSION:
            raise CliError(f"cannot read {file}: it is of a newer version", hint="update pulsarctl")
        found["files"] = [FileFacts(**each) for each in found["files"]]
        return Manifest(**found)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError(f"cannot read {file}: {error}") from error


def save(directory: Path, manifest: Manifest) -> None:
    """Raises `CliError`."""
    file = directory / NAME
    fresh = directory / f".{NAME}.{secrets.token_hex(4)}.tmp"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with open(fresh, "w", encoding="utf-8") as out:
            json.dump({"version": VERSION, **asdict(manifest)}, out, indent=1, ensure_ascii=False)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)
    except OSError as error:
        raise CliError(f"cannot write {file}: {error.strerror}") from error


def clear(directory: Path) -> None:
    """Deletes an earlier export, the state file first. Raises `Conflict` if the directory has anything else."""
    found = list(_files(directory))
    foreign = [each for each in found if each.name != NAME and not _DATA_FILE.fullmatch(each.name)]
    if foreign:
        raise Conflict(
            f"cannot overwrite {directory}: {foreign[0].relative_to(directory)} is not part of an export",
            hint="choose an empty directory",
        )
    (directory / NAME).unlink(missing_ok=True)
    for each in found:
        each.unlink(missing_ok=True)


def remove_leftovers(directory: Path, manifest: Manifest) -> None:
    """Deletes files of runs that did not end."""
    known = {each.path for each in manifest.files}
    for each in _files(directory):
        if _DATA_FILE.fullmatch(each.name) and each.relative_to(directory).as_posix() not in known:
            each.unlink(missing_ok=True)


def is_empty(directory: Path) -> bool:
    return not directory.exists() or (directory.is_dir() and not any(directory.iterdir()))


def _files(directory: Path) -> Iterable[Path]:
    return sorted(each for each in directory.rglob("*") if not each.is_dir()) if directory.exists() else []
