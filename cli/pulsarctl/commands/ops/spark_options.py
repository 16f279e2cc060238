"""The options of verbs that run in this process or on Spark."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.output import render
from pulsarctl.output.redaction import Redactor

EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Where to run: local (this process), spark, or auto (local if small).",
    ),
]
LocalMax = Annotated[
    str,
    typer.Option("--local-max", metavar="SIZE", help="Maximum size that auto reads locally, and 200,000 entries."),
]
Master = Annotated[
    str,
    typer.Option("--master", metavar="MASTER", help="Spark master: local[N], spark://HOST:PORT, yarn, or k8s://..."),
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.")]
SparkSubmit = Annotated[
    bool, typer.Option("--spark-submit", help="Print the equivalent spark-submit command, and exit.")
]


def show_spark_submit(master: str, settings: dict[str, str], *options: str) -> None:
    """`options` are added to those of the command line. Secrets are masked."""
    import pulsarctl
    from pulsarctl.shell.secret_words import redacted
    from pulsarctl.spark.submit import spark_submit

    main = Path(pulsarctl.__path__[0]) / "__main__.py"
    arguments = [*redacted(sys.argv[1:]), *options]
    shown = Redactor().document(settings)
    render.line(spark_submit(arguments, main=str(main), master=master, settings=shown))
