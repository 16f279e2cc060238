"""`ops backlog`: the unacknowledged messages of each subscription."""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.backlog.targets import partitions
from pulsarctl.commands.ops.bundled_broker import is_bundled
from pulsarctl.commands.ops.job import Job, Where, show_plan
from pulsarctl.commands.ops.on_spark import access
from pulsarctl.commands.ops.range_options import ShowReading
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.extras import require
from pulsarctl.values.quantities import parse_duration, parse_size

if TYPE_CHECKING:
    from pulsarctl.backlog.report import Report
    from pulsarctl.backlog.survey import Survey
    from pulsarctl.tables.ledger_ranges import LedgerRange

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="Name of a topic, of a namespace as TENANT/NAMESPACE, or a pattern such as 'shop/eu/orders-*' or "
        "'shop/*' (all namespaces of a tenant).",
    ),
]
Subscriptions = Annotated[
    list[str] | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION,...", help="Subscriptions to count. Default: all."),
]
Ttl = Annotated[
    str | None, typer.Option("--ttl", metavar="DURATION", help="Also show what this message TTL would remove.")
]
Quota = Annotated[
    str | None, typer.Option("--quota", metavar="SIZE", help="Also show what this backlog quota would evict.")
]
Details = Annotated[bool, typer.Option("--details", help="Also show ages, keys, producers, partitions, and more.")]
Save = Annotated[bool, typer.Option("--save", help="Keep a snapshot, so that the next report shows the trend.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write the report as one HTML page with plots.")
]


def install_backlog(noun: Noun) -> None:
    noun.verb("backlog")(backlog)


def backlog(
    call: Call,
    target: Target,
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    subscription: Subscriptions = None,
    conf: Conf = None,
    ttl: Ttl = None,
    quota: Quota = None,
    details: Details = False,
    html: Html = None,
    save: Save = False,
    dry_run: ShowReading = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Count the unacknowledged messages of each subscription, with their size and age.

    The command reads the messages, so the numbers are exact: per message on pulsarctl's broker, and per entry on Apache
    Pulsar. It changes nothing on the topics. With --details, JSON output also has schema versions, sizes, ack holes,
    and what compaction would remove. Large backlogs are counted on Spark, which requires
    pip install 'pulsarctl[spark]' and Java 17 or newer (or 'pulsarctl[java]').

    Example: pulsarctl ops backlog shop/orders --master 'local[4]' -o json
    """
    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    ttl_seconds = None if ttl is None else parse_duration(ttl)
    quota_bytes = None if quota is None else parse_size(quota)
    plan = _plan(call, target, csv(subscription), Where.given(engine, local_max, master, conf))
    if dry_run:
        show_plan(call, _facts(plan))
        return
    report = _take(call, plan, ttl_seconds, quota_bytes)
    _show(call, report, details=details)
    if html is not None:
        _write_page(call, report, html)
    if save:
        _save(call, report)


@dataclass(frozen=True, slots=True)
class BacklogPlan:
    """What would be read, and by which engine."""

    target: str
    survey: "Survey"
    parts: "list[LedgerRange]"
    job: Job
    exact_per: str
    now_ms: int


def _plan(call: Call, target: str, subscriptions: Sequence[str], where: Where) -> BacklogPlan:
    """Asks the admin API. Raises `NotFound`, and `CliError` if a library for the engine is missing."""
    topics = partitions(call.admin, target, call.notice)
    require("count a backlog", "pyarrow", "numpy")
    from pulsarctl.backlog.surveyor import survey

    exact_per = "message" if is_bundled(call) else "entry"  # others do not report what is acknowledged in a batch
    now_ms = int(time.time() * 1000)
    surveyed = survey(call.admin, topics, subscriptions)
    job = Job.choose("backlog", where, surveyed.entries, surveyed.bytes)
    tasks_min = max(8, 2 * (os.cpu_count() or 1))  # for both engines, so that they find the same numbers
    return BacklogPlan(target, surveyed, surveyed.parts(tasks_min), job, exact_per, now_ms)


def _facts(plan: BacklogPlan) -> dict[str, Any]:
    survey = plan.survey
    return {
        "engine": plan.job.choice.engine,
        "topics": len(survey.partitions),
        "ledgers": sum(len(each.ranges) for each in survey.partitions),
        "entries": survey.entries,
        "bytes": survey.bytes,
        "tasks": len(plan.parts),
        "adminRequests": 2 * len(survey.partitions),
    }


def _take(call: Call, plan: BacklogPlan, ttl_seconds: float | None, quota_bytes: int | None) -> "Report":
    """Reads and counts. Raises `CliError`."""
    from pulsarctl.backlog import snapshots
    from pulsarctl.backlog.counting import Moment
    from pulsarctl.backlog.part_count import PartCount
    from pulsarctl.backlog.report import Report, subscriptions

    moment = Moment(plan.now_ms, ttl_seconds)
    tallies = plan.job.work_on(call, PartCount(access(call), moment), plan.parts)
    cluster = call.settings.web_url
    file = snapshots.file_for(snapshots.directory(os.environ), cluster, plan.target)
    return Report(
        target=plan.target,
        cluster=cluster,
        moment=moment,
        exact_per=plan.exact_per,
        engine=plan.job.choice.engine,
        tasks=len(plan.parts),
        entries=plan.survey.entries,
        quota_bytes=quota_bytes,
        subscriptions=subscriptions(plan.survey, plan.parts, tallies),
        before=snapshots.latest(file),
    )


def _show(call: Call, report: "Report", *, details: bool) -> None:
    """JSON lines have one line for each subscription. Other formats are one document."""
    from pulsarctl.backlog import documents, terminal

    header = documents.header(report)
    output = render.resolve(call.output)
    if output is Output.TABLE:
        for line in terminal.lines(report, details=details):
            render.line(line)
    else:
        document = documents.subscription if details else documents.summary
        found = [document(report, each) for each in report.subscriptions]
        if output is Output.JSONL:
            call.show([header | each for each in found])
        else:
            call.show(header | {"subscriptions": found}, _names(report))
    if report.exact_per == "entry":
        call.notice("exact per entry: a batch counts as a whole until all its messages are acknowledged")


def _names(report: "Report") -> Table:
    rows = [(each.topic.removeprefix("persistent://"), each.subscription) for each in report.subscriptions]
    return Table(("TOPIC", "SUBSCRIPTION"), rows)


def _write_page(call: Call, report: "Report", file: Path) -> None:
    from pulsarctl.backlog.page import page
    from pulsarctl.shell.secret_words import redacted

    try:
        file.write_text(page(report, f"pulsarctl {shlex.join(redacted(sys.argv[1:]))}"))
    except OSError as error:
        raise CliError(f"cannot write {file}: {error.strerror}", hint="choose another file with --html") from error
    call.tell(f"wrote {file}")


def _save(call: Call, report: "Report") -> None:
    from pulsarctl.backlog import snapshots

    file = snapshots.file_for(snapshots.directory(os.environ), report.cluster, report.target)
    snapshots.save(file, report)
    call.tell(f"kept a snapshot in {file}")
