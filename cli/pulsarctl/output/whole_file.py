"""Files that other programs read at any moment, or that must survive a power cut: whole, old or new."""

import contextlib
import os
from pathlib import Path

from pulsarctl.errors import CliError


def replace(path: Path, text: str, *, mkdir: bool = False, mode: int = 0o666) -> None:
    """Replaces the file atomically. It is on disk on return. Raises `CliError`. `mkdir`: creates its directory, too.

    The file has `mode` from its first byte, without what the umask takes away.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")  # collectors skip names without their suffix
    try:
        if mkdir:
            make_directory(path.parent)
        temporary.unlink(missing_ok=True)  # left by a killed process, or a link that another user created
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name without content
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # there may be no directory
            temporary.unlink()
        raise CliError(f"cannot write {path}: {error.strerror}") from error


def make_directory(directory: Path) -> None:
    """Creates missing parents, too. The new names are on disk on return. Raises OSError."""
    if not directory.is_dir():
        make_directory(directory.parent)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
