"""`pulsarctl ops`: large jobs, in this process or on Spark."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.quantities import human_size, parse_duration, parse_size
from pulsarctl.verbs.compacting import install_compact
from pulsarctl.verbs.exporting import install_export
from pulsarctl.verbs.importing import install_import
from pulsarctl.verbs.lake import install_lake
from pulsarctl.verbs.profiling import install_profile
from pulsarctl.verbs.querying import install_sql
from pulsarctl.verbs.range_options import ShowReading
from pulsarctl.verbs.replaying import install_replay
from pulsarctl.verbs.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.verbs.spark_shell import install_shell
from pulsarctl.verbs.tiered import install_tiered
from pulsarctl.verbs.verifying import install_verify

if TYPE_CHECKING:
    from pulsarctl.backlog.report import Report
    from pulsarctl.verbs.backlog_report import BacklogPlan

app = Noun("ops", "Run large jobs, in this process or on Spark, and move ledgers to tiered storage.")
install_tiered(app)
install_lake(app)
install_export(app)
install_import(app)
install_replay(app)
install_compact(app)
install_sql(app)
install_profile(app)
install_shell(app)
install_verify(app)

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


@app.verb("backlog")
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
    from pulsarctl.verbs import backlog_report

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    request = backlog_report.BacklogRequest(
        target=target,
        subscriptions=csv(subscription),
        engine=engine,
        local_bytes_max=parse_size(local_max),
        master=master,
        spark_settings=pairs(conf),
        ttl_seconds=None if ttl is None else parse_duration(ttl),
        quota_bytes=None if quota is None else parse_size(quota),
    )
    plan = backlog_report.plan(call, request)
    if dry_run:
        _show_plan(call, plan)
        return
    if plan.choice.notice:
        call.notice(plan.choice.notice)
    report = backlog_report.take(call, plan)
    _show(call, report, details=details)
    if html is not None:
        _write_page(call, report, html)
    if save:
        _save(call, report)


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


def _show_plan(call: Call, plan: "BacklogPlan") -> None:
    survey = plan.survey
    value: dict[str, Any] = {
        "engine": plan.choice.engine,
        "topics": len(survey.partitions),
        "ledgers": sum(len(each.ranges) for each in survey.partitions),
        "entries": survey.entries,
        "bytes": survey.bytes,
        "tasks": len(plan.parts),
        "adminRequests": 2 * len(survey.partitions),
    }
    rows = [(name, human_size(number) if name == "bytes" else number) for name, number in value.items()]
    call.show(value, Table(("PLAN", "VALUE"), rows))


def _write_page(call: Call, report: "Report", file: Path) -> None:
    from pulsarctl.backlog.page import page
    from pulsarctl.verbs.secret_words import redacted

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
