"""`topics compact` and `topics compaction-status`, which suit cron jobs.

The broker knows whether a compaction is running, so two hosts with the same crontab do not run two. With `--wait` and
without a terminal, success prints nothing, so cron sends no mail. A compaction continues if the command is interrupted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import AlreadyRunning, CliError, Conflict
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Topic
from pulsarctl.shell.broker_tasks import raise_if_failed, show_status, wait_for
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.shell.progress import progress
from pulsarctl.targets.many import Targets, act_on, settle
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen
from pulsarctl.values.clock import monotonic
from pulsarctl.values.names import COMPACTION_CURSOR
from pulsarctl.values.quantities import parse_duration, parse_size

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient
    from pulsarctl.bulk.crew import Outcome

app = Noun("topics", "")

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
    topics: Topics = None,
    wait: Annotated[bool, typer.Option("-w", "--wait", help="Wait until the compaction ends.")] = False,
    if_over: Annotated[
        str | None,
        typer.Option("--if-over", metavar="SIZE", help="Compact only topics with a larger uncompacted backlog."),
    ] = None,
    skip_if_running: Annotated[
        bool, typer.Option("--skip-if-running", help="Skip topics whose compaction is running, instead of exit code 8.")
    ] = False,
    timeout: Timeout = "1h",
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Compact topics, keeping the last message of each key.

    Suits cron jobs: it prints nothing on success, and one line and an exit code on failure. With --wait, at most
    --parallel topics are compacted at a time. If some of several topics fail, the others are compacted, and the exit
    code is 10.

    Example: pulsarctl topics compact prices --wait --if-over 100M --skip-if-running
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names.discovered:
        names = replace(names, names=[name for name in names if name.startswith("persistent:")])
    start = partial(_start, threshold=parse_size(if_over) if if_over else None, skip_if_running=skip_if_running)
    if wait:
        results = _compact(call, names, start, parallel, monotonic() + parse_duration(timeout), timeout)
    else:
        results = act_on(call, names, start, verb="compact", parallel=parallel)
    started, parts = sum(len(result.started) for result in results), sum(result.parts for result in results)
    call.tell(f"compacted {started} of {parts}" if wait else f"compaction of {started} of {parts} requested")


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

    Shows that of each partition of a partitioned topic. Fails if that compaction failed.

    Example: pulsarctl topics compaction-status prices
    """
    show_status(call, "compaction", topic, call.admin.topics.compaction_status, WORDS, wait=wait, timeout=timeout)


@dataclass(frozen=True, slots=True)
class Started:
    """The number of parts of a topic, and those whose compaction was started."""

    parts: int
    started: list[str]


def _compact(
    call: Call,
    names: Targets,
    start: "Callable[[AdminClient, str], Started]",
    parallel: int,
    deadline: float,
    timeout: str,
) -> list[Started]:
    """Starts compactions and waits for them, `parallel` topics at a time, in the main thread: Ctrl-C ends the wait."""
    from pulsarctl.bulk.crew import Crew

    outcomes: list[Outcome[str, Started]] = []
    with Crew(call.settings, min(parallel, max(1, len(names)))) as crew, progress(call) as step:
        for first in range(0, len(names), parallel):
            for outcome in crew.act(names.names[first : first + parallel], start):
                outcomes.append(_waited(call, outcome, deadline, timeout))
                step("topics", len(outcomes), len(names))
    return settle(call, names, outcomes, verb="compact")


def _waited(call: Call, outcome: "Outcome[str, Started]", deadline: float, timeout: str) -> "Outcome[str, Started]":
    try:
        for part in outcome.value.started if outcome.value else []:
            status = wait_for("compaction", part, call.admin.topics.compaction_status, deadline, timeout)
            raise_if_failed("compaction", part, status)
    except CliError as error:
        return replace(outcome, value=None, error=error)
    return outcome


def _start(admin: "AdminClient", topic: str, *, threshold: int | None, skip_if_running: bool) -> Started:
    parts = admin.topics.parts(topic)
    return Started(len(parts), [part for part in parts if _started(admin, part, threshold, skip_if_running)])


def _started(admin: "AdminClient", part: str, threshold: int | None, skip_if_running: bool) -> bool:
    """Starts the compaction unless there is nothing to compact, and returns whether it did. Raises `AlreadyRunning`."""
    try:
        if admin.topics.compaction_status(part).running:
            raise AlreadyRunning(
                f"cannot compact {part}: a compaction is running", hint="wait for it, or use --skip-if-running"
            )
        if threshold is not None and _uncompacted_bytes(admin, part) <= threshold:
            return False
        admin.topics.compact(part)
    except (AlreadyRunning, Conflict) as error:
        if skip_if_running:
            return False
        if isinstance(error, AlreadyRunning):
            raise
        raise AlreadyRunning(error.message, status=error.status, reason=error.reason) from error
    return True


def _uncompacted_bytes(admin: "AdminClient", part: str) -> int:
    stats = admin.topics.stats(part, subscriptionBacklogSize=True)
    compacted = stats.get("subscriptions", {}).get(COMPACTION_CURSOR)
    return int(compacted["backlogSize"] if compacted else stats.get("storageSize", 0))
