"""Waiting for what a broker does in the background for a topic, such as a compaction or an offload."""

from collections.abc import Callable

from pulsarctl.admin.topics import Status
from pulsarctl.errors import CliError, TimedOut
from pulsarctl.values.clock import monotonic, pause

POLL_FIRST_SECONDS = 0.05
POLL_MAX_SECONDS = 1.0


def wait_for(what: str, topic: str, status_of: Callable[[str], Status], deadline: float, timeout: str) -> Status:
    """Polls at growing intervals. Raises `TimedOut`; the broker continues."""
    interval = POLL_FIRST_SECONDS
    while (status := status_of(topic)).running:
        if monotonic() >= deadline:
            raise TimedOut(f"the {what} of {topic} is still running after {timeout}", hint="wait longer with --timeout")
        pause(min(interval, max(0.0, deadline - monotonic())))
        interval = min(interval * 2, POLL_MAX_SECONDS)
    return status


def raise_if_failed(what: str, topic: str, status: Status) -> None:
    if status.status == "ERROR":
        raise CliError(f"the {what} of {topic} failed: {status.error or 'the broker gives no reason'}")
