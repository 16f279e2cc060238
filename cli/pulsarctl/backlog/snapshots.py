"""Reports that were kept with `--save`, so that the next one shows a trend: one small file for each cluster and target.

A file has one JSON line for each snapshot, the latest last.
"""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from pulsarctl.backlog.report import BacklogSnapshot, Report
from pulsarctl.errors import CliError
from pulsarctl.output.one_writer import one_writer

SNAPSHOTS_MAX = 100


def directory(environ: Mapping[str, str]) -> Path:
    root = environ.get("XDG_STATE_HOME")
    return (Path(root) if root else Path.home() / ".local" / "state") / "pulsarctl" / "backlog"


def file_for(directory: Path, cluster: str, target: str) -> Path:
    return directory / f"{sha256(f'{cluster} {target}'.encode()).hexdigest()[:16]}.jsonl"


def latest(file: Path) -> dict[tuple[str, str], BacklogSnapshot]:
    """The latest snapshot, by topic and subscription; perhaps empty. Raises `CliError` for a file that is damaged."""
    try:
        lines = file.read_text().splitlines()
        if not lines:
            return {}
        kept = json.loads(lines[-1])
        return {
            (topic, name): BacklogSnapshot(kept["takenAt"], messages, size)
            for topic, name, messages, size in kept["subscriptions"]
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError(f"cannot read the snapshots in {file}: {error}", hint="delete the file") from error


def save(file: Path, report: Report) -> None:
    """Adds a snapshot, and drops the oldest beyond the limit. Raises `CliError`."""
    rows = [
        [backlog.topic, backlog.subscription, backlog.tally.messages, backlog.tally.bytes]
        for backlog in report.subscriptions
    ]
    line = json.dumps({"takenAt": report.moment.now_ms, "target": report.target, "subscriptions": rows})
    try:
        with one_writer(file):
            lines = file.read_text().splitlines() if file.exists() else []
            fresh = file.with_name(f"{file.name}.{os.getpid()}")
            fresh.write_text("\n".join([*lines, line][-SNAPSHOTS_MAX:]) + "\n")
            fresh.replace(file)
    except OSError as error:
        raise CliError(f"cannot keep a snapshot in {file}: {error.strerror}", hint="omit --save") from error
