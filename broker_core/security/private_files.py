"""Files that only their owner may read, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from broker_core.storage.disk import RealDisk


def write_private(path: Path, content: bytes, *, is_durable: bool = False) -> None:
    """`is_durable`: the content is on disk before the file has its name, and the name on return."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)  # a file of a killed process, or another user's link
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if is_durable:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)
    if is_durable:
        RealDisk().sync_directory(path.parent)
