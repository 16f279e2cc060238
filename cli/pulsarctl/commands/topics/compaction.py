"""`topics compact` and `topics compaction-status`, which suit cron jobs.

The broker knows whether a compaction is running, so two hosts with the same crontab do not run two. With `--wait` and
without a terminal, success prints nothing, so cron sends no mail. A compaction continues if the command is interrupted.
"""

from typing import Annotated

import typer

from pulsarctl.errors import AlreadyRunning, Conflict
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.clock import monotonic
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import human_size, parse_duration, parse_size
from pulsarctl.verbs.compaction_status import raise_if_failed, wait_for_compaction

app = Noun("topics", "")

COMPACTION_CURSOR = "__compaction"  # the broker's own subscription, whose backlog is not compacted yet
WORDS = {
    "NOT_RUN": "Compaction has not been run for {topic} since broker startup",
    "RUNNING": "Compaction is currently running",
    "SUCCESS": "Compaction was a success",
    "ERROR": "Error in compaction",
}

Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait.")]


@app.verb("compact", heading=Heading.COMPACTION)
def compact(
    call: Call,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="Names of the topics, partitioned or not.")],
    wait: Annotated[bool, typer.Option("-w", "--wait", help="Wait until the compaction ends.")] = False,
    if_over: Annotated[
        str | None,
        typer.Option("--if-over", metavar="SIZE", help="Compact only topics with a larger uncompacted backlog."),
    ] = None,
    skip_if_running: Annotated[
        bool, typer.Option("--skip-if-running", help="Skip topics whose compaction is running, instead of exit code 8.")
    ] = False,
    timeout: Timeout = "1h",
) -> None:
    """Compact topics, keeping the last message of each key.

    Suits cron jobs: it prints nothing on success, and one line and an exit code on failure.

    Example: pulsarctl topics compact prices --wait --if-over 100M --skip-if-running
    """
    threshold = parse_size(if_over) if if_over else None
    parts = [part for topic in topics for part in call.admin.topics.parts(topic)]
    started = [part for part in parts if _start(call, part, threshold, skip_if_running)]
    if wait:
        deadline = monotonic() + parse_duration(timeout)
        for part in started:
            _wait(call, part, deadline, timeout)
        call.tell(f"compacted {len(started)} of {len(parts)}")
    else:
        call.tell(f"compaction of {len(started)} of {len(parts)} requested")


@app.verb("compaction-status", "compact-status", heading=Heading.COMPACTION)
def compaction_status(
    call: Call,
    topic: Topic,
    wait: Annotated[
        bool, typer.Option("-w", "--wait-complete", "--wait", help="Wait until the compaction ends.")
    ] = False,
    timeout: Timeout = "1h",
) -> None:
    """Show the status of the last compaction of a topic.

    Fails if that compaction failed.

    Example: pulsarctl topics compaction-status prices
    """
    name = full_topic(topic)
    status = call.admin.topics.compaction_status(name)
    if wait and status.running:
        status = wait_for_compaction(call, name, monotonic() + parse_duration(timeout), timeout)
    raise_if_failed(name, status)
    as_text = call.output.value not in ("json", "jsonl", "yaml")
    words = WORDS.get(status.status, status.status).format(topic=name)
    call.show(words if as_text else {"status": status.status, "lastError": status.error})


def _start(call: Call, part: str, threshold: int | None, skip_if_running: bool) -> bool:
    """Whether a compaction was started. Raises `AlreadyRunning`."""
    try:
        if call.admin.topics.compaction_status(part).running:
            raise AlreadyRunning(
                f"cannot compact {part}: a compaction is running", hint="wait for it, or use --skip-if-running"
            )
        size = None if threshold is None else _uncompacted_bytes(call, part)
        if threshold is not None and size is not None and size <= threshold:
            call.tell(f"{part}: skipped, only {human_size(size)} to compact")
            return False
        call.admin.topics.compact(part)
    except (AlreadyRunning, Conflict) as error:
        if skip_if_running:
            call.tell(f"{part}: already running, skipped")
            return False
        if isinstance(error, AlreadyRunning):
            raise
        raise AlreadyRunning(error.message, status=error.status, reason=error.reason) from error
    return True


def _uncompacted_bytes(call: Call, part: str) -> int:
    stats = call.admin.topics.stats(part, subscriptionBacklogSize=True)
    compacted = stats.get("subscriptions", {}).get(COMPACTION_CURSOR)
    return int(compacted["backlogSize"] if compacted else stats.get("storageSize", 0))


def _wait(call: Call, part: str, deadline: float, timeout: str) -> None:
    raise_if_failed(part, wait_for_compaction(call, part, deadline, timeout))
