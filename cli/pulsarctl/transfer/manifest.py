"""The state file of an exported directory: what is in it, and where the next incremental run starts.

It is written last, and at once. Files that it does not name are leftovers of a run that did not end.
"""

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pulsarctl.errors import CliError, Conflict
from pulsarctl.transfer.part_files import FileFacts
from pulsarctl.transfer.places import Place, reason_of
from pulsarctl.values.json_text import parse_json

NAME = "_export.json"
VERSION = 1
_DATA_FILE = re.compile(r"\.?part-\d{4,}-\d{6,}-\d{4,}\.\w+(\.\w+\.tmp)?")
_DRAFT = re.compile(rf"\.{re.escape(NAME)}\.\w+\.tmp")


@dataclass(frozen=True, slots=True)
class Manifest:
    """`next` has the first position of the next run by partition. It is None if the export had an end.
    A partition that it does not name had nothing to read; there the next run begins at `start` of the first.
    `created` says when each partition was created, and `ended` which segments were sealed and read.

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
    start: str = ""
    created: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    @property
    def known(self) -> set[str]:
        """The partitions that existed."""
        return {*(self.next or {}), *self.created}


def new_id() -> str:
    return secrets.token_hex(8)


def load(place: Place) -> Manifest | None:
    """None without a state file. Raises `CliError` if it cannot be read."""
    name = place.describe(NAME)
    try:
        data = place.read(NAME)
        if data is None:
            return None
        members = parse_json(data)
        if members.pop("version") != VERSION:
            raise CliError(f"cannot read {name}: it is of a newer version", hint="update pulsarctl")
        members["files"] = [FileFacts(**item) for item in members["files"]]
        return Manifest(**members)
    except OSError as error:
        raise CliError(f"cannot read {name}: {reason_of(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(f"cannot read {name}: {error}") from error


def save(place: Place, manifest: Manifest) -> None:
    """Raises `CliError`."""
    text = json.dumps({"version": VERSION, **asdict(manifest)}, indent=1, ensure_ascii=False)
    try:
        draft = place.draft(NAME)
        draft.write_text(text, encoding="utf-8")
        place.put(draft, NAME)
    except OSError as error:
        raise CliError(f"cannot write {place.describe(NAME)}: {reason_of(error)}") from error


def clear(place: Place) -> None:
    """Deletes an earlier export, the state file first. Raises `Conflict` if the place has anything else."""
    names = place.names()
    if foreign := foreign_files(names):
        raise Conflict(
            f"cannot overwrite {place.describe()}: {foreign[0]} is not part of an export",
            hint="choose an empty directory",
        )
    for item in sorted(names, key=lambda name: name != NAME):
        place.remove(item)


def foreign_files(names: Sequence[str]) -> list[str]:
    """The files that no export has written."""
    return [name for name in names if name != NAME and not _is_data_file(name)]


def remove_leftovers(place: Place, manifest: Manifest) -> None:
    """Deletes files of runs that did not end."""
    known = {item.path for item in manifest.files}
    for item in place.names():
        if _is_data_file(item) and item not in known:
            place.remove(item)


def _is_data_file(name: str) -> bool:
    local = name.rpartition("/")[2]
    return _DATA_FILE.fullmatch(local) is not None or _DRAFT.fullmatch(local) is not None
