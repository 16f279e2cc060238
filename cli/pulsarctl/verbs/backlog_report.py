"""Takes the report of `ops backlog`: survey, plan, engine, tallies."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulsarctl.backlog.engine import Choice, Engine, choose
from pulsarctl.backlog.targets import partitions
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.values.extras import require
from pulsarctl.verbs.bundled_broker import is_bundled
from pulsarctl.verbs.on_spark import access, explained, start_spark

if TYPE_CHECKING:
    from pulsarctl.backlog.counting import Moment
    from pulsarctl.backlog.report import Report
    from pulsarctl.backlog.survey import Survey
    from pulsarctl.backlog.tally import Tally
    from pulsarctl.tables.ledger_ranges import LedgerRange


@dataclass(frozen=True, slots=True)
class BacklogRequest:
    """What the command line asks for."""

    target: str
    subscriptions: Sequence[str]
    engine: Engine
    local_bytes_max: int
    master: str
    spark_settings: dict[str, str]
    ttl_seconds: float | None
    quota_bytes: int | None


@dataclass(frozen=True, slots=True)
class BacklogPlan:
    """What would be read, and by which engine."""

    request: BacklogRequest
    survey: "Survey"
    parts: "list[LedgerRange]"
    choice: Choice
    exact_per: str
    now_ms: int


def plan(call: Call, request: BacklogRequest) -> BacklogPlan:
    """Asks the admin API. Raises `NotFound`, and `CliError` if a library for the engine is missing."""
    topics = partitions(call.admin, request.target)
    require("count a backlog", "pyarrow", "numpy")
    from pulsarctl.backlog.surveyor import survey
    from pulsarctl.spark.session import require_spark

    exact_per = _exact_per(call)
    now_ms = int(time.time() * 1000)
    found = survey(call.admin, topics, request.subscriptions)
    choice = choose(
        request.engine,
        entries=found.entries,
        size=found.bytes,
        bytes_max=request.local_bytes_max,
        require_spark=require_spark,
    )
    return BacklogPlan(request, found, found.parts(_tasks_min(request, choice)), choice, exact_per, now_ms)


def take(call: Call, of: BacklogPlan) -> "Report":
    """Reads and counts. Raises `CliError`."""
    from pulsarctl.backlog import snapshots
    from pulsarctl.backlog.counting import Moment
    from pulsarctl.backlog.report import Report, subscriptions

    request = of.request
    moment = Moment(of.now_ms, request.ttl_seconds)
    tallies = _count(call, of, moment)
    cluster = call.settings.web_url
    file = snapshots.file_for(snapshots.directory(os.environ), cluster, request.target)
    return Report(
        target=request.target,
        cluster=cluster,
        moment=moment,
        exact_per=of.exact_per,
        engine=of.choice.engine,
        tasks=len(of.parts),
        entries=of.survey.entries,
        quota_bytes=request.quota_bytes,
        subscriptions=subscriptions(of.survey, of.parts, tallies),
        before=snapshots.latest(file),
    )


def _count(call: Call, of: BacklogPlan, moment: "Moment") -> "list[dict[str, Tally]]":
    from pulsarctl.backlog.local import run_local

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    try:
        if of.choice.engine is Engine.LOCAL or not of.parts:
            return run_local(access(call), of.parts, moment, lambda done, parts: progress.show(_done(done, parts)))
        return _on_spark(call, of, moment, progress)
    finally:
        progress.clear()


def _on_spark(call: Call, of: BacklogPlan, moment: "Moment", progress: Progress) -> "list[dict[str, Tally]]":
    """The context ends with the command, after the report is printed."""
    from pulsarctl.spark.jobs.backlog import run_spark

    request = of.request
    context = start_spark(call, "backlog", request.master, request.spark_settings, progress, of.survey.bytes)
    show = lambda done, parts: progress.show(_done(done, parts))  # noqa: E731  # shorter than a function
    return explained(lambda: run_spark(context, access(call), of.parts, moment, show))


def _done(done: int, parts: int) -> str:
    return f"{done} of {parts} tasks done"


def _tasks_min(request: BacklogRequest, choice: Choice) -> int:
    """Both engines use the same plan on the same machine, and so find the same numbers."""
    return max(8, 2 * (os.cpu_count() or 1))


def _exact_per(call: Call) -> str:
    """pulsarctl's broker reports each acknowledged message. Others do not report those in a batch."""
    return "message" if is_bundled(call) else "entry"
