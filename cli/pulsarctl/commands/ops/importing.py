"""`ops import`: files to topics."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.job import Where, show_plan
from pulsarctl.commands.ops.range_options import ShowPlan
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.commands.ops.transfer_summary import summary
from pulsarctl.errors import UsageProblem
from pulsarctl.produce.produce_options import Transaction, TransactionTimeout, check_persistent
from pulsarctl.shell.arguments import Topic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice
from pulsarctl.values.names import check_writable, full_topic

if TYPE_CHECKING:
    from pulsarctl.commands.ops.import_plan import ImportPlan, ImportRequest

Source = Annotated[
    str,
    typer.Argument(metavar="PATH|URI", help="Exported directory, any other directory, or one file; or its URI."),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT",
        autocompletion=choice("parquet", "jsonl", "csv", "avro"),
        help="Format of the files. Default: by the ending of their names.",
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        "-r",
        "--rate",
        min=0,
        help="Maximum messages per second on average, in batches of up to 500 for each partition; 0 means no limit.",
    ),
]
NoSchema = Annotated[bool, typer.Option("--no-schema", help="Send values without the schemas of the export.")]


class RecordKind(StrEnum):
    JSON = "json"
    AVRO = "avro"


RecordSchema = Annotated[
    RecordKind, typer.Option("--record-schema", metavar="KIND", help="Encode typed records as json or avro.")
]
Again = Annotated[bool, typer.Option("--again", help="Import data that was imported into this topic before.")]


def install_import(noun: Noun) -> None:
    noun.verb("import")(import_)


def import_(
    call: Call,
    source: Source,
    topic: Topic,
    format: InputFormat = None,
    rate: Rate = 0,
    no_schema: NoSchema = False,
    record_schema: RecordSchema = RecordKind.JSON,
    again: Again = False,
    transaction: Transaction = False,
    transaction_timeout: TransactionTimeout = "10m",
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowPlan = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Send the messages of files to a topic, with keys, properties, event times, and the order of each key.

    The files are those of ops export, or others with a column value and optionally key, properties, event_time, and
    more, in a directory or in an object store. Large files are sent on Spark if the topic has partitions: each
    partition has one sender. A command that was interrupted continues when it is run again. Where the topic
    deduplicates, it then sends no message twice. Elsewhere, it may repeat up to 5,000 messages times the number of
    partitions, or on Spark the files that were not complete.

    With --transaction, consumers get all messages at the end of the command, or none if it fails or is interrupted. It
    runs in this process, and starts over when it is run again.

    Examples:
      pulsarctl ops import ./orders shop/eu/orders-copy
      pulsarctl ops import ./orders shop/eu/orders-copy --transaction
    """
    from pulsarctl.commands.ops.export_plan import format_named, require_arrow

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    check_writable(topic)
    require_arrow("import")
    from pulsarctl.commands.ops import import_plan
    from pulsarctl.transfer.imported_rows import import_source

    files = import_source(source)
    request = import_plan.ImportRequest(
        source=replace(files, schemas={}) if no_schema else files,
        topic=full_topic(topic),
        format=None if format is None else format_named(format),
        rate=rate,
        record_schema=record_schema.value,  # tasks need not import this module
        again=again,
    )
    if transaction:
        check_persistent(request.topic)
        engine = _one_process(engine)
    where = Where.given(engine, local_max, master, conf)
    if dry_run:
        _show_plan(call, import_plan.plan(call, request, where))
    else:
        _import(call, request, where, transaction_timeout if transaction else None)


def _one_process(engine: Engine) -> Engine:
    if engine is Engine.SPARK:
        raise UsageProblem("cannot combine --transaction and --engine spark", hint="use --engine local")
    return Engine.LOCAL


def _import(call: Call, request: "ImportRequest", where: Where, ttl: str | None) -> None:
    """`ttl` is the timeout of the transaction, None without one."""
    from pulsarctl.commands.ops import import_plan

    with import_plan.alone(call, request):  # before the plan, which reads the progress
        plan = import_plan.plan(call, request, where)
        done = import_plan.run(call, plan) if ttl is None else import_plan.run_together(call, plan, ttl)
    value = {
        "topic": request.topic,
        "messages": done.messages,
        "sent": done.sent,
        "storedBefore": done.messages - done.sent,
        "engine": plan.job.choice.engine,
    }
    call.show(value, summary("IMPORT", value))


def _show_plan(call: Call, plan: "ImportPlan") -> None:
    from pulsarctl.commands.ops.import_plan import partitions

    request, before = plan.request, plan.before
    plan_facts = {
        "engine": plan.job.choice.engine,
        "topic": request.topic,
        "partitions": partitions(call, request.topic),
        "files": len(request.source.files) - before.files,
        "bytes": plan.job.size,
        "messages": request.source.rows,
        "continuesAfter": before.stored,
    }
    show_plan(call, plan_facts)
