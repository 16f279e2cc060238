"""`ops lake` and `ops lake-maintain`: the Iceberg table of a topic, kept and cleaned."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.commands.ops.range_options import AllowLoss
from pulsarctl.commands.ops.transfer_summary import tell_left_out
from pulsarctl.errors import CannotConnect, CliError, NotFound, TimedOut
from pulsarctl.shell.arguments import AnyTopic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.clock import pause
from pulsarctl.values.quantities import parse_duration, parse_size

if TYPE_CHECKING:
    from pulsarctl.iceberg.topic_lake import Kept, TopicLake

LIBRARIES = ("numpy", "pyarrow", "pyiceberg")  # of the extra `iceberg`
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="DIRECTORY|URI", help="Directory or S3 store of the tables, such as s3://BUCKET/LAKE."
    ),
]
Catalog = Annotated[
    str,
    typer.Option(
        "--catalog",
        metavar="URL",
        help="Catalog: http://HOST:PORT (REST) or sqlite:///FILE. Default: catalog.sqlite in the directory.",
    ),
]
Follow = Annotated[bool, typer.Option("--follow", help="Continue until Ctrl-C, and append new messages at intervals.")]
Interval = Annotated[str, typer.Option("--interval", metavar="DURATION", help="With --follow: time between commits.")]
FileSize = Annotated[str, typer.Option("--file-size", metavar="SIZE", help="Merge small files up to about this size.")]
Keep = Annotated[str, typer.Option("--keep", metavar="DURATION", help="Time to keep older versions of the table.")]


def install_lake(noun: Noun) -> None:
    noun.verb("lake")(lake)
    noun.verb("lake-maintain")(maintain)


def lake(
    call: Call,
    topic: AnyTopic,
    to: To = "",
    catalog: Catalog = "",
    follow: Follow = False,
    interval: Interval = "1m",
    allow_loss: AllowLoss = False,
) -> None:
    """Append the new messages of a topic to its Apache Iceberg table.

    The table has a row for each message, with typed values where the topic has a schema. Each run continues where the
    last one ended, in one commit: a run that is killed adds nothing, and runs at the same time add nothing twice. A run
    fails if messages may have been trimmed since the last one. Works with any Pulsar, for offloaded messages, too.
    DuckDB, Spark, Trino, and pandas read the table without pulsarctl. Requires pulsarctl[iceberg].

    Example: pulsarctl ops lake orders --to /var/lib/lake --follow
    """
    seconds = parse_duration(interval)
    with _telling():
        kept = _lake(to, catalog)
        if not follow:
            _show(call, _run(call, kept, topic, allow_loss=allow_loss))
            return
        with orderly_end():
            while True:
                _follow_once(call, kept, topic, allow_loss=allow_loss)
                pause(seconds)


def _follow_once(call: Call, kept: "TopicLake", topic: str, *, allow_loss: bool) -> None:
    """A broker that restarts is no reason to end."""
    try:
        found = _run(call, kept, topic, allow_loss=allow_loss)
    except (CannotConnect, TimedOut) as error:
        call.notice(f"{error}; trying again")
        return
    if found.rows or found.left_out.incomplete or found.left_out.gone:
        _show(call, found)


def _run(call: Call, kept: "TopicLake", topic: str, *, allow_loss: bool) -> "Kept":
    from pulsarctl.commands.ops.on_spark import access

    return kept.keep(topic, {"fail_on_data_loss": "false" if allow_loss else "true"}, access(call))


def _show(call: Call, kept: "Kept") -> None:
    left_out = tell_left_out(call, kept.left_out)
    call.show({"table": kept.table, "rows": kept.rows, **left_out, "files": kept.files, "metadata": kept.metadata})


def maintain(
    call: Call, topic: AnyTopic, to: To = "", catalog: Catalog = "", file_size: FileSize = "128M", keep: Keep = "7d"
) -> None:
    """Merge small files of a topic's Iceberg table, and remove old versions and unused files.

    Files of one day are merged in one commit. Then versions that were replaced more than --keep ago are removed, with
    the files that only they had, and files that a killed run left behind a day ago. Readers and `ops lake` can run at
    the same time. Requires pulsarctl[iceberg].

    Example: pulsarctl ops lake-maintain orders --to /var/lib/lake
    """
    file_bytes, kept = parse_size(file_size), timedelta(seconds=parse_duration(keep))
    with _telling():
        table = _lake(to, catalog).table(topic)
        if table is None:
            raise NotFound(f"there is no table of {topic}", hint=f"create it with pulsarctl ops lake {topic} --to ...")
        from pulsarctl.iceberg import maintenance

        done = maintenance.maintain(table, file_bytes, kept)
    call.show({"merged": done.merged, "files": done.files, "snapshots": done.snapshots, "removed": done.removed})


@contextmanager
def _telling() -> Iterator[None]:
    """Errors of catalogs have no common class."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyiceberg", "sqlalchemy"):
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        raise CliError(f"cannot use the Iceberg table: {text}") from error


def _lake(to: str, catalog: str) -> "TopicLake":
    try:
        from pulsarctl.iceberg.lake_place import LakePlace
        from pulsarctl.iceberg.topic_lake import TopicLake
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        hint = "run: pip install 'pulsarctl[iceberg]'"
        raise CliError(f"cannot use Iceberg tables: {error.name} is not installed", hint=hint) from error
    return TopicLake(LakePlace.of(to, catalog))
