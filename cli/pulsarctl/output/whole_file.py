"""Files that other programs read at any moment, or that must survive a power cut: whole, old or new."""

import contextlib
import os
from pathlib import Path

from pulsarctl.errors import CliError


def replace(path: Path, text: str, *, mkdir: bool = False) -> None:
    """Replaces the file atomically. It is on disk on return. Raises `CliError`. `mkdir`: creates its directory, too."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")  # collectors skip names without their suffix
    try:
        if mkdir:
            path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name without content
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # there may be no directory
            temporary.unlink()
        raise CliError(f"cannot write {path}: {error.strerror}") from error


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
