"""Where an export is: a directory, or a prefix in an object store, through `pyarrow.fs`.

Both have the same rule: a file is built under another name on this machine, gets its name when it is whole, and its
checksum is that of what is then read back. A store has no rename and publishes what a broken upload has sent so far, so
such an object is removed, and nothing names it. Credentials of stores come from the environment.
"""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import urlsplit

from crc32c import crc32c

from pulsarctl.errors import CliError, Conflict, UsageProblem
from pulsarctl.output.one_writer import only_writer
from pulsarctl.output.whole_file import make_directory, sync_directory
from pulsarctl.transfer.object_stores import HINT, SCHEMES, object_store

COPY_BYTES = 8 << 20


class Sum(NamedTuple):
    """The size and the checksum of a file."""

    bytes: int
    crc32c: int


class Identity(NamedTuple):
    """It changes when the file does."""

    name: str
    bytes: int
    mtime_ns: int | None


class Place(Protocol):
    """Names are relative and separated by slashes. Every method raises OSError if the place does not answer."""

    def describe(self, name: str = "") -> str:
        """The place or file in messages."""

    def names(self) -> list[str]:
        """The names of all files, in order."""

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """Raises `Conflict` while another process of this machine writes here. Stores have no locks."""

    def draft(self, name: str) -> Path:
        """The path on this machine to build a file at. `put` or `drop` ends it."""

    def put(self, draft: Path, name: str) -> Sum:
        """Gives a draft its name. Raises `CliError` if it is not what is read back."""

    def drop(self, draft: Path) -> None: ...

    def read(self, name: str) -> bytes | None:
        """A small file; None if there is none."""

    def fetch(self, name: str) -> contextlib.AbstractContextManager[Path]:
        """The file on this machine, as long as the context lasts. Raises FileNotFoundError."""

    def identity(self, name: str) -> Identity:
        """Raises FileNotFoundError."""

    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Directory:
    """A local directory."""

    path: Path

    def describe(self, name: str = "") -> str:
        return str(self.path / name)

    def names(self) -> list[str]:
        entries = self.path.rglob("*") if self.path.exists() else ()
        return sorted(entry.relative_to(self.path).as_posix() for entry in entries if not entry.is_dir())

    @contextmanager
    def alone(self) -> Iterator[None]:
        with only_writer(self.path) as is_ours:
            if not is_ours:
                raise Conflict(
                    f"cannot export to {self.path}: another export is writing to it", hint="run it again after that"
                )
            yield

    def draft(self, name: str) -> Path:
        path = self.path / name
        make_directory(path.parent)
        return path.with_name(hidden(path.name))

    def put(self, draft: Path, name: str) -> Sum:
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
            content = sum_of(written)
        draft.replace(self.path / name)
        sync_directory((self.path / name).parent)
        return content

    def drop(self, draft: Path) -> None:
        draft.unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    @contextmanager
    def fetch(self, name: str) -> Iterator[Path]:
        path = self.path / name
        path.stat()
        yield path

    def identity(self, name: str) -> Identity:
        path = (self.path / name).resolve()
        facts = path.stat()
        return Identity(str(path), facts.st_size, facts.st_mtime_ns)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix of an object store. It is pickled to tasks, which open their own connections."""

    uri: str

    def describe(self, name: str = "") -> str:
        whole = self.uri.partition("?")[0].rstrip("/")
        return f"{whole}/{name}" if name else whole

    def names(self) -> list[str]:
        from pyarrow import fs

        filesystem, root = object_store(self.uri)
        entries = filesystem.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
        return sorted(entry.path.removeprefix(f"{root}/") for entry in entries if entry.is_file)

    def alone(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def draft(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix="pulsarctl-")) / Path(name).name

    def put(self, draft: Path, name: str) -> Sum:
        filesystem, root = object_store(self.uri)
        first = hidden(name) if filesystem.get_file_info(f"{root}/{name}").is_file else name
        try:
            with open(draft, "rb") as built:
                content = self._upload(built, first)
            if first != name:  # what was there stays until the new one is whole
                filesystem.copy_file(f"{root}/{first}", f"{root}/{name}")  # Azure cannot move
                self.remove(first)
            return content
        finally:
            self.drop(draft)

    def drop(self, draft: Path) -> None:
        shutil.rmtree(draft.parent, ignore_errors=True)

    def read(self, name: str) -> bytes | None:
        try:
            with self._stream(name) as stored:
                return bytes(stored.read())
        except FileNotFoundError:
            return None

    @contextmanager
    def fetch(self, name: str) -> Iterator[Path]:
        copy = self.draft(name)
        try:
            with self._stream(name) as stored, open(copy, "wb") as out:
                shutil.copyfileobj(stored, out, COPY_BYTES)
            yield copy
        finally:
            self.drop(copy)

    def identity(self, name: str) -> Identity:
        filesystem, root = object_store(self.uri)
        info = filesystem.get_file_info(f"{root}/{name}")
        if not info.is_file:
            raise FileNotFoundError(self.describe(name))
        return Identity(self.describe(name), info.size, info.mtime_ns)

    def remove(self, name: str) -> None:
        filesystem, root = object_store(self.uri)
        with contextlib.suppress(FileNotFoundError):
            filesystem.delete_file(f"{root}/{name}")

    def _upload(self, built: BinaryIO, name: str) -> Sum:
        """Leaves nothing if it fails."""
        filesystem, root = object_store(self.uri)
        content = sum_of(built)
        built.seek(0)
        try:
            with filesystem.open_output_stream(f"{root}/{name}") as out:
                shutil.copyfileobj(built, out, COPY_BYTES)
            if self._stored(name) != content:
                raise CliError(
                    f"cannot write {self.describe(name)}: the store does not return what was written",
                    hint="run the command again",
                )
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(name)
            raise
        return content

    def _stored(self, name: str) -> Sum:
        with self._stream(name) as stored:
            return sum_of(stored)

    def _stream(self, name: str) -> Any:
        filesystem, root = object_store(self.uri)
        return filesystem.open_input_stream(f"{root}/{name}")


def hidden(name: str) -> str:
    """Another name in the same folder, for what is not whole yet."""
    folder, slash, local = name.rpartition("/")
    return f"{folder}{slash}.{local}.{secrets.token_hex(4)}.tmp"


def place_at(text: str) -> Place:
    """A directory, or the URI of a prefix. Raises `UsageProblem`."""
    parts = urlsplit(text)
    if "://" not in text:
        return Directory(Path(text).expanduser().absolute())
    if parts.scheme == "file" and not parts.netloc:
        return Directory(Path(parts.path))
    if parts.password:
        raise UsageProblem("the URI of a store cannot hold credentials", hint="set them in the environment")
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise UsageProblem(f"'{text.partition('?')[0]}' is not the URI of a store", hint=HINT)
    object_store(text)
    return Prefix(text)


def divided(text: str) -> tuple[Place, str]:
    """The place of one file, and its name there. Raises `UsageProblem`."""
    head, question, query = text.partition("?") if "://" in text else (text, "", "")
    folder, _, name = head.rpartition("/")
    return place_at(f"{folder or '.'}{question}{query}"), name


def reason_of(error: OSError) -> str:
    """The reason of a failed call of a place, in one line."""
    return error.strerror or (str(error).splitlines() or [type(error).__name__])[0]


def sum_of(stream: BinaryIO) -> Sum:
    size = checksum = 0
    while data := stream.read(COPY_BYTES):
        size += len(data)
        checksum = crc32c(data, checksum)
    return Sum(size, checksum)
