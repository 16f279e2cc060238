"""Waiting for a compaction; `topics` and `ops` share it."""

from pulsarctl.admin.topics import Status
from pulsarctl.errors import CliError, TimedOut
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import monotonic, pause

POLL_FIRST_SECONDS = 0.05
POLL_MAX_SECONDS = 1.0


def wait_for_compaction(call: Call, part: str, deadline: float, timeout: str) -> Status:
    """Polls at growing intervals. Raises `TimedOut`; the compaction continues."""
    interval = POLL_FIRST_SECONDS
    while (status := call.admin.topics.compaction_status(part)).running:
        if monotonic() >= deadline:
            raise TimedOut(
                f"the compaction of {part} is still running after {timeout}", hint="wait longer with --timeout"
            )
        pause(min(interval, max(0.0, deadline - monotonic())))
        interval = min(interval * 2, POLL_MAX_SECONDS)
    return status


def raise_if_failed(part: str, status: Status) -> None:
    if status.status == "ERROR":
        raise CliError(f"the compaction of {part} failed: {status.error or 'the broker gives no reason'}")
