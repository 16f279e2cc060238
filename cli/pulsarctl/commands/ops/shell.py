"""`ops shell`: Python with Spark, and topics as tables."""

import code
import traceback
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.commands.ops.on_spark import access, cause, explained, start_spark
from pulsarctl.commands.ops.spark_options import Conf, Master, SparkSubmit, show_spark_submit
from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.output.render import Progress
from pulsarctl.shell.arguments import pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        help="Topics, namespaces as TENANT/NAMESPACE, or patterns such as 'shop/*'. Default: public/default.",
    ),
]
STDIN = "<stdin>"


def install_shell(noun: Noun) -> None:
    noun.verb("shell")(shell)


def shell(
    call: Call,
    targets: Targets = None,
    master: Master = "local[*]",
    conf: Conf = None,
    spark_submit: SparkSubmit = False,
) -> None:
    """Start Python with a Spark session in which topics are tables.

    spark is the session, and sql("SELECT ...") prints rows. A table has the name of its topic, with underscores for
    other characters, and each query sees the newest messages. Without a terminal, the program on stdin runs. Requires
    pip install 'pulsarctl[spark]' and Java 17 or newer (or 'pulsarctl[java]').

    Example: echo 'sql("SELECT count(*) FROM orders")' | pulsarctl ops shell shop/eu
    """
    from pulsarctl.spark.session import require_spark

    if spark_submit:
        show_spark_submit(master, pairs(conf))
        return
    require_spark()
    topics = _topics(call, targets or ["public/default"])
    names = _start(call, topics, master, pairs(conf))
    if render.stdin_is_terminal():
        code.interact(banner=_banner(topics), local=names, exitmsg="")
    else:
        run(typer.get_text_stream("stdin").read(), names)


def _topics(call: Call, targets: list[str]) -> list[str]:
    """Partitioned and scalable topics once, as a whole."""
    from pulsarctl.backlog import targets as chosen

    return list(dict.fromkeys(topic for each in targets for topic in chosen.topics(call.admin, each, call.notice)))


def _start(call: Call, topics: list[str], master: str, settings: dict[str, str]) -> dict[str, Any]:
    """The names that a program finds."""
    from pulsarctl.spark.catalog import register_topics
    from pulsarctl.tables.access_options import options_of

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    context = start_spark(call, "shell", master, settings, progress, 0)
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.config(conf=context.getConf()).getOrCreate()
    explained(lambda: register_topics(spark, topics, options_of(access(call))))
    progress.clear()
    return {"spark": spark, "sc": context, "sql": lambda query: _show(spark, query)}


def _show(spark: "SparkSession", query: str) -> None:
    from pulsarctl.sql.printed import text_rows

    rows = spark.sql(query).toArrow()
    render.show(None, render.Output.TABLE, table=render.Table(tuple(rows.column_names), list(text_rows(rows))))


def run(program: str, names: dict[str, Any]) -> None:
    """Raises `CliError` with the line that failed."""
    try:
        exec(compile(program, STDIN, "exec"), names)  # noqa: S102  # the user's own program is what the shell is for
    except SyntaxError as error:
        raise CliError(f"cannot read the program: line {error.lineno}: {error.msg}") from error
    except CliError:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == STDIN]
        text = f"{type(error).__name__}: {cause(str(error))}"
        raise CliError(f"the program failed in line {lines[-1] if lines else '?'}: {text}") from error


def _banner(topics: list[str]) -> str:
    from pulsarctl.spark.catalog import table_names

    tables = "\n".join(f"  {name}  {topic}" for name, topic in table_names(topics).items())
    return f"tables:\n{tables or '  none'}\nspark is the session; sql('SELECT ...') prints rows; Ctrl-D ends"
