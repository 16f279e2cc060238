"""How far an import has come, in a small file of this user: everything up to a row is stored."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from pulsarctl.errors import CliError


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """`attempt` counts imports of the same data into the same topic."""

    rows: int = 0
    done: bool = False
    attempt: int = 0


def file_for(environ: Mapping[str, str], cluster: str, topic: str, source_id: str) -> Path:
    root = environ.get("XDG_STATE_HOME")
    directory = (Path(root) if root else Path.home() / ".local" / "state") / "pulsarctl" / "import"
    return directory / f"{sha256(f'{cluster} {topic} {source_id}'.encode()).hexdigest()[:16]}.json"


def load(file: Path) -> ImportProgress:
    try:
        return ImportProgress(**json.loads(file.read_text()))
    except FileNotFoundError:
        return ImportProgress()
    except (OSError, ValueError, TypeError) as error:
        raise CliError(f"cannot read {file}: {error}", hint="use --again to start over") from error


def save(file: Path, progress: ImportProgress) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(asdict(progress)))
        fresh.replace(file)
    except OSError as error:
        raise CliError(f"cannot write {file}: {error.strerror}") from error
