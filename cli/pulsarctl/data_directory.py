"""The data directory of the bundled broker: its default path and its permissions."""

import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pulsarctl.errors import CliError

VARIABLE = "PULSARCTL_DATA_DIR"


def default_directory(environment: Mapping[str, str], home: Path) -> Path:
    """`$PULSARCTL_DATA_DIR`, or `pulsarctl/standalone` in the platform's directory for user data."""
    if named := environment.get(VARIABLE):
        return Path(named)
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "pulsarctl" / "standalone"


def prepare(directory: Path) -> None:
    """Creates the directory for its owner only (0700). Raises `CliError` if it is not usable."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(directory, error) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise CliError(
            f"cannot write to the data directory {directory}", hint="choose another directory with --data-dir"
        )


def unusable(directory: Path, error: OSError) -> CliError:
    problem = f"cannot use the data directory {directory}: {error.strerror or error}"
    if error.errno == errno.EMFILE:
        return CliError(problem, hint="raise the limit of open files, for example with ulimit -n 1024")
    return CliError(problem, hint="choose another directory with --data-dir")
