"""Files with secrets that other users of the machine can access: named at the start, as ssh does."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.config.broker import BrokerConfig

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(config: BrokerConfig) -> Iterator[str]:
    """A line for each file that should have mode 0600 and has not. Files that are missing are reported elsewhere."""
    security = config.security
    for key, value in (
        ("tokenSecretKey", security.token_secret_key),
        ("basicAuthConf", security.basic_file),
        ("tlsKeyFilePath", config.tls.key_file),
        ("auditLogFile", security.audit_file),
    ):
        path = _path(value)
        try:
            mode = stat.S_IMODE(path.stat().st_mode) if path is not None else 0
        except (OSError, ValueError):
            continue
        if mode & _OTHERS:
            yield f"{key}: other users can access {path} (mode {mode:04o}); run chmod 600 {path}"


def _path(value: str) -> Path | None:
    if not value:
        return None
    from broker_core.security.keys import path_in  # most brokers have none of the files

    return path_in(value)
