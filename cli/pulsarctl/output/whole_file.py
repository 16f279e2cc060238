"""Files that other programs read at any moment: whole, old or new."""

import os
from pathlib import Path

from pulsarctl.errors import CliError


def replace(path: Path, text: str) -> None:
    """Replaces the file atomically. Raises `CliError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")  # collectors skip names without their suffix
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CliError(f"cannot write {path}: {error.strerror}") from error
