"""Waiting for what a broker does in the background for a topic, such as a compaction or an offload."""

from collections.abc import Callable, Mapping
from functools import partial

from pulsarctl.admin.topics import Status
from pulsarctl.errors import CliError, NotFound, TimedOut
from pulsarctl.output import render
from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import monotonic, pause
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import parse_duration

POLL_FIRST_SECONDS = 0.05
POLL_MAX_SECONDS = 1.0

StatusOf = Callable[[str], Status]


def show_status(
    call: Call, task: str, topic: str, status_of: StatusOf, words: Mapping[str, str], *, wait: bool, timeout: str
) -> None:
    """Prints the status of a topic, or of each of its partitions, after the end of the task with `wait`.

    Raises `CliError` if the task failed, and `TimedOut`.
    """
    name = full_topic(topic)
    last = partial(wait_for, task, status_of=status_of, deadline=monotonic() + parse_duration(timeout), timeout=timeout)
    statuses = _of_parts(call, name, last if wait else status_of)
    shown = {part: words.get(status.status, status.status).format(topic=part) for part, status in statuses.items()}
    if name not in statuses:
        documents = [{"topic": part, **_document(status)} for part, status in statuses.items()]
        table = Table(("PARTITION", "STATUS"), list(shown.items()))
        call.show(documents if render.is_structured(call.output) else shown, table, as_map=True)
    for part, status in statuses.items():
        raise_if_failed(task, part, status)
    if name in statuses:
        call.show(_document(statuses[name]) if render.is_structured(call.output) else shown[name])


def _of_parts(call: Call, topic: str, status_of: StatusOf) -> dict[str, Status]:
    """Return the status by topic. A broker knows the tasks of partitions, and not of a partitioned topic."""
    try:
        return {topic: status_of(topic)}
    except NotFound:
        parts = call.admin.topics.parts(topic)
        if parts == [topic]:
            raise
        return {part: status_of(part) for part in parts}


def _document(status: Status) -> dict[str, str]:
    return {"status": status.status, "lastError": status.error}


def wait_for(task: str, topic: str, status_of: StatusOf, deadline: float, timeout: str) -> Status:
    """Polls at growing intervals. Raises `TimedOut`; the broker continues."""
    interval = POLL_FIRST_SECONDS
    while (status := status_of(topic)).running:
        if monotonic() >= deadline:
            raise TimedOut(f"the {task} of {topic} is still running after {timeout}", hint="wait longer with --timeout")
        pause(min(interval, max(0.0, deadline - monotonic())))
        interval = min(interval * 2, POLL_MAX_SECONDS)
    return status


def raise_if_failed(task: str, topic: str, status: Status) -> None:
    if status.status == "ERROR":
        raise CliError(f"the {task} of {topic} failed: {status.error or 'the broker gives no reason'}")
