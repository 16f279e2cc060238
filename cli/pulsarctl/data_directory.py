"""Where the bundled broker keeps its data: the default place and its permissions."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pulsarctl.errors import CliError

VARIABLE = "PULSARCTL_DATA_DIR"


def default_directory(environment: Mapping[str, str], home: Path) -> Path:
    """`$PULSARCTL_DATA_DIR`, else the platform's folder for user data + `pulsarctl/standalone`."""
    if named := environment.get(VARIABLE):
        return Path(named)
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "pulsarctl" / "standalone"


def prepare(directory: Path) -> None:
    """Creates it for its owner alone (0700); raises `CliError` in one sentence when it cannot be used."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(directory, error) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise CliError(f"cannot write to the data directory {directory}", hint="name another one with --data-dir")


def unusable(directory: Path, error: OSError) -> CliError:
    return CliError(
        f"cannot use the data directory {directory}: {error.strerror or error}",
        hint="name another one with --data-dir",
    )
