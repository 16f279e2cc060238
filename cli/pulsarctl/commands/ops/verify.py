"""`ops verify`: whether messages are whole, in a topic, in an export, and in tiered storage."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.job import Job, Where, facts, show_plan
from pulsarctl.commands.ops.range_options import ShowReading, TierStore
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output.render import Table
from pulsarctl.shell.arguments import pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import readable_topic
from pulsarctl.values.quantities import human_size
from pulsarctl.values.stores import offload_settings

if TYPE_CHECKING:
    from pulsarctl.integrity.findings import Findings
    from pulsarctl.tables.topic_table import TopicTable

OfTopic = Annotated[str | None, typer.Argument(metavar="TOPIC", help="Name of the topic to read and check.")]
Export = Annotated[
    str | None, typer.Option("--export", metavar="DIRECTORY|URI", help="Check the files of an export instead.")
]
Orphans = Annotated[bool, typer.Option("--orphans", help="Compare an object store with the broker's catalog instead.")]
Sweep = Annotated[bool, typer.Option("--sweep", help="With --orphans: remove objects that the catalog does not know.")]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="URI", help="With --orphans: the store. Default: that of the broker's configuration."),
]
DataDirectory = Annotated[
    str,
    typer.Option(
        "--data-directory",
        metavar="DIR",
        help="Read sealed ledgers from the files of a pulsarctl broker.",
    ),
]


def install_verify(noun: Noun) -> None:
    noun.verb("verify")(verify)


def verify(
    call: Call,
    topic: OfTopic = None,
    export: Export = None,
    orphans: Orphans = False,
    sweep: Sweep = False,
    to: To = None,
    data_directory: DataDirectory = "",
    tier_store: TierStore = "",
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowReading = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Check the integrity of the messages in a topic, an export, or tiered storage.

    For a topic, the command reads every message, live or offloaded. It finds damaged entries (checksums, compression,
    batches), missing entries, and, for each producer and partition, sequence IDs that are repeated or out of order,
    which would break the order of a key. An export is checked against its manifest in the same way. With --orphans,
    it finds objects without a ledger, and ledgers without an object, by their names and sizes alone; with --tier-store,
    every byte of the copies of a topic is checked. Exits with 1 if something is wrong.

    Example: pulsarctl ops verify shop/eu/orders
    """
    if sum((topic is not None, export is not None, orphans)) != 1:
        raise UsageProblem("specify what to verify", hint="use one of TOPIC, --export DIRECTORY, and --orphans")
    if (sweep or to is not None) and not orphans:
        raise UsageProblem("--sweep and --to need --orphans")
    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
    elif orphans:
        _verify_store(call, to, sweep=sweep)
    elif export is not None:
        _verify_export(call, export)
    elif topic is not None:
        where = Where.given(engine, local_max, master, conf)
        places = {"data_directory": data_directory, "tier_store": tier_store}
        _verify_topic(call, readable_topic(topic), places, where, dry_run=dry_run)


def _verify_store(call: Call, to: str | None, *, sweep: bool) -> None:
    """Only the objects of this broker's data directory are compared."""
    audit = call.admin.brokers.audit_store(None if to is None else offload_settings(to), sweep=sweep)
    call.show(audit)
    counts = {state: len(audit.get(state) or ()) for state in ("missing", "altered")}
    if any(counts.values()):
        shown = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        raise CliError(f"objects of offloaded ledgers in {audit['store']} are not as they were written: {shown}")


def _verify_export(call: Call, where: str) -> None:
    from pulsarctl.commands.ops.export_plan import require_arrow

    require_arrow("verify an export")
    from pulsarctl.integrity.export_check import check_export
    from pulsarctl.transfer.places import place_at

    place = place_at(where)
    _report(call, "export", place.describe(), check_export(place))


def _verify_topic(call: Call, topic: str, places: dict[str, str], where: Where, *, dry_run: bool) -> None:
    from pulsarctl.commands.ops.export_plan import require_arrow

    require_arrow("verify messages")
    from pulsarctl.integrity.findings import merged
    from pulsarctl.integrity.part_check import PartCheck

    table = _table(call, topic, places)
    parts = table.plan()
    job = Job.reading("verify", where, parts)
    if dry_run:
        show_plan(call, facts(job, parts))
    else:
        _report(call, "topic", topic, merged(job.work_on(call, PartCheck(table), parts)))


def _table(call: Call, topic: str, places: dict[str, str]) -> "TopicTable":
    from pulsarctl.commands.ops.on_spark import access
    from pulsarctl.integrity.part_check import columns
    from pulsarctl.tables.options import TableOptions
    from pulsarctl.tables.topic_table import TopicTable

    options = TableOptions.parse({"topic": topic, **places})
    whole = TopicTable.open(replace(options, access=access(call)))
    return replace(whole, options=replace(whole.options, columns=columns(whole)))


def _report(call: Call, kind: str, name: str, findings: "Findings") -> None:
    value: dict[str, Any] = {kind: name, **findings.document()}
    rows: list[tuple[str, object]] = []
    for key, each in value.items():
        rows += [(key, one) for one in each] if isinstance(each, list) else [(key, each)]
    shown = [(key, human_size(each) if key == "bytes" and isinstance(each, int) else each) for key, each in rows]
    call.show(value, Table(("VERIFY", "VALUE"), shown))
    if findings.problems:
        raise CliError(f"{name} is not intact: {_summary(value)}")


def _summary(value: dict[str, Any]) -> str:
    counts = {
        "damaged": len(value["damaged"]),
        "missing": len(value["missing"]),
        "repeated": value["repeated"],
        "out of order": value["outOfOrder"],
    }
    return ", ".join(f"{count} {problem}" for problem, count in counts.items() if count)
