"""Checkpoints, observed in the journal directory, and rolled ledgers, counted over REST."""

import json
import time
import urllib.request
from pathlib import Path

LOOK_SECONDS = 0.02
ANSWER_SECONDS = 10.0


def watch_checkpoints(journal: Path, seconds: float) -> int:
    """Counts the checkpoints in the next `seconds`: each removes journal files that are no longer needed."""
    found, deadline = 0, time.monotonic() + seconds
    before = journal_files(journal)
    while time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)  # samples for a given time
        now = journal_files(journal)
        found += not before <= now
        before = now
    return found


def journal_files(journal: Path) -> set[str]:
    return {path.name for path in journal.iterdir()}


def rolled_ledgers(http_url: str, topic: str, entries: int) -> int:
    """Ledgers of a topic that were closed at `entries` entries."""
    url = f"{http_url}/admin/v2/persistent/public/default/{topic}/internalStats"
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
        return sum(ledger["entries"] >= entries for ledger in json.load(answer)["ledgers"])
